// JSON as it stands in a log, laid out for reading; keys are quieter than values.
import { memo, type ReactNode } from "react";

/** Longer JSON is shown without colours. */
const COLOURED_CHARS_MAX = 40_000;

export const JsonView = memo(function JsonView({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? "";
  return <pre className="json" tabIndex={0}><code>{text.length > COLOURED_CHARS_MAX ? text : coloured(text)}</code></pre>;
});

function coloured(text: string): ReactNode[] {
  return text.split("\n").map((line, index) => {
    const match = /^(\s*)("(?:[^"\\]|\\.)*":)(.*)$/.exec(line);
    const end = "\n";
    if (match === null) return <span key={index}>{line}{end}</span>;
    return <span key={index}>{match[1]}<span className="k">{match[2]}</span>{match[3]}{end}</span>;
  });
}
