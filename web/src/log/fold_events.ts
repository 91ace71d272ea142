// Folds events into the log: the page's reading of what happened. Pure; the same events give the same log.
//
// One batch copies each table once, however many events it holds, so loading a session of thousands costs one copy.
import type {
  AssistantMessage, EventId, LogEvent, ModelFailed, ModelRequested, TreeEvent, TurnEnded, TurnStarted, Usage, UserMessage,
} from "../wire/types";
import { type ApprovalState, type CallState, type Log, NO_USAGE, type RequestState, type TurnState } from "./state";

const TREE_TYPES = new Set(["user_message", "assistant_message", "tool_result", "harness_item", "compact", "primed_record"]);
/** Control events that stand in the conversation. */
const NOTE_TYPES = new Set(["notice", "model_failed", "turn_ended", "approval_requested", "resumed", "log_repaired"]);

export function isTreeEvent(event: LogEvent): event is TreeEvent {
  return TREE_TYPES.has(event.type);
}

/** The tables of a log while a batch is folded into it. */
interface Draft extends Log {
  events: LogEvent[];
  byId: Map<EventId, LogEvent>;
  children: Map<EventId | "", readonly EventId[]>;
  notes: Map<EventId | "", readonly LogEvent[]>;
  calls: Map<string, CallState>;
  approvals: Map<string, ApprovalState>;
  requests: RequestState[];
  turns: TurnState[];
  turnOf: Map<EventId, number>;
}

/** Adds events that follow the last one. One that is known already, or leaves a gap, is not taken. */
export function foldEvents(log: Log, events: readonly LogEvent[]): Log {
  const draft: Draft = {
    ...log,
    events: [...log.events],
    byId: new Map(log.byId),
    children: new Map(log.children),
    notes: new Map(log.notes),
    calls: new Map(log.calls),
    approvals: new Map(log.approvals),
    requests: [...log.requests],
    turns: [...log.turns],
    turnOf: new Map(log.turnOf),
  };
  for (const event of events) {
    if (event.seq === (draft.events.at(-1)?.seq ?? 0) + 1) foldEvent(draft, event);
  }
  return draft;
}

function foldEvent(log: Draft, event: LogEvent): void {
  log.events.push(event);
  log.byId.set(event.id, event);
  if (isTreeEvent(event)) grow(log, event);
  else if (NOTE_TYPES.has(event.type)) push(log.notes, log.leaf ?? "", event);
  switch (event.type) {
    case "user_message": return foldMessage(log, event);
    case "assistant_message": return foldAnswer(log, event);
    case "tool_result": return changeCall(log, event.callId, { result: event });
    case "call_judged": return changeCall(log, event.callId, { judged: event });
    case "tool_started": return changeCall(log, event.callId, { started: event });
    case "compact":
      finishRequest(log, event.requestId, { usage: event.usage });
      addUsage(log, event.usage);
      log.contextUsed = event.tokensAfter;
      return;
    case "turn_started": return foldTurnStarted(log, event);
    case "turn_ended": return foldTurnEnded(log, event);
    case "model_requested": return foldRequest(log, event);
    case "model_failed": return foldFailure(log, event);
    case "approval_requested":
      log.approvals.set(event.approvalId, { asked: event });
      return changeCall(log, event.callId, { approvalId: event.approvalId });
    case "approval_decided": {
      const approval = log.approvals.get(event.approvalId);
      if (approval !== undefined) log.approvals.set(event.approvalId, { ...approval, decided: event });
      return;
    }
    case "queue_update":
      if (event.queue === "steer") log.steers = event.items;
      else log.followUps = event.items;
      return;
    case "leaf_moved":
      log.leaf = event.to;
      log.isTurnOpen = false;
      log.isCancelling = false;
      return;
    case "cancel_requested":
      log.isCancelling = log.isTurnOpen;
      return;
    case "session_title_updated":
      log.title = event.title;
      return;
    default:
  }
}

function grow(log: Draft, event: TreeEvent): void {
  push(log.children, event.parentId ?? "", event.id);
  log.leaf = event.id;
  if (log.isTurnOpen) log.turnOf.set(event.id, log.turns.length);
}

