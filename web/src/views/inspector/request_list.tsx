// The requests of a session by turn, each with the share that is the same as in the one before.
import { causeOf, requestGroups } from "../../log/inspect";
import type { Log, RequestState } from "../../log/state";
import { firstLine, plainText } from "../../log/text";
import { useWords } from "../../parts/app_context";
import type { RequestExplanation } from "../../wire/calls";
import { percent } from "../../words/format";
import { Plots } from "./plots";

interface RequestListProps {
  log: Log;
  chosen: number;
  explained: ReadonlyMap<string, RequestExplanation>;
  onChoose: (index: number) => void;
}

export function RequestList({ log, chosen, explained, onChoose }: RequestListProps) {
  const { t } = useWords();
  const textOf = (turn: number): string => {
    const event = log.byId.get(log.turns[turn - 1]?.messageId ?? "");
    return event?.type === "user_message" ? firstLine(plainText(event.message.content), 80) : "";
  };
  const groups = requestGroups(log, textOf);
  return (
    <nav className="requests" aria-label={t("requests")}>
      {log.requests.length === 0 ? <p className="nothing">{t("noRequests")}</p> : (
        <>
          <Plots requests={log.requests} chosen={chosen} onChoose={onChoose} />
          <div className="list-head"><span>{t("request")}</span><span>{t("cacheStable")}</span></div>
          <div className="request-list" tabIndex={0} role="region" aria-label={t("requestsByTurn")}>
            {groups.map((group) => (
              <section key={group.requests[0]!.number}>
                <h2><span>{t("turnNumber", { n: group.turn })}</span><span className="clip">{group.text}</span>{group.isOnPath ? null : <span className="quiet">{t("otherBranchShort")}</span>}</h2>
                <ul>{group.requests.map(({ number, request }) => <li key={number}><Row log={log} number={number} request={request} isChosen={number - 1 === chosen} explanation={explained.get(request.asked.requestId)} onChoose={() => onChoose(number - 1)} /></li>)}</ul>
              </section>
            ))}
          </div>
        </>
      )}
    </nav>
  );
}

interface RowProps { log: Log; number: number; request: RequestState; isChosen: boolean; explanation: RequestExplanation | undefined; onChoose: () => void }

function Row({ log, number, request, isChosen, explanation, onChoose }: RowProps) {
  const { t } = useWords();
  const cause = causeOf(log, number - 1);
  const told = t(cause.key, cause.params);
  const isLost = request.answer === undefined && request.usage === undefined && !(log.isTurnOpen && number === log.requests.length);
  const share = stableShare(explanation);
  return (
    <button className="request" aria-current={isChosen ? "true" : undefined} onClick={onChoose}>
      <span className="no">{number}</span>
      <span className={isLost ? "clip bad" : "clip"}>{isLost ? t("sentNoAnswer") : cause.hasSteer ? t("withSteer", { cause: told }) : told}</span>
      <svg viewBox="0 0 52 4" preserveAspectRatio="none" role="img" aria-label={share === null ? t("nothingToCompare") : t("percentSame", { n: percent(share).slice(0, -1) })}>
        <rect className="same" width={(share ?? 0) * 52} height="4" /><rect className="new" x={(share ?? 0) * 52} width={(1 - (share ?? 0)) * 52} height="4" opacity={explanation === undefined ? 0.25 : 1} />
      </svg>
      <span className="num">{share === null ? "–" : percent(share)}</span>
    </button>
  );
}

export function stableShare(explanation: RequestExplanation | undefined): number | null {
  if (explanation?.change === undefined || explanation.bodyBytes === 0) return null;
  return explanation.change.stableBytes / explanation.bodyBytes;
}
