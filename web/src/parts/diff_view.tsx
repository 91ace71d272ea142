// A difference as a table: line numbers, signs, text.
import type { DiffRow } from "../log/diff";
import { useWords } from "./app_context";

/** Further rows are left out until they are asked for by opening the file. */
const ROWS_MAX = 600;

export function DiffView({ rows }: { rows: readonly DiffRow[] }) {
  const { t } = useWords();
  return (
    <div className="code" tabIndex={0} role="group" aria-label={t("difference")}>
      <table className="diff">
        <tbody>{rows.slice(0, ROWS_MAX).map((row, index) => <Row key={index} row={row} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ row }: { row: DiffRow }) {
  if (row.kind === "gap") return <tr className="gap"><td colSpan={4}>⋯</td></tr>;
  const text = row.kind === "added" ? <ins>{row.text}</ins> : row.kind === "removed" ? <del>{row.text}</del> : row.text;
  return (
    <tr className={row.kind === "added" ? "a" : row.kind === "removed" ? "d" : undefined}>
      <td className="ln old">{row.before}</td>
      <td className="ln">{row.after}</td>
      <td className="sg">{row.kind === "added" ? "+" : row.kind === "removed" ? "−" : ""}</td>
      <td className="tx">{text}</td>
    </tr>
  );
}
