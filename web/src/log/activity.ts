// What a session is doing at this moment, for the live line and the thread list. Pure.
import type { CallState, Live, Log, RequestState, Session } from "./state";

export type Activity =
  | { kind: "idle" }
  | { kind: "asking" }
  | { kind: "thinking" }
  | { kind: "answering" }
  | { kind: "preparing"; tool: string }
  | { kind: "running"; call: CallState }
  | { kind: "waitingForPerson"; nApprovals: number }
  | { kind: "waitingForModel"; request: RequestState }
  | { kind: "stopping" };

export function activityOf({ log, live }: Session): Activity {
  if (!log.isTurnOpen) return { kind: "idle" };
  if (log.isCancelling) return { kind: "stopping" };
  const running = runningCalls(log).at(-1);
  if (running !== undefined) return { kind: "running", call: running };
  const nApprovals = pendingApprovals(log).length;
  if (nApprovals > 0) return { kind: "waitingForPerson", nApprovals };
  const request = log.requests.at(-1);
  if (request?.failed !== undefined && request.answer === undefined) return { kind: "waitingForModel", request };
  return answering(live);
}

function answering(live: Live): Activity {
  const block = live.blocks.at(-1);
  if (live.requestId === null || block === undefined) return { kind: "asking" };
  if (block.kind === "call") return { kind: "preparing", tool: block.tool ?? "" };
  return { kind: block.kind === "thinking" ? "thinking" : "answering" };
}

/** Calls of the open turn that have begun and not ended. */
export function runningCalls(log: Log): CallState[] {
  const answer = [...log.calls.values()].at(-1)?.answerId;
  const calls = [...log.calls.values()].filter((call) => call.answerId === answer);
  return calls.filter((call) => call.started !== undefined && call.result === undefined);
}

/** Questions that still wait for a person, the oldest first. */
export function pendingApprovals(log: Log): import("./state").ApprovalState[] {
  return [...log.approvals.values()].filter(({ asked, decided }) => decided === undefined && log.calls.get(asked.callId)?.result === undefined);
}

/** Whether messages wait because the last turn did not end well. */
export function isQueueHeld(log: Log): boolean {
  const end = log.turns.at(-1)?.end;
  return !log.isTurnOpen && log.followUps.length > 0 && end !== undefined && end.reason !== "done";
}

/** Money of the whole session in micro-USD; `null` if no price is known. */
export function sessionCost(log: Log): number | null {
  const costs = log.turns.map((turn) => turn.usage.costMicros).filter((cost) => cost !== undefined);
  return costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
}
