// The lines of the conversation: what the log shows along the path from its root to its leaf. Pure.
import type {
  AssistantMessage, CompactEvent, EventId, HarnessItem, LogEvent, LogRepaired, ModelFailed, Notice, PrimedRecord, Resumed,
  Text, TreeEvent, TurnEnded, UserMessage,
} from "../wire/types";
import { isTreeEvent } from "./fold_events";
import type { ApprovalState, CallState, Log, TurnState } from "./state";
import { shown } from "./text";

export type Entry =
  | { kind: "said"; key: string; event: UserMessage; isLast: boolean }
  | { kind: "steer"; key: string; event: HarnessItem }
  | { kind: "reminder"; key: string; event: HarnessItem }
  | { kind: "thought"; key: string; event: AssistantMessage; text: Text }
  | { kind: "call"; key: string; call: CallState; isOpen: boolean }
  | { kind: "reads"; key: string; calls: readonly CallState[] }
  | { kind: "answer"; key: string; event: AssistantMessage; text: Text; foot: TurnState | null }
  | { kind: "compact"; key: string; event: CompactEvent }
  | { kind: "primed"; key: string; event: PrimedRecord }
  | { kind: "fork"; key: string; children: readonly EventId[]; index: number }
  | { kind: "notice"; key: string; event: Notice | Resumed | LogRepaired }
  | { kind: "failure"; key: string; event: ModelFailed; isPending: boolean }
  | { kind: "approval"; key: string; approval: ApprovalState }
  | { kind: "ended"; key: string; event: TurnEnded; isLast: boolean };

/** Calls that only look. Three or more neighbouring ones are one line. */
const READING_TOOLS = new Set(["read_file"]);
const READS_JOINED_MIN = 3;

/** The events from the root to the leaf. */
export function pathTo(log: Log, leaf: EventId | null = log.leaf): TreeEvent[] {
  const path: TreeEvent[] = [];
  let id = leaf;
  while (id !== null) {
    const event = log.byId.get(id);
    if (event === undefined || !isTreeEvent(event)) break;
    path.push(event);
    id = event.parentId ?? null;
  }
  return path.reverse();
}

export interface EntryOptions {
  /** Whether messages of priming scripts are left out. */
  hidesPrimed: boolean;
}

export function entriesOf(log: Log, options: EntryOptions): Entry[] {
  const path = pathTo(log).filter((event) => !(options.hidesPrimed && isPrimed(event)));
  const entries: Entry[] = [];
  const feet = footsOf(log, path);
  const lastSaid = path.findLast((event) => event.type === "user_message")?.id;
  pushNotes(log, "", entries);
  for (const event of path) {
    pushFork(log, event, entries);
    pushTree(log, event, entries, { foot: feet.get(event.id) ?? null, isLastSaid: event.id === lastSaid });
    pushNotes(log, event.id, entries);
  }
  return joinReads(entries);
}

function isPrimed(event: TreeEvent): boolean {
  if (event.sourceTag === "priming_script") return true;
  return event.sourceTag === "clone" && (event.type === "primed_record" || ("primed" in event && event.primed !== undefined));
}

/** The last answer with words of each finished turn, under which its time, steps and cost stand. */
function footsOf(log: Log, path: readonly TreeEvent[]): Map<EventId, TurnState> {
  const lastOf = new Map<number, EventId>();
  for (const event of path) {
    const turn = log.turnOf.get(event.id);
    if (turn !== undefined && event.type === "assistant_message" && hasWords(event)) lastOf.set(turn, event.id);
  }
  const feet = new Map<EventId, TurnState>();
  for (const [number, id] of lastOf) {
    const turn = log.turns[number - 1];
    if (turn?.end !== undefined) feet.set(id, turn);
  }
  return feet;
}

function hasWords(event: AssistantMessage): boolean {
  return event.message.content.some((block) => block.type === "text" && shown(block.text).trim() !== "");
}

function pushFork(log: Log, event: TreeEvent, entries: Entry[]): void {
  const children = log.children.get(event.parentId ?? "") ?? [];
  if (children.length < 2) return;
  entries.push({ kind: "fork", key: `fork-${event.id}`, children, index: children.indexOf(event.id) });
}

