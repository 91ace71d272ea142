// A block of code: its language, a button that copies it, and colours when it is in view and the browser is idle.
import { memo, useEffect, useRef, useState } from "react";
import { CopyButton } from "../parts/copy_button";
import type { CodeNode } from "./highlight";

/** Longer code is shown without colours. */
const HIGHLIGHTED_CHARS_MAX = 60_000;

export const CodeBlock = memo(function CodeBlock({ language, code, isGrowing }: { language: string; code: string; isGrowing: boolean }) {
  const name = language.trim().split(/\s+/, 1)[0] ?? "";
  return (
    <div className="wide code">
      <div className="code-head"><span>{name}</span><CopyButton text={code} /></div>
      <pre tabIndex={0}><code><Highlighted language={name} code={code} isGrowing={isGrowing} /></code></pre>
    </div>
  );
});

export function Highlighted({ language, code, isGrowing = false }: { language: string; code: string; isGrowing?: boolean }) {
  const anchor = useRef<HTMLSpanElement>(null);
  const [nodes, setNodes] = useState<{ code: string; nodes: CodeNode[] } | null>(null);
  useEffect(() => {
    if (isGrowing || language === "" || code.length > HIGHLIGHTED_CHARS_MAX || anchor.current === null) return undefined;
    return whenSeenAndIdle(anchor.current, async () => {
      const { highlight } = await import("./highlight");
      setNodes({ code, nodes: highlight(language, code) });
    });
  }, [language, code, isGrowing]);
  return <span ref={anchor}>{nodes?.code === code ? nodes.nodes.map((node, index) => <Coloured key={index} node={node} />) : code}</span>;
}

function Coloured({ node }: { node: CodeNode }) {
  if (typeof node === "string") return node;
  return <span className={node.colour}>{node.children.map((child, index) => <Coloured key={index} node={child} />)}</span>;
}

/** Calls back once, when the element is on screen and nothing more urgent waits. */
function whenSeenAndIdle(element: Element, then: () => Promise<void>): () => void {
  let isOver = false;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    const idle = globalThis.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 1));
    idle(() => {
      if (!isOver) void then();
    });
  });
  observer.observe(element);
  return () => {
    isOver = true;
    observer.disconnect();
  };
}