function push<K, V>(map: Map<K, readonly V[]>, key: K, value: V): void {
  map.set(key, [...(map.get(key) ?? []), value]);
}

/** What was primed or cloned obliges to nothing: it begins no turn. */
const isLived = (event: LogEvent): boolean => event.sourceTag === undefined;

function foldMessage(log: Draft, event: UserMessage): void {
  if (!isLived(event) || log.isTurnOpen) return;
  log.isTurnOpen = true;
  log.isCancelling = false;
  log.turns.push({
    number: log.turns.length + 1,
    messageId: event.id,
    startedAt: event.ts,
    stepsMax: 0,
    steps: 0,
    usage: NO_USAGE,
    hasUnpriced: false,
    model: "",
    language: "",
  });
  log.turnOf.set(event.id, log.turns.length);
}

function changeTurn(log: Draft, change: (turn: TurnState) => TurnState): void {
  const last = log.turns.length - 1;
  const turn = log.turns[last];
  if (turn !== undefined) log.turns[last] = change(turn);
}

function foldTurnStarted(log: Draft, event: TurnStarted): void {
  log.contextWindow = event.contextWindow;
  const { model, language, limits } = event;
  // Where no turn is open it takes up the last one again.
  if (!log.isTurnOpen && log.turns.length > 0) {
    log.isTurnOpen = true;
    log.isCancelling = false;
    changeTurn(log, ({ end: _, endedAt: __, ...turn }) => turn);
  }
  changeTurn(log, (turn) => ({ ...turn, model, language, stepsMax: limits.steps }));
}

function foldTurnEnded(log: Draft, event: TurnEnded): void {
  if (event.usage !== undefined) addUsage(log, event.usage);
  changeTurn(log, (turn) => ({ ...turn, end: event, endedAt: event.ts }));
  log.isTurnOpen = false;
  log.isCancelling = false;
}

function foldRequest(log: Draft, event: ModelRequested): void {
  if (!isLived(event)) return;
  const turn = log.isTurnOpen ? log.turns.length : 0;
  const number = turn === 0 ? log.turns.length : turn;
  if (event.purpose === "turn") changeTurn(log, (it) => ({ ...it, steps: it.steps + 1 }));
  const before = log.requests.at(-1);
  const step = before?.turn === number ? before.step + 1 : 1;
  log.requests.push({ asked: event, turn: number, step });
}

function finishRequest(log: Draft, requestId: EventId | undefined, change: Partial<RequestState>): void {
  const index = log.requests.findLastIndex((it) => it.asked.requestId === requestId);
  const request = log.requests[index];
  if (request !== undefined) log.requests[index] = { ...request, ...change };
}

function foldAnswer(log: Draft, event: AssistantMessage): void {
  for (const block of event.message.content) {
    if (block.type === "tool_call") log.calls.set(block.callId, { block, answerId: event.id });
  }
  if (!isLived(event)) return;
  const { usage } = event;
  finishRequest(log, event.requestId ?? event.id, { answer: event, ...(usage === undefined ? {} : { usage }) });
  if (usage === undefined) return;
  addUsage(log, usage);
  log.contextUsed = usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
}

function foldFailure(log: Draft, event: ModelFailed): void {
  const { usage } = event;
  finishRequest(log, event.requestId, { failed: event, ...(usage === undefined ? {} : { usage }) });
  if (usage !== undefined) addUsage(log, usage);
}

function addUsage(log: Draft, usage: Usage): void {
  changeTurn(log, (turn) => ({
    ...turn,
    usage: sumUsage(turn.usage, usage),
    hasUnpriced: turn.hasUnpriced || usage.costMicros === undefined,
  }));
}

export function sumUsage(a: Usage, b: Usage): Usage {
  const cost = (a.costMicros ?? 0) + (b.costMicros ?? 0);
  const isPriced = a.costMicros !== undefined || b.costMicros !== undefined;
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...(isPriced ? { costMicros: cost } : {}),
  };
}

function changeCall(log: Draft, callId: string, change: Partial<CallState>): void {
  const call = log.calls.get(callId);
  if (call !== undefined) log.calls.set(callId, { ...call, ...change });
}
