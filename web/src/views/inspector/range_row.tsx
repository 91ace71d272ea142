// One range of a request: where it begins, its bytes, and where they come from. Long ranges are folded, and opened
// 64 KB at a time.
import { memo, useState } from "react";
import type { ByteRange, SourceName } from "../../log/inspect";
import { useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { bytes, grouped } from "../../words/format";
import { nameText } from "./bytes_pane";

/** Bytes of a range that are shown before it is opened. */
const BEGINNING_BYTES = 240;
/** A range that is the same as before is folded from here on. */
const FOLDED_BYTES_MIN = 400;
const PAGE_BYTES = 64 * 1024;

interface RangeRowProps {
  range: ByteRange;
  body: Uint8Array;
  name: SourceName;
  before: number | null;
  isReadable: boolean;
  isSelected: boolean;
  isContinued: boolean;
  onSelect: () => void;
}

export const RangeRow = memo(function RangeRow({ range, body, name, before, isReadable, isSelected, isContinued, onSelect }: RangeRowProps) {
  const { t } = useWords();
  const length = range.end - range.start;
  const isLong = length > FOLDED_BYTES_MIN;
  const [nShown, setNShown] = useState(isLong ? BEGINNING_BYTES : length);
  const end = charEnd(body, Math.min(range.end, range.start + nShown));
  const text = new TextDecoder().decode(body.subarray(range.start, end));
  const left = range.end - end;
  const more = range.isSame ? (before === null ? t("bytesSame", { n: left }) : t("bytesSameAs", { n: left, m: before })) : before === null ? t("bytesFolded", { n: left }) : t("bytesNew", { n: left });
  const detail = name.detail === null ? null : "key" in name.detail ? t(name.detail.key, name.detail.params) : name.detail.text;
  const edge = `${isSelected ? " on" : ""}${isContinued ? " cont" : ""}`;
  return (
    <>
      <div className={`range s-${range.kind}${edge}`}>
        <span className="at">{grouped(range.start)}</span>
        <button className="raw" onClick={onSelect} aria-pressed={isSelected}><Bytes text={text} isReadable={isReadable} /></button>
        <span className="by"><span>{nameText(t, name)}</span>{detail === null ? null : <small>{detail}</small>}</span>
      </div>
      {left <= 0 ? null : (
        <div className={`range folded cont s-${range.kind}`}>
          <span className="at">{grouped(end)}</span>
          <button className="raw" onClick={() => setNShown((n) => n + PAGE_BYTES)}><Icon name="right" small /><span>{more}{left > PAGE_BYTES && nShown > BEGINNING_BYTES ? ` (${t("showAll", { size: bytes(PAGE_BYTES) })})` : ""}</span></button>
          <span className="by" />
        </div>
      )}
    </>
  );
});

/** The end of the character that byte `at` would cut. */
function charEnd(body: Uint8Array, at: number): number {
  let end = at;
  while (end < body.length && (body[end]! & 0xc0) === 0x80) end += 1;
  return end;
}

/** The bytes as they are, or with the escapes of JSON resolved. Escapes are always marked. */
function Bytes({ text, isReadable }: { text: string; isReadable: boolean }) {
  const parts = text.split(/((?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+)/);
  return parts.map((part, index) => {
    if (index % 2 === 0) return part;
    const resolved = isReadable ? resolve(part) : part;
    return <span key={index} className="esc">{resolved}{!isReadable && /\\n/.test(part) ? "\n" : ""}</span>;
  });
}

function resolve(escapes: string): string {
  try {
    return JSON.parse(`"${escapes}"`) as string;
  } catch {
    return escapes;
  }
}
