// The turns as a tree, the files that the last turn changed, and what is allowed without asking.
import { useEffect, useMemo } from "react";
import { changesOf, toolOf } from "../../log/call_line";
import type { Log, TurnState } from "../../log/state";
import { languageOf } from "../../log/text";
import { type TreeRow, treeRows } from "../../log/tree";
import { useApp, useHouse, useIsOnline, useWords } from "../../parts/app_context";
import { useNow } from "../../parts/clock";
import { Icon } from "../../parts/icon";
import { money, short, stopwatch } from "../../words/format";
import { useConversation, useLog } from "./session_context";

export function TurnsPanel({ onHide, onShow }: { onHide: () => void; onShow: (eventId: string) => void }) {
  const { t } = useWords();
  const log = useLog();
  const rows = useMemo(() => treeRows(log), [log]);
  const files = useMemo(() => changedFiles(log), [log]);
  return (
    <aside className="panel" aria-label={t("turns")}>
      <div className="head"><h2>{t("turns")}</h2><button className="tool" aria-label={t("hidePanel")} title={`${t("hidePanel")} (T)`} onClick={onHide}><Icon name="panel" /></button></div>
      <div className="panel-body">
        {rows.length === 0 ? <p className="nothing">{t("noTurns")}</p> : <ul className="tree">{rows.map((row) => <li key={row.turn.number}><TurnRow row={row} onShow={onShow} /></li>)}</ul>}
        {files.length === 0 ? null : (
          <>
            <h3>{t("filesChanged")}</h3>
            <ul className="rows">{files.map((file) => <li key={file.path}><code className="clip" title={file.path}>{file.path}</code><span className="num"><span className="added">+{file.added}</span><span className="removed">−{file.removed}</span></span></li>)}</ul>
          </>
        )}
        <Grants />
      </div>
    </aside>
  );
}

const LANE_PX = 14;
const laneX = (lane: number): number => 10 + lane * LANE_PX;

function TurnRow({ row, onShow }: { row: TreeRow; onShow: (eventId: string) => void }) {
  const { actions } = useConversation();
  const isOff = !useIsOnline();
  const { turn, lane, from } = row;
  const x = laneX(lane);
  const width = laneX(Math.max(lane, ...row.passing, 1)) + 10;
  const show = (): void => (row.isOnPath ? onShow(turn.messageId) : isOff ? undefined : actions.switchBranch(turn.messageId));
  return (
    <button className={row.isOnPath ? "turn" : "turn other"} aria-current={row.isLast ? "true" : undefined} onClick={show}>
      <svg width={width} height="30" viewBox={`0 0 ${width} 30`} aria-hidden="true">
        {row.passing.map((it) => <path key={it} d={`M${laneX(it)} 0v30`} />)}
        {from === null ? null : from === lane ? <path d={`M${x} 0v15`} /> : <path d={`M${laneX(from)} 0c0 9 ${x - laneX(from)} 4 ${x - laneX(from)} 15`} />}
        {row.continues ? <path d={`M${x} 15v15`} /> : null}
        <circle className={row.isLast ? "now" : row.isOnPath ? "on" : "off"} cx={x} cy="15" r={row.isLast ? 3.4 : 3} />
      </svg>
      <span className="clip" lang={languageOf(row.text)}>{row.text}</span>
      <span className="num">{figureOf(turn)}</span>
    </button>
  );
}

/** The cost of a turn, else its tokens; nothing before its first answer. */
function figureOf({ usage }: TurnState): string {
  if (usage.costMicros !== undefined) return money(usage.costMicros);
  const tokens = usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
  return tokens === 0 ? "" : short(tokens);
}

/** Files that calls of the last turn have changed, each with the sum of its changes. */
function changedFiles(log: Log): { path: string; added: number; removed: number }[] {
  const files = new Map<string, { path: string; added: number; removed: number }>();
  for (const call of log.calls.values()) {
    if (call.result?.outcome !== "done" || log.turnOf.get(call.answerId) !== log.turns.length) continue;
    const changes = changesOf(call);
    const path = toolOf(call).input["path"];
    if (changes === null || typeof path !== "string") continue;
    const known = files.get(path) ?? { path, added: 0, removed: 0 };
    files.set(path, { path, added: known.added + changes.added, removed: known.removed + changes.removed });
  }
  return [...files.values()];
}

function Grants() {
  const { t } = useWords();
  const { connection, house, announcer } = useApp();
  const { grants } = useHouse();
  const log = useLog();
  const isOnline = useIsOnline();
  const now = useNow(grants.length > 0);
  const nDecided = useMemo(() => [...log.approvals.values()].filter((it) => it.decided?.grant !== undefined).length, [log]);
  useEffect(() => {
    if (nDecided > 0) void house.refreshGrants();
  }, [house, nDecided]);
  const open = grants.filter((grant) => Date.parse(grant.expiresAt) > now);
  if (open.length === 0) return null;
  return (
    <>
      <h3>{t("standingApprovals")}</h3>
      <ul className="rows">
        {open.map((grant) => (
          <li key={grant.grantId}>
            <code className="clip">{grant.argvPrefix?.join(" ") ?? grant.path ?? grant.workspace}</code>
            <span className="num">{stopwatch(Date.parse(grant.expiresAt) - now)} <button className="btn plain compact" disabled={!isOnline} onClick={() => void connection.call("revoke_grant", { grant: grant.grantId }).then(() => house.refreshGrants(), (error: unknown) => announcer.fail(error))}>{t("revoke")}</button></span>
          </li>
        ))}
      </ul>
    </>
  );
}
