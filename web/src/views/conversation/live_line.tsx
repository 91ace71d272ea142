// What runs: one line above the composer, of fixed height, so that nothing shifts.
import { callLine } from "../../log/call_line";
import { type Activity, activityOf, pendingApprovals } from "../../log/activity";
import type { Session } from "../../log/state";
import { useNow } from "../../parts/clock";
import { useIsOnline, useWords, type Words } from "../../parts/app_context";
import { money, short, stopwatch } from "../../words/format";
import { useConversation, useSession } from "./session_context";

export function LiveLine({ onJump }: { onJump: (approvalId: string) => void }) {
  const session = useSession();
  const isOnline = useIsOnline();
  const activity = activityOf(session);
  if (activity.kind === "idle") return null;
  return (
    <div className="dock-row live">
      <span className="mark"><span className={activity.kind === "waitingForPerson" || !isOnline ? "ring still" : "ring"} /></span>
      <What activity={activity} isOnline={isOnline} />
      <Figures session={session} onJump={onJump} />
    </div>
  );
}

function What({ activity, isOnline }: { activity: Activity; isOnline: boolean }) {
  const { t } = useWords();
  if (activity.kind === "running") {
    return <span className="what"><span>{t(isOnline ? "callRunning" : "wasRunning")}</span><code className="clip">{callLine(activity.call).target}</code></span>;
  }
  if (activity.kind === "preparing") return <span className="what"><span>{t("callPreparing")}</span><code className="clip">{activity.tool}</code></span>;
  return <span className="what"><span>{isOnline ? activityText(t, activity) : t("wasRunning")}</span></span>;
}

export function activityText(t: Words["t"], activity: Activity): string {
  switch (activity.kind) {
    case "idle": return "";
    case "asking": return t("asking");
    case "thinking": return t("thinking");
    case "answering": return t("answering");
    case "preparing":
    case "running": return t("running");
    case "waitingForPerson": return t("callWaits");
    case "waitingForModel": return t("waitingForModel");
    case "stopping": return t("stopping");
  }
}

function Figures({ session: { log }, onJump }: { session: Session; onJump: (approvalId: string) => void }) {
  const { t } = useWords();
  const { actions } = useConversation();
  const isOnline = useIsOnline();
  const now = useNow(isOnline);
  const turn = log.turns.at(-1);
  const approvals = pendingApprovals(log);
  if (turn === undefined) return null;
  const { usage } = turn;
  return (
    <span className="facts-line">
      {approvals.length === 0 ? null : <button className="jump" onClick={() => onJump(approvals[0]!.asked.approvalId)}>{t("approvalsWaiting", { n: approvals.length })}</button>}
      {turn.stepsMax === 0 ? null : <span className="no-phone">{t("stepOf", { n: Math.max(1, turn.steps), max: turn.stepsMax })}</span>}
      <span className="no-phone">{t("tokensOut", { n: short(usage.output) })}</span>
      {usage.costMicros === undefined ? null : <span className="no-phone">{money(usage.costMicros)}</span>}
      <span className="time">{stopwatch(now - turn.startedAt)}</span>
      <button className="btn compact" disabled={!isOnline || log.isCancelling} onClick={actions.stop}>{t("stop")}<kbd className="no-phone">Esc</kbd></button>
    </span>
  );
}
