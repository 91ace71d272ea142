// Colours of code. Loaded when the first block of code is seen.
import type { RootContent } from "hast";
import { common, createLowlight } from "lowlight";

/** A piece of code, or a coloured part of it. */
export type CodeNode = string | { colour: string | undefined; children: CodeNode[] };

const lowlight = createLowlight(common);

const ALIASES: Record<string, string> = { rs: "rust", toml: "ini", jsonl: "json", console: "shell", tsx: "typescript", jsx: "javascript", html: "xml" };

/** Four colours are enough: words of the language, texts, numbers, notes. */
const COLOURS: [string, RegExp][] = [
  ["cc", /comment|quote|meta/],
  ["ct", /string|regexp|addition|char|link/],
  ["cn", /number|literal|symbol|bullet/],
  ["cw", /keyword|built_in|type|tag|name|selector|attr|section|deletion|doctag|operator-word/],
];

export function highlight(language: string, code: string): CodeNode[] {
  const name = ALIASES[language.toLowerCase()] ?? language.toLowerCase();
  if (!lowlight.registered(name)) return [code];
  return lowlight.highlight(name, code).children.map(nodeOf);
}

function nodeOf(node: RootContent): CodeNode {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return "";
  const classes = String(node.properties["className"] ?? "");
  const colour = COLOURS.find(([, pattern]) => pattern.test(classes))?.[0];
  return { colour, children: node.children.map(nodeOf) };
}
