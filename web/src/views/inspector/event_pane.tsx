// Where the selected bytes come from, with the raw event, and the event of the request itself.
import type { ByteRange } from "../../log/inspect";
import { nameOf } from "../../log/inspect";
import type { Log, RequestState } from "../../log/state";
import { useWords } from "../../parts/app_context";
import { CopyButton } from "../../parts/copy_button";
import { Fold } from "../../parts/fold";
import { JsonView } from "../../parts/json_view";
import { hrefOf } from "../../parts/route";
import type { LogEvent, Trust } from "../../wire/types";
import { grouped, listed } from "../../words/format";
import type { WordKey } from "../../words/words";
import { nameText } from "./bytes_pane";

const TRUSTS: Record<Trust, WordKey> = { owner: "trustOwner", paired: "trustPaired", shared: "trustShared", peer: "trustPeer", untrusted: "trustUntrusted" };

interface EventPaneProps { log: Log; sessionId: string; range: ByteRange | null; request: RequestState; agentName: string }

export function EventPane({ log, sessionId, range, request, agentName }: EventPaneProps) {
  const { t } = useWords();
  const event = eventOf(log, range);
  return (
    <aside className="event-pane" aria-label={t("sourceOfSelected")}>
      <div className="event-head"><h2>{t("selectedRange")}</h2>{event === null ? null : <a className="btn plain compact" href={hrefOf({ view: "conversation", sessionId, eventId: event.id })}>{t("showInConversation")}</a>}</div>
      {range === null ? <p className="nothing">{t("selectRange")}</p> : <RangeFacts log={log} range={range} event={event} agentName={agentName} />}
      {event === null ? null : (
        <>
          <div className="event-head"><h2>{t("rawEvent")}</h2><span className="num">{t("line", { n: event.seq + 1 })}</span><CopyButton text={() => JSON.stringify(event)} label="copyEvent" /></div>
          <JsonView value={event} />
        </>
      )}
      <Fold id={`request-${request.asked.id}`} line={<><span className="verb">{t("requestEvent")}</span><code>{request.asked.type}</code></>} end={t("line", { n: request.asked.seq + 1 })}><JsonView value={request.asked} /></Fold>
    </aside>
  );
}

function eventOf(log: Log, range: ByteRange | null): LogEvent | null {
  const source = range?.source ?? null;
  return source !== null && source !== "runtime" && "event" in source ? (log.byId.get(source.event.id) ?? null) : null;
}

function RangeFacts({ log, range, event, agentName }: { log: Log; range: ByteRange; event: LogEvent | null; agentName: string }) {
  const { t, language } = useWords();
  const name = nameOf(range.source, log, agentName);
  const detail = name.detail === null ? "" : "key" in name.detail ? t(name.detail.key, name.detail.params) : name.detail.text;
  return (
    <dl className="facts">
      <dt>{t("source")}</dt><dd>{listed(language, nameText(t, name), detail)}</dd>
      <dt>{t("bytes")}</dt><dd>{grouped(range.start)} – {grouped(range.end)}</dd>
      {event !== null && "trust" in event ? <><dt>{t("trust")}</dt><dd>{t(TRUSTS[event.trust])}</dd></> : null}
    </dl>
  );
}
