// A formula. KaTeX is loaded with the first one; until then, and where it cannot read it, the source is shown.
import { useEffect, useRef } from "react";

export function Maths({ tex, isBlock }: { tex: string; isBlock: boolean }) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let isOver = false;
    void import("./katex").then(({ render }) => {
      if (!isOver && place.current !== null) render(tex, place.current, isBlock);
    });
    return () => {
      isOver = true;
    };
  }, [tex, isBlock]);
  return <span className={isBlock ? "maths block" : "maths"}><span ref={place} key={tex}><code>{tex}</code></span></span>;
}
