// Markdown to tokens: GitHub's flavour with formulas. No HTML is made at any point; what the text holds of it stays text.
import { Marked, type Token, type Tokens } from "marked";
import remend from "remend";

export interface MathsToken extends Tokens.Generic { type: "mathsBlock" | "mathsInline"; tex: string }

/** A formula may not be longer; what looks like one and is longer is prose with dollar signs. */
const TEX_CHARS_MAX = 4_000;

const maths = new Marked({ gfm: true, breaks: false });
maths.use({
  extensions: [
    {
      name: "mathsBlock",
      level: "block",
      start: (source) => source.match(/\$\$|\\\[/)?.index,
      tokenizer(source): MathsToken | undefined {
        const match = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[^\S\n]*(?:\n|$)/.exec(source);
        const tex = match?.[1] ?? match?.[2];
        if (match === null || tex === undefined || tex.length > TEX_CHARS_MAX) return undefined;
        return { type: "mathsBlock", raw: match[0], tex: tex.trim() };
      },
    },
    {
      name: "mathsInline",
      level: "inline",
      start: (source) => source.match(/\$|\\\(/)?.index,
      tokenizer(source): MathsToken | undefined {
        // As pandoc reads it: no space inside the dollar signs, no digit after them. So `$5 and $6` are prices.
        const match = /^(?:\$\$([^$\n]+?)\$\$|\$(?!\s)([^$\n]*?[^\s$\\])\$(?!\d)|\\\(([^\n]+?)\\\))/.exec(source);
        const tex = match?.[1] ?? match?.[2] ?? match?.[3];
        if (match === null || tex === undefined || tex.length > TEX_CHARS_MAX) return undefined;
        return { type: "mathsInline", raw: match[0], tex: tex.trim() };
      },
    },
  ],
});

export function lex(text: string): Token[] {
  return maths.lexer(text);
}

/** The blocks of a text that grows: all but the last are kept as they were. */
export interface Growing {
  /** The text of the blocks that are kept. */
  settled: string;
  blocks: readonly Token[];
  /** The last block, which may still change. */
  open: readonly Token[];
}

export const NOTHING: Growing = { settled: "", blocks: [], open: [] };

/** Parses what was added. Only the last block is parsed again, so the cost does not grow with the answer. */
export function grow(before: Growing, text: string): Growing {
  const from = text.startsWith(before.settled) ? before : NOTHING;
  const rest = text.slice(from.settled.length);
  const tokens = lex(rest);
  const last = tokens.findLastIndex((token) => token.type !== "space");
  // A list goes on after an empty line, so it is only settled when something else follows.
  const n = Math.max(0, last);
  const done = tokens.slice(0, n);
  const settledLength = done.reduce((sum, token) => sum + token.raw.length, 0);
  const openText = rest.slice(settledLength);
  return {
    settled: from.settled + rest.slice(0, settledLength),
    blocks: done.length === 0 ? from.blocks : [...from.blocks, ...done],
    // A half-written link or an open `**` is closed for the moment, so that nothing jumps when it is.
    open: openText === "" ? [] : lex(remend(openText)),
  };
}
