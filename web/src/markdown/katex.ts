// KaTeX, which builds its elements itself: the page's CSP allows no HTML with styles in it.
import katex from "katex";
import "katex/dist/katex.min.css";

export function render(tex: string, place: HTMLElement, isBlock: boolean): void {
  try {
    const made = document.createElement("span");
    katex.render(tex, made, { displayMode: isBlock, throwOnError: true, trust: false, maxSize: 20, maxExpand: 200, strict: "ignore" });
    place.replaceChildren(...made.childNodes);
  } catch {
    // Not a formula that KaTeX can read: its source stays.
  }
}
