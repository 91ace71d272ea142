// Draws Markdown as React elements. There is no HTML on the way, so nothing of a text can become a script: raw HTML is
// shown as text, images are links, and links lead only to web and mail addresses.
import type { Token, Tokens } from "marked";
import { memo, type ReactNode, useMemo, useRef } from "react";
import { CodeBlock } from "./code_block";
import { grow, lex, type MathsToken, NOTHING } from "./lex";
import { safeHref } from "./links";
import { Maths } from "./maths";

/** A text that is complete. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => lex(text), [text]);
  return <>{tokens.map((token, index) => <Block key={index} token={token} />)}</>;
});

/** A text that is still being written: blocks that are complete are not drawn again. */
export function GrowingMarkdown({ text, caret }: { text: string; caret: ReactNode }) {
  const known = useRef(NOTHING);
  const growing = useMemo(() => {
    known.current = grow(known.current, text);
    return known.current;
  }, [text]);
  return (
    <>
      {growing.blocks.map((token, index) => <Block key={index} token={token} />)}
      {growing.open.map((token, index) => (
        <Block key={`open-${index}`} token={token} caret={index === growing.open.length - 1 ? caret : undefined} />
      ))}
      {growing.open.length === 0 ? caret : null}
    </>
  );
}

const Block = memo(function Block({ token, caret }: { token: Token; caret?: ReactNode }): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const Level = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Level>{inline(token.tokens)}{caret}</Level>;
    }
    case "paragraph":
      return <p>{inline(token.tokens)}{caret}</p>;
    case "text":
      return <p>{token.tokens === undefined ? plain(token) : inline(token.tokens)}{caret}</p>;
    case "code":
      return <CodeBlock language={(token as Tokens.Code).lang ?? ""} code={(token as Tokens.Code).text} isGrowing={caret !== undefined} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens)}{caret}</blockquote>;
    case "list":
      return <List token={token as Tokens.List} caret={caret} />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "mathsBlock":
      return <div className="wide scroll-x"><Maths tex={(token as MathsToken).tex} isBlock /></div>;
    case "html":
      return <p className="raw-html">{token.raw.replace(/\n+$/, "")}{caret}</p>;
    default:
      return <p>{token.raw}{caret}</p>;
  }
});

function blocks(tokens: Token[] | undefined): ReactNode[] {
  return (tokens ?? []).map((token, index) => <Block key={index} token={token} />);
}

function List({ token, caret }: { token: Tokens.List; caret: ReactNode }) {
  const items = token.items.map((item, index) => (
    <li key={index} className={item.task ? "task" : undefined}>
      {item.task ? <input type="checkbox" checked={item.checked === true} disabled readOnly aria-label={item.text} /> : null}
      {listItem(item, token.loose)}
      {index === token.items.length - 1 ? caret : null}
    </li>
  ));
  return token.ordered ? <ol start={token.start === "" ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>;
}

/** The items of a tight list have no paragraphs. */
function listItem(item: Tokens.ListItem, isLoose: boolean): ReactNode[] {
  return item.tokens.filter((it) => it.type !== "checkbox").map((child, index) => {
    if (child.type === "text" && !isLoose) return <span key={index}>{inline(child.tokens ?? [child])}</span>;
    return <Block key={index} token={child} />;
  });
}

function Table({ token }: { token: Tokens.Table }) {
  const align = (index: number): string | undefined => (token.align[index] === "right" ? "n" : token.align[index] === "center" ? "c" : undefined);
  return (
    <div className="wide scroll-x" tabIndex={0} role="group">
      <table className="grid">
        <thead>
          <tr>{token.header.map((cell, index) => <th key={index} className={align(index)}>{inline(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{row.map((cell, at) => <td key={at} className={align(at)}>{inline(cell.tokens)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ReactNode[] {
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={(token as Tokens.Link).href}>{inline(token.tokens)}</Link>;
    case "image": {
      const image = token as Tokens.Image;
      return <Link href={image.href}>{image.text === "" ? image.href : image.text}</Link>;
    }
    case "mathsInline":
      return <Maths tex={(token as MathsToken).tex} isBlock={false} />;
    case "escape":
      return (token as Tokens.Escape).text;
    case "text":
      return token.tokens === undefined ? plain(token) : inline(token.tokens);
    default:
      return token.raw;
  }
}

/** The text of a token without the entities that stand for single characters. */
function plain(token: Token): string {
  return unescape((token as Tokens.Text).text);
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** React escapes what it draws, so entities in the text are read once, here. */
function unescape(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = name[1]?.toLowerCase() === "x" ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : whole;
  });
}

function Link({ href, children }: { href: string; children: ReactNode }) {
  const safe = safeHref(href);
  if (safe === null) return <>{children}</>;
  return <a href={safe} target="_blank" rel="noopener noreferrer nofollow">{children}</a>;
}
