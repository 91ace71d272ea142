import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { grow, lex, NOTHING } from "../../src/markdown/lex";
import { safeHref } from "../../src/markdown/links";
import { GrowingMarkdown, Markdown } from "../../src/markdown/markdown";

vi.mock("../../src/parts/copy_button", () => ({ CopyButton: () => null }));

const html = (text: string): string => renderToStaticMarkup(<Markdown text={text} />);

/** Texts that have run scripts in one renderer or another. */
const CORPUS = [
  "<script>alert(1)</script>",
  "<scr<script>ipt>alert(1)</scr</script>ipt>",
  "<img src=x onerror=alert(1)>",
  "<img src=\"x\" onerror=\"alert(1)\"//",
  "<svg/onload=alert(1)>",
  "<svg><script>alert(1)</script></svg>",
  "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
  "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<iframe src=\"javascript:alert(1)\">",
  "<object data=\"javascript:alert(1)\">",
  "<embed src=\"data:text/html,<script>alert(1)</script>\">",
  "<a href=\"javascript:alert(1)\">x</a>",
  "<base href=\"https://evil.example/\">",
  "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">",
  "<link rel=stylesheet href=\"https://evil.example/x.css\">",
  "<style>@import 'https://evil.example/x.css';</style>",
  "<form action=\"javascript:alert(1)\"><button>x</button></form>",
  "<input autofocus onfocus=alert(1)>",
  "<details open ontoggle=alert(1)>",
  "<video><source onerror=alert(1)></video>",
  "<body onload=alert(1)>",
  "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
  "<!--><img src=x onerror=alert(1)>-->",
  "<![CDATA[<script>alert(1)</script>]]>",
  "<?xml version=\"1.0\"?><script>alert(1)</script>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java\tscript:alert(1))",
  "[x](java\nscript:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](&#x6A;avascript&colon;alert(1))",
  "[x](javascript&#58;alert(1))",
  "[x](\u0001javascript:alert(1))",
  "[x](\u200bjavascript:alert(1))",
  "[x](vbscript:msgbox(1))",
  "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "[x](data:image/svg+xml,<svg onload=alert(1)>)",
  "[x](blob:https://evil.example/1)",
  "[x](file:///etc/passwd)",
  "[x](about:blank)",
  "[x](  javascript:alert(1) \"title\")",
  "[x]: javascript:alert(1)\n\n[x]",
  "[a][x]\n\n[x]: <javascript:alert(1)>",
  "<javascript:alert(1)>",
  "<data:text/html,<script>alert(1)</script>>",
  "![x](javascript:alert(1))",
  "![x](https://evil.example/track.png)",
  "![x\" onerror=\"alert(1)](https://evil.example/x.png)",
  "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
  "[![x](https://evil.example/a.png)](javascript:alert(1))",
  "[x](https://ok.example \"\" onclick=alert(1))",
  "[x](https://ok.example/\" onmouseover=\"alert(1))",
  "# <img src=x onerror=alert(1)>",
  "- <img src=x onerror=alert(1)>",
  "> <script>alert(1)</script>",
  "| <script>alert(1)</script> | b |\n|---|---|\n| <img src=x onerror=alert(1)> | [x](javascript:alert(1)) |",
  "```html\n<script>alert(1)</script>\n```",
  "```\"><script>alert(1)</script>\ncode\n```",
  "```<img src=x onerror=alert(1)>\ncode\n```",
  "`<script>alert(1)</script>`",
  "~~<script>alert(1)</script>~~ **<b onclick=alert(1)>**",
  "$\\href{javascript:alert(1)}{x}$",
  "$$\\url{javascript:alert(1)}$$",
  "$\\htmlData{onclick=alert(1)}{x}$",
  "$$\\includegraphics{https://evil.example/x.png}$$",
  "$<script>alert(1)</script>$",
  "- [ ] <script>alert(1)</script>",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "\\<script>alert(1)\\</script>",
  "www.evil.example/<script>alert(1)</script>",
  "https://ok.example/'onmouseover='alert(1)",
  "mailto:<script>alert(1)</script>@x.example",
];

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
