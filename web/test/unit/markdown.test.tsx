import { readFileSync } from "node:fs";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { grow, lex, NOTHING } from "../../src/markdown/lex";
import { safeHref } from "../../src/markdown/links";
import { GrowingMarkdown, Markdown } from "../../src/markdown/markdown";

vi.mock("../../src/parts/copy_button", () => ({ CopyButton: () => null }));

const html = (text: string): string => renderToStaticMarkup(<Markdown text={text} />);

/** Texts that have run scripts in one renderer or another. `test:page` sends them through every part of the page. */
const CORPUS = JSON.parse(readFileSync(new URL("../xss.json", import.meta.url), "utf8")) as string[];

/** Elements and attributes that Markdown may become. Everything else is refused, so a new one must be thought about. */
const ELEMENTS = new Set(["p", "a", "strong", "em", "del", "code", "pre", "span", "div", "ul", "ol", "li", "h3", "h4", "h5", "h6", "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "input"]);
const ATTRIBUTES = new Set(["class", "href", "target", "rel", "start", "tabindex", "role", "type", "checked", "disabled", "readonly", "aria-label"]);

function check(markup: string): void {
  for (const [, name, rest] of markup.matchAll(/<\/?([a-z][a-z0-9]*)((?:\s[^<>]*)?)\/?>/gi)) {
    expect(ELEMENTS, markup).toContain(name!.toLowerCase());
    for (const [, attribute] of rest!.matchAll(/\s([a-z-]+)(?==|\s|$)/gi)) {
      // Values are quoted and escaped by React, so what looks like an attribute inside one is none.
      const outside = rest!.replace(/"[^"]*"/g, '""');
      if (outside.includes(attribute!)) expect(ATTRIBUTES, markup).toContain(attribute!.toLowerCase());
    }
    const href = /\shref="([^"]*)"/.exec(rest!)?.[1];
    if (href !== undefined) expect(href).toMatch(/^(https?:|mailto:)/);
  }
  // Whatever is left of an angle bracket must be escaped.
  expect(markup.replace(/<\/?[a-z][a-z0-9]*(?:\s+[a-z-]+(?:="[^"]*")?)*\s*\/?>/gi, ""), markup).not.toMatch(/</);
}

test.each(CORPUS)("no script, no remote image, no other address: %s", (text) => {
  check(html(text));
  check(renderToStaticMarkup(<GrowingMarkdown text={text} caret={null} />));
});

test("every beginning of the corpus is as harmless as the whole", () => {
  for (const text of CORPUS) for (let n = 1; n < text.length; n += 3) check(renderToStaticMarkup(<GrowingMarkdown text={text.slice(0, n)} caret={null} />));
});

test.each([
  ["https://a.example/b?c=d#e", "https://a.example/b?c=d#e"],
  ["mailto:a@b.example", "mailto:a@b.example"],
  ["javascript:alert(1)", null],
  [" JAVA\tSCRIPT:alert(1)", null],
  ["\u00adjavascript:alert(1)", null],
  ["//evil.example", null],
  ["/etc/passwd", null],
  ["#/settings", null],
  ["data:text/html,x", null],
])("%j links to %j", (href, expected) => expect(safeHref(href)).toBe(expected));

test("Markdown becomes what it says", () => {
  expect(html("**a** *b* ~~c~~ `d`")).toBe("<p><strong>a</strong> <em>b</em> <del>c</del> <code>d</code></p>");
  expect(html("# One\n\n1. a\n2. b\n\n- c")).toBe("<h3>One</h3><ol start=\"1\"><li><span>a</span></li><li><span>b</span></li></ol><ul><li><span>c</span></li></ul>");
  expect(html("| a | b |\n|---|--:|\n| 1 | 2 |")).toContain("<td class=\"n\">2</td>");
  expect(html("a &amp; b &lt; c")).toBe("<p>a &amp; b &lt; c</p>");
  expect(html("- [x] done")).toContain("checked");
});

test("prices are no formulas, formulas are", () => {
  const kinds = (text: string): string[] => (lex(text)[0] as { tokens?: { type: string }[] }).tokens?.map((token) => token.type) ?? [lex(text)[0]!.type];
  expect(kinds("It costs $5 and then $6.")).toEqual(["text"]);
  expect(kinds("So $a_1 + b$ it is")).toContain("mathsInline");
  expect(kinds("\\(x\\) too")).toContain("mathsInline");
  expect(lex("$$\nx^2\n$$")[0]!.type).toBe("mathsBlock");
  expect(lex("\\[x\\]")[0]!.type).toBe("mathsBlock");
});

test("a text that grows ends as the whole text does, and what is settled is not parsed again", () => {
  const text = "# A\n\nOne **two** three.\n\n- a\n- b\n  - c\n\n```js\nlet a = 1;\n\nlet b;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n$$x$$\n\nThe *end*";
  let growing = NOTHING;
  for (let n = 1; n <= text.length; n += 1) {
    const before = growing.blocks;
    growing = grow(growing, text.slice(0, n));
    before.forEach((block, index) => expect(growing.blocks[index]).toBe(block));
  }
  const types = [...growing.blocks, ...growing.open].map((token) => token.type).filter((type) => type !== "space");
  expect(types).toEqual(lex(text).map((token) => token.type).filter((type) => type !== "space"));
});
