// Tells screen readers what matters, and nothing more: an answer is complete, an approval is asked, a turn failed.
import { useEffect, useRef } from "react";
import { pendingApprovals } from "../../log/activity";
import { shown } from "../../log/text";
import { useApp, useWords } from "../../parts/app_context";
import { useConversation } from "./session_context";

export function useTold(): void {
  const { announcer } = useApp();
  const { t } = useWords();
  const { feed } = useConversation();
  const known = useRef<{ approvals: Set<string>; ends: number } | null>(null);
  useEffect(() => {
    known.current = null;
    return feed.subscribe(() => {
      const { log, isLoaded } = feed.current();
      if (!isLoaded) return;
      const approvals = pendingApprovals(log);
      const ends = log.turns.filter((turn) => turn.end !== undefined).length;
      const before = known.current;
      known.current = { approvals: new Set(approvals.map((it) => it.asked.approvalId)), ends };
      if (before === null) return;
      const asked = approvals.find((it) => !before.approvals.has(it.asked.approvalId));
      if (asked !== undefined) announcer.readOut(t("approvalAsked", { summary: shown(asked.asked.summary) }));
      else if (ends > before.ends) announcer.readOut(t(log.turns.at(-1)?.end?.reason === "done" ? "endOfConversation" : "endedFailed"));
    });
  }, [announcer, feed, t]);
}
