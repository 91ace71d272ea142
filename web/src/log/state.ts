// What the page knows of a session: its events, and what they say together.
//
// `Log` changes only with events, `Live` only with deltas. They are apart because a delta comes many times a second and
// nothing but the last answer depends on it.
import type {
  ApprovalDecided, ApprovalRequested, AssistantMessage, CallId, CallJudged, EventId, LogEvent, ModelFailed,
  ModelRequested, QueueItem, ResumeMode, SessionId, ToolCallBlock, ToolResult, ToolStarted, TurnEnded, Usage,
} from "../wire/types";

/** A call of a tool, from the answer that asks for it to its result. */
export interface CallState {
  block: ToolCallBlock;
  /** The answer that holds it. */
  answerId: EventId;
  judged?: CallJudged;
  started?: ToolStarted;
  result?: ToolResult;
  approvalId?: string;
}

export interface ApprovalState {
  asked: ApprovalRequested;
  decided?: ApprovalDecided;
}

/** A request to a model, and what came of it. */
export interface RequestState {
  asked: ModelRequested;
  /** From 1; 0 before the first turn. */
  turn: number;
  /** From 1 within its turn. */
  step: number;
  answer?: AssistantMessage;
  failed?: ModelFailed;
  usage?: Usage;
}

/** A turn: from a person's words until the agent rests. */
export interface TurnState {
  /** From 1, over all branches. */
  number: number;
  /** The message that began it. */
  messageId: EventId;
  startedAt: number;
  endedAt?: number;
  end?: TurnEnded;
  stepsMax: number;
  steps: number;
  usage: Usage;
  hasUnpriced: boolean;
  model: string;
  language: string;
}

export interface Log {
  sessionId: SessionId;
  events: readonly LogEvent[];
  byId: ReadonlyMap<EventId, LogEvent>;
  /** Children in the conversation tree, by parent; those of the root by the empty text. */
  children: ReadonlyMap<EventId | "", readonly EventId[]>;
  /** Control events that are shown, by the event of the tree after which they happened. */
  notes: ReadonlyMap<EventId | "", readonly LogEvent[]>;
  leaf: EventId | null;
  calls: ReadonlyMap<CallId, CallState>;
  approvals: ReadonlyMap<string, ApprovalState>;
  requests: readonly RequestState[];
  turns: readonly TurnState[];
  /** The turn of each message and answer. */
  turnOf: ReadonlyMap<EventId, number>;
  isTurnOpen: boolean;
  isCancelling: boolean;
  title: string | null;
  steers: readonly QueueItem[];
  followUps: readonly QueueItem[];
  contextWindow: number | null;
  contextUsed: number;
}

/** A block of an answer that is being made. */
export interface LiveBlock {
  kind: "text" | "thinking" | "call";
  text: string;
  callId?: CallId;
  tool?: string;
}

export interface Live {
  epoch: string | null;
  streamSeq: number;
  requestId: EventId | null;
  blocks: readonly LiveBlock[];
  /** The last lines that running calls have printed. */
  progress: ReadonlyMap<CallId, readonly string[]>;
  /** Text may be missing until the answer's event comes. */
  isIncomplete: boolean;
}

export interface Session {
  log: Log;
  live: Live;
  /** How the last subscription went on, when, and how many events it brought; for one line on the page. */
  resumed: { mode: ResumeMode; nEvents: number; at: number } | null;
  /** Whether everything that the log held at the start has come. */
  isLoaded: boolean;
  /** The session could not go on; it is opened again by the host. */
  failure: string | null;
  movedTo: SessionId | null;
  isRemoved: boolean;
}

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function emptySession(sessionId: SessionId): Session {
  return {
    log: {
      sessionId,
      events: [],
      byId: new Map(),
      children: new Map(),
      notes: new Map(),
      leaf: null,
      calls: new Map(),
      approvals: new Map(),
      requests: [],
      turns: [],
      turnOf: new Map(),
      isTurnOpen: false,
      isCancelling: false,
      title: null,
      steers: [],
      followUps: [],
      contextWindow: null,
      contextUsed: 0,
    },
    live: { epoch: null, streamSeq: 0, requestId: null, blocks: [], progress: new Map(), isIncomplete: false },
    resumed: null,
    isLoaded: false,
    failure: null,
    movedTo: null,
    isRemoved: false,
  };
}

export function lastSeq(session: Session): number {
  return session.log.events.at(-1)?.seq ?? 0;
}
