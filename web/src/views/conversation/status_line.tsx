// Agent, model, how full the context is, and what the session has cost.
import { sessionCost } from "../../log/activity";
import { AgentLabel } from "../../parts/agent_label";
import { useHouse, useWords } from "../../parts/app_context";
import { money, short } from "../../words/format";
import { useConversation, useLog } from "./session_context";

/** From here on the bar asks for attention: a summary is near. */
const FULL_FROM = 0.8;

export function StatusLine() {
  const { t } = useWords();
  const { agentName, agentEmoji } = useConversation();
  const log = useLog();
  const { models } = useHouse();
  const used = models?.models.find((model) => model.used);
  const window = log.contextWindow ?? used?.contextWindow ?? null;
  const cost = sessionCost(log);
  const tokens = log.turns.reduce((sum, { usage }) => sum + usage.input + usage.output + usage.cacheRead + usage.cacheWrite, 0);
  return (
    <dl className="status">
      <div className="no-phone"><dt>{t("agent")}</dt><dd><AgentLabel name={agentName} emoji={agentEmoji} /></dd></div>
      <div><dt>{t("model")}</dt><dd className="clip">{used?.name ?? "–"}</dd></div>
      {window === null ? null : <div><dt>{t("context")}</dt><dd><ContextBar used={log.contextUsed} window={window} /><span>{short(log.contextUsed)} / {short(window)}</span></dd></div>}
      <div className="push"><dt>{t("session")}</dt><dd>{cost === null ? (tokens === 0 ? money(0) : <span title={t("unknownPrice")}>{t("tokens", { n: short(tokens) })}</span>) : money(cost)}</dd></div>
    </dl>
  );
}

function ContextBar({ used, window }: { used: number; window: number }) {
  const { t } = useWords();
  const share = Math.min(1, used / window);
  return (
    <svg className={share >= FULL_FROM ? "bar full" : "bar"} viewBox="0 0 88 6" role="img" aria-label={t("percentUsed", { n: Math.round(share * 100) })}>
      <rect className="all" width="88" height="6" rx="1.5" /><rect className="used" width={share * 88} height="6" rx="1.5" /><rect className="edge" x={FULL_FROM * 88} width="1.5" height="6" />
    </svg>
  );
}
