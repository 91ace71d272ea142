// The inspector: what the model was sent, byte by byte, and where each byte came from.
import { useEffect, useMemo, useRef, useState } from "react";
import { agentOf } from "../../house/house_store";
import type { ByteRange } from "../../log/inspect";
import { useApp, useHouse, useIsOnline, useStore, useWords } from "../../parts/app_context";
import { type Command, useCommands } from "../../parts/commands";
import { Icon } from "../../parts/icon";
import { hrefOf, replace } from "../../parts/route";
import type { RequestExplanation } from "../../wire/calls";
import { ConnectionLost, messageOf } from "../../wire/errors";
import { baseName } from "../../words/format";
import { ViewSwitch } from "../conversation/conversation_head";
import { platformOf } from "../../house/threads";
import { platformKey } from "../threads/platforms";
import { BytesPane } from "./bytes_pane";
import { EventPane } from "./event_pane";
import { RequestList } from "./request_list";
import { ConnectionBanner } from "../conversation/banners";

/** Requests whose stable share is asked for without being chosen. Each costs a reading of the log. */
const SHARES_ASKED_MAX = 60;

type Pane = "requests" | "bytes" | "event";

export function InspectorView({ sessionId, requestId }: { sessionId: string; requestId: string | null }) {
  const { t } = useWords();
  const { feeds } = useApp();
  const house = useHouse();
  const feed = useMemo(() => feeds.of(sessionId), [feeds, sessionId]);
  const { log, isLoaded } = useStore(feed);
  const row = house.sessions.get(sessionId);
  const agentName = agentOf(house, row?.agentId).name;
  const found = log.requests.findIndex((it) => it.asked.requestId === requestId);
  const chosen = found >= 0 ? found : log.requests.length - 1;
  const request = log.requests[chosen];
  const { explained, whole, error } = useExplanations(sessionId, log.requests.map((it) => it.asked.requestId), request?.asked.requestId ?? null);
  const [selection, setSelection] = useState<{ requestId: string; range: ByteRange } | null>(null);
  const selected = selection !== null && selection.requestId === request?.asked.requestId ? selection.range : null;
  const [pane, setPane] = useState<Pane>("bytes");
  const firstDifference = useRef<(() => void) | null>(null);
  const choose = (index: number): void => {
    const next = log.requests[index];
    if (next === undefined) return;
    replace({ view: "inspector", sessionId, requestId: next.asked.requestId });
    setPane("bytes");
  };
  useCommands([
    { id: "firstDifference", label: t("firstDifferenceFrom", { n: chosen }), icon: "down", keys: ["d"], run: () => firstDifference.current?.() },
    { id: "previousRequest", label: t("keyInspector"), icon: "left", keys: ["arrowleft"], isHidden: true, run: () => choose(chosen - 1) },
    { id: "nextRequest", label: t("keyInspector"), icon: "right", keys: ["arrowright"], isHidden: true, run: () => choose(chosen + 1) },
  ] satisfies Command[]);
  const title = log.title ?? row?.title ?? (isLoaded ? t("untitled") : t("loading"));
  return (
    <div className="app inspect" data-pane={pane}>
      <header className="head">
        <a className="tool" href={hrefOf({ view: "conversation", sessionId, eventId: null })} aria-label={t("backToConversation")} title={t("backToConversation")}><Icon name="left" /></a>
        <div className="titles"><h1 className="clip">{title}</h1><span className="from clip">{row?.threadId == null ? "" : t(platformKey(platformOf(row.threadId)))}{row?.cwd ? ` · ${baseName(row.cwd)}` : ""}</span></div>
        <ViewSwitch sessionId={sessionId} current="inspector" />
      </header>
      <div className="inspect-banner"><ConnectionBanner isTurnOpen={log.isTurnOpen} /></div>
      <nav className="tabs only-phone" aria-label={t("panes")}><div className="seg">{(["requests", "bytes", "event"] as const).map((it) => <button key={it} aria-pressed={pane === it} onClick={() => setPane(it)}>{t(it)}</button>)}</div></nav>
      <RequestList log={log} chosen={chosen} explained={explained} onChoose={choose} />
      {request === undefined || whole === null ? (
        <main className="bytes-pane">{error !== null ? <p className="nothing bad" role="alert">{t("failedCall", { reason: error })}</p> : request === undefined && isLoaded ? <div className="empty"><h2>{t("noRequests")}</h2></div> : null}</main>
      ) : (
        <BytesPane log={log} request={request} number={chosen + 1} explanation={whole} agentName={agentName} selected={selected} onSelect={(range) => setSelection({ requestId: request.asked.requestId, range })} firstDifference={firstDifference} />
      )}
      {request === undefined ? <aside className="event-pane" aria-label={t("sourceOfSelected")} /> : <EventPane log={log} sessionId={sessionId} range={selected} request={request} agentName={agentName} />}
    </div>
  );
}

interface Explanations {
  explained: ReadonlyMap<string, RequestExplanation>;
  /** The chosen request with its body. */
  whole: RequestExplanation | null;
  error: string | null;
}

/** Explanations of the requests: the chosen one first and whole, the others one after another, without their bodies. */
function useExplanations(sessionId: string, ids: readonly string[], chosen: string | null): Explanations {
  const { connection } = useApp();
  const isOnline = useIsOnline();
  const [explained, setExplained] = useState<ReadonlyMap<string, RequestExplanation>>(new Map());
  const [failure, setFailure] = useState<{ id: string; message: string } | null>(null);
  const add = (explanation: RequestExplanation): void => setExplained((before) => new Map(before).set(explanation.requestId, explanation));
  const whole = chosen === null ? undefined : explained.get(chosen);
  const isWhole = whole?.body !== undefined;
  useEffect(() => {
    if (chosen === null || isWhole || !isOnline) return;
    setFailure(null);
    connection.call("explain_request", { session: sessionId, request: chosen, withBody: true }).then(add, (error: unknown) => {
      if (!(error instanceof ConnectionLost)) setFailure({ id: chosen, message: messageOf(error) });
    });
  }, [connection, sessionId, chosen, isWhole, isOnline]);
  const next = ids.slice(-SHARES_ASKED_MAX).findLast((id) => !explained.has(id)) ?? null;
  useEffect(() => {
    // Only after the chosen one: that is what the person waits for.
    if (next === null || !isWhole || !isOnline) return;
    connection.call("explain_request", { session: sessionId, request: next, withBody: false }).then(add, () => {});
  }, [connection, sessionId, next, isWhole, isOnline]);
  return { explained, whole: isWhole ? whole : null, error: failure !== null && failure.id === chosen ? failure.message : null };
}
