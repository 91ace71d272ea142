import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say, type WordKey, words } from "../../src/words/words";

const SOURCES = new URL("../../src/", import.meta.url).pathname;
const files = (folder: string): string[] => readdirSync(folder, { withFileTypes: true }).flatMap((it) => (it.isDirectory() ? files(join(folder, it.name)) : [join(folder, it.name)]));
const code = files(SOURCES).filter((path) => /\.tsx?$/.test(path) && !path.endsWith("words/words.ts")).map((path) => [path, readFileSync(path, "utf8")] as const);
const keys = Object.keys(words) as WordKey[];
const namesIn = (text: string): string[] => [...text.matchAll(/\{(\w+)/g)].map((match) => match[1]!).sort();
/** Texts that are the same in both languages. */
const SAME = new Set<WordKey>(["platformTelegram", "sourceRuntime", "tokens"]);

test.each(keys)("%s is there in both languages, with the same parameters", (key) => {
  const [en, zh] = words[key];
  expect(en.trim()).not.toBe("");
  expect(zh.trim()).not.toBe("");
  expect([...new Set(namesIn(zh))]).toEqual([...new Set(namesIn(en))]);
  if (!SAME.has(key)) expect(zh).toMatch(/\p{Script=Han}/u);
  expect(en).not.toMatch(/\p{Script=Han}|!|\bplease\b|\boops\b/iu);
  expect(zh).not.toMatch(/!|！|请(?!求)/u);
});

test("every text is used somewhere", () => {
  const all = code.map(([, text]) => text).join("\n");
  expect(keys.filter((key) => !new RegExp(`["'.]${key}\\b`).test(all))).toEqual([]);
});

test("no text for people stands in the code itself", () => {
  const found = code.filter(([path]) => path.endsWith(".tsx")).flatMap(([path, text]) => [...text.matchAll(/>([A-Z][a-z]+(?: [a-z]+)+)</g)].map((match) => `${path}: ${match[1]}`));
  expect(found).toEqual([]);
  const han = code.filter(([path, text]) => !path.includes("/words/") && /\p{Script=Han}/u.test(text.replace(/"简体中文"/g, "").replace(/\/\/.*$/gm, ""))).map(([path]) => path);
  expect(han).toEqual([]);
});

test("plurals and parameters are put in", () => {
  expect(say("en", "lines", { n: 1 })).toBe("1 line");
  expect(say("en", "lines", { n: 1_200 })).toBe("1,200 lines");
  expect(say("zh", "lines", { n: 3 })).toBe("3 行");
  expect(say("en", "hitsInFiles", { n: 3, m: 1 })).toBe("3 hits in 1 file");
});
