// The log as a virtual list: only what is in view is in the document, whatever the length of the session.
//
// It follows new text only while its end is in view. Otherwise nothing moves, and a button says how much is new.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "react";
import { useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { type StreamRow, StreamRowView, rowClass } from "./stream_rows";

/** Nearer to the end than this counts as the end. */
const END_PX = 60;

export interface StreamHandle {
  scrollTo: (key: string) => boolean;
  toEnd: () => void;
  /** Moves the focus by so many lines. */
  move: (by: number) => void;
  /** The key of the line that has the focus. */
  focused: () => string | null;
}

interface StreamProps {
  rows: readonly StreamRow[];
  handle: RefObject<StreamHandle | null>;
  onAtEnd: (isAtEnd: boolean) => void;
  /** The line that a link names. */
  marked: string | null;
}

export function Stream({ rows, handle, onAtEnd, marked }: StreamProps) {
  const { t } = useWords();
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [nSeen, setNSeen] = useState<number | null>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => estimate(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 6,
    paddingStart: 24,
    paddingEnd: 12,
  });
  const items = list.getVirtualItems();
  const total = list.getTotalSize();

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [total, rows]);

  const noteScroll = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const now = element.scrollHeight - element.scrollTop - element.clientHeight < END_PX;
    if (now === isAtEnd.current) return;
    isAtEnd.current = now;
    setNSeen(now ? null : rows.length);
    onAtEnd(now);
  };

  const toEnd = (): void => {
    isAtEnd.current = true;
    setNSeen(null);
    onAtEnd(true);
    list.scrollToIndex(rows.length - 1, { align: "end" });
    const element = scroller.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  };

  // The line that is about to get the focus: keys come faster than frames.
  const nextFocus = useRef<number | null>(null);
  const focusRow = (index: number): void => {
    nextFocus.current = index;
    list.scrollToIndex(index, { align: "auto" });
    requestAnimationFrame(() => {
      nextFocus.current = null;
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus({ preventScroll: true });
    });
  };

  const focusedIndex = (): number | null => {
    if (nextFocus.current !== null) return nextFocus.current;
    const row = document.activeElement?.closest<HTMLElement>("[data-index]");
    return row === null || row === undefined || !scroller.current?.contains(row) ? null : Number(row.dataset["index"]);
  };

  useImperativeHandle(handle, () => ({
    toEnd,
    scrollTo: (key) => {
      const index = rows.findIndex((row) => row.key === key || row.key.startsWith(`${key}-`));
      if (index < 0) return false;
      isAtEnd.current = false;
      setNSeen(rows.length);
      list.scrollToIndex(index, { align: "start" });
      focusRow(index);
      return true;
    },
    move: (by) => {
      const at = focusedIndex();
      const next = at === null ? (by > 0 ? (items[0]?.index ?? 0) : rows.length - 1) : at + by;
      if (next >= 0 && next < rows.length) focusRow(next);
    },
    focused: () => {
      const at = focusedIndex();
      return at === null ? null : (rows[at]?.key ?? null);
    },
  }));

  const nNew = nSeen === null ? 0 : Math.max(0, rows.length - nSeen);
  return (
    <div className="stream-box">
      <div className="stream" id="stream" ref={scroller} onScroll={noteScroll} tabIndex={0} role="region" aria-label={t("conversation")}>
        <ol className="log" style={{ paddingTop: items[0]?.start ?? 0, paddingBottom: Math.max(0, total - (items.at(-1)?.end ?? 0)) }}>
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const edge = `${item.index === 0 ? " first" : ""}${item.index === rows.length - 1 ? " last" : ""}${row.key === marked ? " marked" : ""}`;
            return (
              <li key={item.key} data-index={item.index} data-key={row.key} ref={list.measureElement} className={rowClass(row) + edge} tabIndex={-1} aria-posinset={item.index + 1} aria-setsize={rows.length}>
                <StreamRowView row={row} />
              </li>
            );
          })}
        </ol>
      </div>
      {nSeen === null ? null : (
        <button className="btn compact to-end" onClick={toEnd}><Icon name="down" small />{nNew > 0 ? t("newBelow", { n: nNew }) : t("toTheEnd")}</button>
      )}
    </div>
  );
}

/** The height of a line before it was measured. */
function estimate(row: StreamRow | undefined): number {
  switch (row?.kind) {
    case "entry":
      switch (row.entry.kind) {
        case "said": return 100;
        case "answer": return Math.min(1200, 60 + (typeof row.entry.text === "string" ? row.entry.text.length : 4000) * 0.36);
        case "approval": return row.entry.approval.decided === undefined ? 260 : 28;
        default: return 28;
      }
    case "outbox": return 90;
    default: return 40;
  }
}

/** Keeps the end in view while the window or the dock changes its size. */
export function useKeepEnd(element: RefObject<HTMLElement | null>, handle: RefObject<StreamHandle | null>, isAtEnd: () => boolean): void {
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new ResizeObserver(() => {
      if (isAtEnd()) handle.current?.toEnd();
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, handle, isAtEnd]);
}