function pushTree(log: Log, event: TreeEvent, entries: Entry[], at: { foot: TurnState | null; isLastSaid: boolean }): void {
  const key = event.id;
  switch (event.type) {
    case "user_message":
      entries.push({ kind: "said", key, event, isLast: at.isLastSaid });
      return;
    case "assistant_message":
      pushAnswer(log, event, entries, at.foot);
      return;
    case "harness_item":
      if (event.item.kind === "steer") entries.push({ kind: "steer", key, event });
      else if (event.item.visibility !== "hidden") entries.push({ kind: "reminder", key, event });
      return;
    case "compact":
      entries.push({ kind: "compact", key, event });
      return;
    case "primed_record":
      entries.push({ kind: "primed", key, event });
      return;
    case "tool_result":
  }
}

function pushAnswer(log: Log, event: AssistantMessage, entries: Entry[], foot: TurnState | null): void {
  const { content } = event.message;
  const lastText = content.findLastIndex((block) => block.type === "text" && shown(block.text).trim() !== "");
  content.forEach((block, index) => {
    const key = `${event.id}-${index}`;
    if (block.type === "thinking") {
      if (shown(block.text).trim() !== "") entries.push({ kind: "thought", key, event, text: block.text });
    } else if (block.type === "text") {
      if (shown(block.text).trim() === "") return;
      const isLast = index === lastText;
      // The answer's own id is the place that links name.
      entries.push({ kind: "answer", key: isLast ? event.id : key, event, text: block.text, foot: isLast ? foot : null });
    } else if (block.type === "tool_call") {
      const call = log.calls.get(block.callId) ?? { block, answerId: event.id };
      const isOpen = log.isTurnOpen && log.turnOf.get(event.id) === log.turns.length;
      entries.push({ kind: "call", key: block.callId, call, isOpen });
    }
  });
}

function pushNotes(log: Log, after: EventId | "", entries: Entry[]): void {
  const notes = log.notes.get(after) ?? [];
  notes.forEach((event, index) => pushNote(log, event, entries, notes.slice(index + 1)));
}

function pushNote(log: Log, event: LogEvent, entries: Entry[], later: readonly LogEvent[]): void {
  const key = event.id;
  switch (event.type) {
    case "notice":
    case "resumed":
    case "log_repaired":
      entries.push({ kind: "notice", key, event });
      return;
    case "model_failed": {
      const isLast = log.events.findLast((it) => it.type === "model_failed" || it.type === "assistant_message" || it.type === "turn_ended") === event;
      entries.push({ kind: "failure", key, event, isPending: isLast && log.isTurnOpen });
      return;
    }
    case "approval_requested": {
      const approval = log.approvals.get(event.approvalId);
      if (approval !== undefined) entries.push({ kind: "approval", key, approval });
      return;
    }
    case "turn_ended": {
      if (event.reason === "done") return;
      // A turn that was taken up again has another end further down.
      const isSuperseded = later.some((it) => it.type === "turn_ended");
      if (!isSuperseded) entries.push({ kind: "ended", key, event, isLast: log.turns.at(-1)?.end === event });
      return;
    }
    default:
  }
}

function joinReads(entries: readonly Entry[]): Entry[] {
  const joined: Entry[] = [];
  let reads: Extract<Entry, { kind: "call" }>[] = [];
  const flush = (): void => {
    if (reads.length >= READS_JOINED_MIN) {
      joined.push({ kind: "reads", key: `reads-${reads[0]!.key}`, calls: reads.map((it) => it.call) });
    } else joined.push(...reads);
    reads = [];
  };
  for (const entry of entries) {
    if (entry.kind === "call" && READING_TOOLS.has(entry.call.block.tool) && entry.call.result?.outcome === "done") {
      reads.push(entry);
      continue;
    }
    flush();
    joined.push(entry);
  }
  flush();
  return joined;
}

/** Whether two entries show the same, so that a row need not be drawn again. */
export function isSameEntry(a: Entry, b: Entry): boolean {
  if (a.kind !== b.kind || a.key !== b.key) return false;
  const left = a as unknown as Record<string, unknown>;
  const right = b as unknown as Record<string, unknown>;
  return Object.keys(left).every((name) => {
    const [x, y] = [left[name], right[name]];
    if (Array.isArray(x) && Array.isArray(y)) return x.length === y.length && x.every((it, i) => it === y[i]);
    return x === y;
  });
}
