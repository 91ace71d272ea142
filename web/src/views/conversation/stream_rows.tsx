// The rows of the stream: what the log shows, then the answer that is being made, then what is not in the log yet.
import type { Entry } from "../../log/entries";
import type { LiveBlock, Session } from "../../log/state";
import { languageOf } from "../../log/text";
import { Markdown } from "../../markdown/markdown";
import { useApp, useIsOnline, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import type { OutboxMessage } from "../../wire/outbox";
import { clockTime } from "../../words/format";
import { GrowingAnswer, ThoughtRow } from "./answer_row";
import { PreparingCall } from "./call_row";
import { classOf, EntryRow } from "./entry_row";

export type StreamRow =
  | { kind: "entry"; key: string; entry: Entry }
  | { kind: "live"; key: string; block: LiveBlock; isLast: boolean }
  | { kind: "outbox"; key: string; message: OutboxMessage };

export function streamRows(entries: readonly Entry[], session: Session, outbox: readonly OutboxMessage[]): StreamRow[] {
  const rows: StreamRow[] = entries.map((entry) => ({ kind: "entry", key: entry.key, entry }));
  const { live, log } = session;
  if (live.requestId !== null && log.isTurnOpen && !log.byId.has(live.requestId)) {
    live.blocks.forEach((block, index) => {
      // A block that has not begun leaves a hole.
      if (block !== undefined && (block.kind === "call" || block.text.trim() !== "")) {
        rows.push({ kind: "live", key: `live-${live.requestId}-${index}`, block, isLast: index === live.blocks.length - 1 });
      }
    });
  }
  for (const message of outbox) rows.push({ kind: "outbox", key: `outbox-${message.message.clientMessageId}`, message });
  return rows;
}

export function rowClass(row: StreamRow): string {
  if (row.kind === "entry") return classOf(row.entry);
  if (row.kind === "outbox") return row.message.message.runningBehavior === "steer" ? "entry steer" : "entry said";
  return row.block.kind === "text" ? "entry answer" : "entry";
}

export function StreamRowView({ row }: { row: StreamRow }) {
  switch (row.kind) {
    case "entry": return <EntryRow entry={row.entry} />;
    case "outbox": return <OutboxRow message={row.message} />;
    case "live":
      if (row.block.kind === "thinking") return <ThoughtRow id={row.key} text={row.block.text} isGrowing={row.isLast} />;
      if (row.block.kind === "call") return <PreparingCall tool={row.block.tool ?? ""} input={row.block.text} />;
      return <GrowingAnswer text={row.block.text} />;
  }
}

/** A message that the host has not written down yet. */
function OutboxRow({ message: { message, refused, writtenAt } }: { message: OutboxMessage }) {
  const { t } = useWords();
  const { outbox } = useApp();
  const isOnline = useIsOnline();
  const id = message.clientMessageId;
  const isSteer = message.runningBehavior === "steer";
  return (
    <>
      <span className="mark">{isSteer ? <Icon name="steer" /> : <span className="node" />}</span>
      <div>
        <div className="words pending">
          {isSteer ? <span className="kind">{t("steer")}</span> : null}
          <div lang={languageOf(message.text)} className="prose"><Markdown text={message.text} /></div>
          <span className="num">{refused !== null ? clockTime(writtenAt) : isOnline ? t("sending") : t("notSent")}</span>
        </div>
        {refused === null ? null : (
          <div className="foot bad" role="alert">
            <Icon name="alert" /><span>{t("notAccepted", { reason: refused })}</span>
            <span className="acts"><button className="btn compact" disabled={!isOnline} onClick={() => outbox.retry(id)}>{t("tryAgain")}</button><button className="btn plain compact" onClick={() => outbox.drop(id)}>{t("discard")}</button></span>
          </div>
        )}
      </div>
    </>
  );
}
