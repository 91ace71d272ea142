// A question to the person: the whole command, where it runs, what can go wrong, how long it waits.
//
// Allow and Deny look alike: the page asks, it does not push. Keys count only while the card has the focus, and not in
// its first moments, so that a key meant for something else answers nothing.
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { diffOf, toolOf } from "../../log/call_line";
import { parseUnified } from "../../log/diff";
import type { ApprovalState, CallState } from "../../log/state";
import { shown } from "../../log/text";
import { useNow } from "../../parts/clock";
import { useApp, useIsOnline, useWords, type Words } from "../../parts/app_context";
import { DiffView } from "../../parts/diff_view";
import { Fold } from "../../parts/fold";
import { Icon } from "../../parts/icon";
import { Quoted } from "../../parts/quoted";
import type { PendingApproval } from "../../wire/calls";
import { newId } from "../../wire/ids";
import { ConnectionLost } from "../../wire/errors";
import { baseName, clockTime, listed, stopwatch } from "../../words/format";
import { LongText } from "./long_text";
import { useConversation, useSessionPart } from "./session_context";

const GRANT_MINUTES = 10;
const DEAF_MS = 600;

export function ApprovalRow({ approval }: { approval: ApprovalState }) {
  const call = useSessionPart((session) => session.log.calls.get(approval.asked.callId));
  const isOpen = approval.decided === undefined && call?.result === undefined;
  return isOpen ? <AskCard approval={approval} call={call} /> : <DecidedLine approval={approval} />;
}

function DecidedLine({ approval: { asked, decided } }: { approval: ApprovalState }) {
  const words = useWords();
  const line = <><span className="verb">{decidedText(words, { asked, ...(decided === undefined ? {} : { decided }) })}</span><span className="target clip">{shown(asked.command ?? asked.summary)}</span></>;
  return (
    <>
      <span className="mark"><Icon name="shield" /></span>
      <Fold id={`approval-${asked.approvalId}`} line={line}>
        <div className="thoughts"><LongText text={asked.command ?? asked.summary}>{(whole) => <pre className="told">{whole}</pre>}</LongText><p>{shown(asked.risk)}</p></div>
      </Fold>
    </>
  );
}

function decidedText({ t, language }: Words, { asked, decided }: ApprovalState): string {
  if (decided === undefined) return t("approvalDropped");
  const time = clockTime(decided.ts);
  if (decided.via === "expiry") return t("approvalExpired", { time: clockTime(asked.expiresAt) });
  if (decided.via === "branch" || decided.via === "cancel") return t("approvalDropped");
  const person = decided.by;
  const text = t(decided.decision === "allow" ? "allowedBy" : "deniedBy", { person, time });
  return decided.grant === undefined ? text : listed(language, text, t("withGrant", { time: clockTime(decided.grant.expiresAt) }));
}

function AskCard({ approval: { asked }, call }: { approval: ApprovalState; call: CallState | undefined }) {
  const { t } = useWords();
  const { row, agentName } = useConversation();
  const card = useRef<HTMLElement>(null);
  const [isScoping, setIsScoping] = useState(false);
  const answer = useAnswer(asked.approvalId);
  const details = useDetails(asked.approvalId);
  const diff = details?.diff === undefined ? (call === undefined ? null : diffOf(call)) : parseUnified(details.diff);
  const isOnline = useIsOnline();
  const isOff = !isOnline || answer.isSent;
  const isCommand = asked.command !== undefined;
  const folder = baseName(typeof call?.judged?.facts["cwd"] === "string" ? call.judged.facts["cwd"] : (row?.cwd ?? ""));
  const shownAt = useRef(Date.now());
  const decideByKey = useEffectEvent((event: KeyboardEvent): void => {
    if (isOff || isScoping || Date.now() - shownAt.current < DEAF_MS) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    // Of several questions the keys answer the first, or the one that has the focus.
    const focused = document.activeElement?.closest("[data-approval]") ?? document.querySelector("section[data-approval]");
    if (focused !== card.current) return;
    if (event.key === "y" || event.key === "n") {
      event.preventDefault();
      answer.decide(event.key === "y" ? "allow" : "deny", null);
    }
  });
  useEffect(() => {
    document.addEventListener("keydown", decideByKey);
    return () => document.removeEventListener("keydown", decideByKey);
  }, []);
  return (
    <>
      <span className="mark"><Icon name="shield" className="wait-icon" /></span>
      <section className="ask" ref={card} tabIndex={-1} data-approval={asked.approvalId} aria-labelledby={`ask-${asked.approvalId}`}>
        <div className="ask-head">
          <h2 id={`ask-${asked.approvalId}`}>{isCommand ? t("allowCommand") : t("allowCall", { tool: call === undefined ? "" : toolOf(call).tool })}</h2>
          <Countdown from={asked.ts} to={asked.expiresAt} />
        </div>
        <LongText text={asked.command ?? asked.summary}>{(whole) => <pre tabIndex={0}><code>{whole}</code></pre>}</LongText>
        {diff === null ? null : <div className="ask-diff"><DiffView rows={diff} /></div>}
        <dl className="facts">
          <dt>{t("where")}</dt><dd>{whereText(t, call, folder)}</dd>
          {asked.paths.length === 0 ? null : <><dt>{t("paths")}</dt><dd>{asked.paths.map((path) => <code key={path} className="path">{path}</code>)}</dd></>}
          {call?.judged === undefined || shown(call.judged.reason) === "" ? null : <><dt>{t("why")}</dt><dd><Quoted text={shown(call.judged.reason)} /></dd></>}
          <dt>{t("whatCanGoWrong")}</dt><dd><Quoted text={shown(asked.risk)} /></dd>
        </dl>
        {isScoping ? (
          <Scope grant={details?.grant ?? ""} folder={folder} agentName={agentName} isOff={isOff} onAllow={() => answer.decide("allow", GRANT_MINUTES)} onCancel={() => setIsScoping(false)} />
        ) : (
          <div className="ask-acts">
            <button className="btn" disabled={isOff} onClick={() => answer.decide("allow", null)}>{t("allow")}<kbd>Y</kbd></button>
            <button className="btn" disabled={isOff} onClick={() => answer.decide("deny", null)}>{t("deny")}<kbd>N</kbd></button>
            {details?.grant === undefined ? null : <button className="btn long" disabled={isOff} onClick={() => setIsScoping(true)}>{t("allowFor", { n: GRANT_MINUTES })}</button>}
            <span className="code-hint">{isOnline ? <>{t("orReply")} <code>{t("yesCode", { code: asked.code })}</code></> : t("answerWhenConnected")}</span>
          </div>
        )}
      </section>
    </>
  );
}

