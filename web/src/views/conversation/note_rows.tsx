// Quiet lines: reminders, notices, summaries, failures and ends of turns.
import { languageOf, firstLine, shown } from "../../log/text";
import { useNow } from "../../parts/clock";
import { useIsOnline, useWords } from "../../parts/app_context";
import { Fold } from "../../parts/fold";
import { Icon } from "../../parts/icon";
import { JsonView } from "../../parts/json_view";
import { Markdown } from "../../markdown/markdown";
import type { CompactEvent, HarnessItem, LogRepaired, ModelFailed, Notice, PrimedRecord, Resumed, TurnEnded } from "../../wire/types";
import { short } from "../../words/format";
import type { WordKey } from "../../words/words";
import { LongText } from "./long_text";
import { useConversation, useIsTurnOpen } from "./session_context";

const REMINDERS: Record<string, WordKey> = {
  attachment: "reminderAttachment",
  memory: "reminderMemory",
  date_change: "reminderDate",
  runtime_notice: "reminderNotice",
  channel_context: "reminderChannel",
};

export function ReminderRow({ event }: { event: HarnessItem }) {
  const { t } = useWords();
  const text = shown(event.item.content);
  const kind = REMINDERS[event.item.kind] ?? "reminderNotice";
  return (
    <>
      <span className="mark"><Icon name="note" /></span>
      <Fold id={event.id} line={<><span className="verb">{t("reminder")}</span><span className="gave clip">{t(kind)}: {firstLine(text)}</span></>}>
        <div className="thoughts"><LongText text={event.item.content}>{(whole) => <pre className="told" lang={languageOf(whole)}>{whole}</pre>}</LongText></div>
      </Fold>
    </>
  );
}

export function CompactRow({ event }: { event: CompactEvent }) {
  const { t } = useWords();
  return (
    <>
      <span className="mark"><Icon name="save" /></span>
      <Fold id={event.id} line={<span className="verb">{t("summarised", { before: short(event.tokensBefore), after: short(event.tokensAfter) })}</span>}>
        <div className="thoughts prose"><LongText text={event.summary}>{(whole) => <Markdown text={whole} />}</LongText></div>
      </Fold>
    </>
  );
}

export function PrimedRow({ event }: { event: PrimedRecord }) {
  const { t } = useWords();
  return (
    <>
      <span className="mark"><Icon name="note" /></span>
      <Fold id={event.id} line={<span className="verb">{t("primedRecord")}</span>}><JsonView value={event.record} /></Fold>
    </>
  );
}

export function NoticeRow({ event }: { event: Notice | Resumed | LogRepaired }) {
  const { t } = useWords();
  const text = event.type === "notice" ? shown(event.text) : event.type === "resumed" ? t("resumedLine") : t("repairedLine", { n: event.tornBytes });
  const level = event.type === "notice" ? event.level : "info";
  return (
    <>
      <span className="mark"><Icon name={level === "info" ? "note" : "alert"} className={level === "error" ? "bad" : level === "warn" ? "wait-icon" : ""} /></span>
      <div className="line"><span className={level === "error" ? "bad" : ""} lang={languageOf(text)}>{text}</span></div>
    </>
  );
}

const FAILURES: Record<string, WordKey> = {
  network: "modelFailedNetwork",
  status: "modelFailedStatus",
  loading: "modelFailedStatus",
  auth: "modelFailedAuth",
  timeout: "modelFailedTimeout",
  cut: "modelFailedCut",
  context_length: "modelFailedContext",
  budget: "modelFailedBudget",
};

export function FailureRow({ event, isPending }: { event: ModelFailed; isPending: boolean }) {
  const { t } = useWords();
  const isRetrying = isPending && event.retryAt !== undefined;
  const now = useNow(isRetrying);
  const left = Math.max(0, Math.ceil(((event.retryAt ?? 0) - now) / 1000));
  const line = (
    <>
      <span className={isPending ? "what" : "verb"}>{t(FAILURES[event.kind] ?? "modelFailedOther")}</span>
      <span className="gave clip">
        {isRetrying ? t("retryingIn", { n: left, attempt: event.attempt + 1 }) : event.fallback !== undefined ? t("fallbackUsed", { model: event.fallback }) : event.retryAt !== undefined ? t("triedAgain") : firstLine(shown(event.message))}
      </span>
    </>
  );
  return (
    <>
      <span className="mark"><Icon name="alert" /></span>
      <Fold id={event.id} line={line}><div className="thoughts"><pre className="told">{shown(event.message)}</pre></div></Fold>
    </>
  );
}

function endKey(event: TurnEnded): WordKey {
  if (event.reason === "cancelled") return "endedCancelled";
  if (event.reason === "failed") return "endedFailed";
  const bounds: Record<string, WordKey> = { steps: "endedSteps", repeats: "endedRepeats", wall: "endedWall", tokens: "endedTokens", cost: "endedCost" };
  return bounds[event.bound ?? ""] ?? "endedFailed";
}

export function EndedRow({ event, isLast }: { event: TurnEnded; isLast: boolean }) {
  const { t } = useWords();
  const { actions } = useConversation();
  const isTurnOpen = useIsTurnOpen();
  const isOnline = useIsOnline();
  return (
    <>
      <span className="mark"><Icon name={event.reason === "cancelled" ? "stop" : "alert"} /></span>
      <div className="line">
        <span className={event.reason === "cancelled" ? "quiet" : "what"}>{t(endKey(event), { n: event.steps })}</span>
        {isLast && !isTurnOpen ? <span className="num"><button className="btn compact" disabled={!isOnline} onClick={actions.retry}>{t("tryAgain")}</button></span> : null}
      </div>
    </>
  );
}
