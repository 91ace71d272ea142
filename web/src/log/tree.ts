// The turns of a session as a tree, one row each, with the lines that connect them. Pure.
import type { EventId } from "../wire/types";
import { pathTo } from "./entries";
import type { Log, TurnState } from "./state";
import { firstLine, plainText, plainTitle } from "./text";

/** Further lanes are drawn in the last one. */
const LANES_MAX = 4;

export interface TreeRow {
  turn: TurnState;
  text: string;
  lane: number;
  /** Lanes whose line passes by this row. */
  passing: readonly number[];
  /** The lane it comes from; `null` at the root. */
  from: number | null;
  /** Whether its own line goes on below. */
  continues: boolean;
  isOnPath: boolean;
  isLast: boolean;
}

/** Rows from the first turn down. Other branches stand before the turn with which the path goes on. */
export function treeRows(log: Log): TreeRow[] {
  const path = new Set(pathTo(log).map((event) => event.id));
  const children = new Map<number, TurnState[]>();
  for (const turn of log.turns) {
    const parent = parentTurn(log, turn);
    children.set(parent, [...(children.get(parent) ?? []), turn]);
  }
  const rows: TreeRow[] = [];
  const visit = (turn: TurnState, lane: number, from: number | null, passing: readonly number[]): void => {
    const { main, others } = split(children.get(turn.number) ?? [], path);
    rows.push({
      turn,
      text: textOf(log, turn.messageId),
      lane,
      passing,
      from,
      continues: main !== undefined,
      isOnPath: path.has(turn.messageId),
      isLast: false,
    });
    for (const other of others) visit(other, Math.min(lane + 1, LANES_MAX - 1), lane, [...passing, lane]);
    if (main !== undefined) visit(main, lane, lane, passing);
  };
  const roots = split(children.get(0) ?? [], path);
  for (const root of roots.others) visit(root, 0, null, []);
  if (roots.main !== undefined) visit(roots.main, 0, null, []);
  const last = rows.findLastIndex((row) => row.isOnPath);
  return rows.map((row, index) => ({ ...row, isLast: index === last }));
}

function split(turns: readonly TurnState[], path: ReadonlySet<EventId>): { main: TurnState | undefined; others: TurnState[] } {
  const main = turns.find((turn) => path.has(turn.messageId)) ?? turns.at(-1);
  return { main, others: turns.filter((turn) => turn !== main) };
}

/** The turn in which the message's parent stands; 0 at the root. */
function parentTurn(log: Log, turn: TurnState): number {
  let id = log.byId.get(turn.messageId)?.parentId ?? null;
  while (id !== null) {
    const number = log.turnOf.get(id);
    if (number !== undefined && number !== turn.number) return number;
    id = log.byId.get(id)?.parentId ?? null;
  }
  return 0;
}

function textOf(log: Log, id: EventId): string {
  const event = log.byId.get(id);
  return event?.type === "user_message" ? plainTitle(firstLine(plainText(event.message.content))) : "";
}

/** The last event of the branch that begins with this one, following the newest children. */
export function tipOf(log: Log, id: EventId): EventId {
  let tip = id;
  for (;;) {
    const next = log.children.get(tip)?.at(-1);
    if (next === undefined) return tip;
    tip = next;
  }
}