/** Whether keys are text for this element. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function whereText(t: Words["t"], call: CallState | undefined, folder: string): string {
  switch (call?.judged?.sandbox) {
    case "workspace": return t("whereSandbox", { folder });
    case "network": return t("whereSandboxNetwork", { folder });
    default: return t("whereOutside", { folder });
  }
}

/** What a timed answer would allow, before it is given. */
function Scope({ grant, folder, agentName, isOff, onAllow, onCancel }: { grant: string; folder: string; agentName: string; isOff: boolean; onAllow: () => void; onCancel: () => void }) {
  const { t } = useWords();
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  const until = clockTime(Date.now() + GRANT_MINUTES * 60_000);
  return (
    <div className="scope">
      <p>{t("scopeTitle", { time: until })}</p>
      <pre className="grant"><code>{grant}</code></pre>
      <p className="quiet">{t("scopeHere", { folder, agent: agentName })}</p>
      <div className="ask-acts">
        <button className="btn" disabled={isOff} onClick={onAllow}>{t("confirmScope", { time: until })}</button>
        <button className="btn plain" ref={first} onClick={onCancel}>{t("cancel")}</button>
      </div>
    </div>
  );
}

/** What the host says of the question besides its event: the difference it would make, and what could be allowed longer. */
function useDetails(approvalId: string): PendingApproval | null {
  const { connection } = useApp();
  const { sessionId } = useConversation();
  const isOnline = useIsOnline();
  const [details, setDetails] = useState<PendingApproval | null>(null);
  useEffect(() => {
    if (!isOnline) return;
    connection.call("list_approvals", { session: sessionId }).then(({ approvals }) => setDetails(approvals.find((it) => it.approvalId === approvalId) ?? null), () => {});
  }, [connection, sessionId, approvalId, isOnline]);
  return details;
}

function Countdown({ from, to }: { from: number; to: number }) {
  const { t } = useWords();
  const now = useNow(true);
  const left = Math.max(0, to - now);
  const share = to === from ? 0 : (left / (to - from)) * 100;
  return (
    <span className="left">
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><circle className="track" cx="7" cy="7" r="5.5" /><circle className="arc" cx="7" cy="7" r="5.5" pathLength="100" strokeDasharray={`${share} 100`} transform="rotate(-90 7 7)" /></svg>
      <span>{left === 0 ? t("expired") : t("expiresIn", { time: stopwatch(left) })}</span>
    </span>
  );
}

/** Sends an answer once; the id is kept, so that sending it again after a loss answers nothing twice. */
function useAnswer(approvalId: string): { isSent: boolean; decide: (decision: "allow" | "deny", forMinutes: number | null) => void } {
  const { connection, announcer } = useApp();
  const { sessionId } = useConversation();
  const [isSent, setIsSent] = useState(false);
  const decideId = useRef(newId());
  return {
    isSent,
    decide: (decision, forMinutes) => {
      setIsSent(true);
      const body = { approval: approvalId, session: sessionId, decideId: decideId.current, decision, ...(forMinutes === null ? {} : { forMinutes }) };
      connection.follow("decide_approval", body, () => {}).done.catch((error: unknown) => {
        setIsSent(false);
        if (!(error instanceof ConnectionLost)) announcer.fail(error);
      });
    },
  };
}
