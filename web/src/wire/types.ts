// The forms that travel between the page and the host: calls, their answers, and the events of a session.
//
// They repeat `crates/kith-host/src/calls` and `crates/kith-vocab/src/event` as far as the page reads them. What the
// page does not read it does not name; every event is kept whole, as it came.

export type EventId = string;
export type SessionId = string;
export type CallId = string;

/** A text of more than 64 KiB is named by its blob; its pages are read by `read_blob`. */
export interface BlobText {
  blob: string;
  bytes: number;
  preview: string;
}
export type Text = string | BlobText;

export interface TextBlock { type: "text"; text: Text }
export interface ThinkingBlock { type: "thinking"; text: Text; redacted?: Text }
export interface MediaBlock { type: "image" | "audio" | "file"; mediaType: string; blob: string; bytes: number; name?: string }
export interface ToolCallBlock {
  type: "tool_call";
  callId: CallId;
  tool: string;
  input?: Record<string, unknown>;
  inputBlob?: BlobText;
  rawInput?: Text;
}
export type Block = TextBlock | ThinkingBlock | MediaBlock | ToolCallBlock;

export interface Author { userId: string; displayName: string }
export interface IngressRef { platform: string; account: string; messageId: string; correlationId: string }
export type Trust = "owner" | "paired" | "shared" | "peer" | "untrusted";

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  costMicros?: number;
  isEstimate?: boolean;
}

export interface ModelRef { name: string; provider: string; wire: string; model: string; endpoint: string }

interface EventBase {
  seq: number;
  id: EventId;
  ts: number;
  clientId: string;
  ingressKey?: string;
  parentId?: EventId | null;
  sourceTag?: "priming_script" | "clone";
}

export interface UserMessage extends EventBase {
  type: "user_message";
  message: { content: Block[]; meta?: boolean };
  author: Author;
  trust: Trust;
  ingress?: IngressRef;
  queueItemId?: string;
  primed?: unknown;
}
export interface AssistantMessage extends EventBase {
  type: "assistant_message";
  requestId?: EventId;
  message: { content: Block[] };
  provider?: string;
  model?: string;
  usage?: Usage;
  stopReason: "end_turn" | "tool_call" | "cancelled" | "max_tokens" | "refusal" | "error";
  primed?: unknown;
}
export type ToolOutcome = "done" | "failed" | "refused" | "cancelled" | "interrupted";
export interface ToolResult extends EventBase {
  type: "tool_result";
  callId: CallId;
  tool: string;
  content: Block[];
  outcome: ToolOutcome;
  trust: Trust;
  fullOutput?: string;
  primed?: unknown;
}
export interface HarnessItem extends EventBase {
  type: "harness_item";
  item: { kind: string; origin: string; content: Text; visibility: "display" | "hidden" | "compact"; data?: unknown };
  trust: Trust;
  author?: Author;
  queueItemId?: string;
  mergedInto?: EventId;
  primed?: unknown;
}
export interface CompactEvent extends EventBase {
  type: "compact";
  requestId: EventId;
  model: string;
  usage: Usage;
  summary: Text;
  firstKeptEventId: EventId;
  tokensBefore: number;
  tokensAfter: number;
}
export interface PrimedRecord extends EventBase { type: "primed_record"; record: unknown }
export interface TurnStarted extends EventBase {
  type: "turn_started";
  limits: { steps: number; repeats: number; wallMs: number; tokens?: number; costMicros?: number };
  contextWindow: number;
  model: string;
  language: string;
  attended: boolean;
  models?: ModelRef[];
}
export type EndReason = "done" | "cancelled" | "failed" | "bound";
export type Bound = "steps" | "repeats" | "wall" | "tokens" | "cost";
export interface TurnEnded extends EventBase { type: "turn_ended"; reason: EndReason; bound?: Bound; steps: number; usage?: Usage }
export type QueueName = "follow_up" | "steer";
export interface QueueItem {
  id: string;
  content: Block[];
  createdAt: number;
  updatedAt: number;
  clientId: string;
  author: Author;
  ingress?: IngressRef;
  ingressKey?: string;
}
export interface QueueUpdate extends EventBase { type: "queue_update"; queue: QueueName; items: QueueItem[] }
export interface LeafMoved extends EventBase { type: "leaf_moved"; to: EventId | null; reason: "branch" | "silent" }
export interface TitleUpdated extends EventBase { type: "session_title_updated"; title: string; source: "user" | "generated" }
export interface ModelRequested extends EventBase {
  type: "model_requested";
  requestId: EventId;
  purpose: "turn" | "compact";
  provider: string;
  wire: string;
  model: string;
  bodySha256: string;
  bodyBytes: number;
}
export interface ModelFailed extends EventBase {
  type: "model_failed";
  requestId?: EventId;
  kind: string;
  message: Text;
  attempt: number;
  retryAt?: number;
  fallback?: string;
  usage?: Usage;
}
export interface CallJudged extends EventBase {
  type: "call_judged";
  callId: CallId;
  tool: string;
  effect: string;
  verdict: "allow" | "ask" | "deny";
  reason: Text;
  sandbox: "none" | "workspace" | "network";
  facts: Record<string, unknown>;
}
export interface ApprovalRequested extends EventBase {
  type: "approval_requested";
  approvalId: string;
  callId: CallId;
  threadId: string;
  code: string;
  summary: Text;
  command?: Text;
  paths: string[];
  digest: string;
  risk: Text;
  approvers: string[];
  expiresAt: number;
}
export interface GrantInLog { grantId: string; argvPrefix?: string[]; path?: string; host?: string; expiresAt: number }
export interface ApprovalDecided extends EventBase {
  type: "approval_decided";
  approvalId: string;
  decision: "allow" | "deny";
  by: string;
  via: "words" | "button" | "command" | "expiry" | "branch" | "cancel";
  grant?: GrantInLog;
  reason?: Text;
}
export interface ToolStarted extends EventBase { type: "tool_started"; callId: CallId; digest: string }
export interface Notice extends EventBase { type: "notice"; text: Text; level: "info" | "warn" | "error"; about?: string }
export interface CancelRequested extends EventBase { type: "cancel_requested"; by: string }
export interface Resumed extends EventBase { type: "resumed"; openRequest?: EventId; openCalls: CallId[] }
export interface LogRepaired extends EventBase { type: "log_repaired"; tornBytes: number; tornFile: string }

/** Events that the page keeps but reads nothing from. */
export interface OtherEvent extends EventBase {
  type:
    | "instruction_snapshot"
    | "toolset_snapshot"
    | "skill_index_snapshot"
    | "skill_index_delta"
    | "compact_requested"
    | "approval_replied"
    | "delegated"
    | "egress_intended"
    | "egress_settled";
}

export type LogEvent =
  | UserMessage | AssistantMessage | ToolResult | HarnessItem | CompactEvent | PrimedRecord
  | TurnStarted | TurnEnded | QueueUpdate | LeafMoved | TitleUpdated | ModelRequested | ModelFailed
  | CallJudged | ApprovalRequested | ApprovalDecided | ToolStarted | Notice | CancelRequested | Resumed | LogRepaired
  | OtherEvent;

export type TreeEvent = UserMessage | AssistantMessage | ToolResult | HarnessItem | CompactEvent | PrimedRecord;

export type DeltaKind = "text" | "thinking" | "toolName" | "toolInput" | "progress";
export interface AnswerDelta {
  streamSeq: number;
  requestId: EventId;
  block: number;
  callId?: CallId;
  kind: DeltaKind;
  text: string;
}
export type TurnItem = { event: LogEvent } | { delta: AnswerDelta } | { running: AnswerDelta[] };

export type ResumeMode = "stream_resume" | "persistent_fallback" | "full_reload";
export interface ResumePoint {
  sessionId?: SessionId;
  persistentLastSeq: number;
  epoch?: string;
  streamLastSeq?: number;
}
export type SubscriptionItem =
  | { started: { mode: ResumeMode; epoch: string; sessionId: SessionId | null; afterSeq: number } }
  | { turn: TurnItem }
  | { failed: string }
  | { moved: SessionId }
  | "removed";

export interface CallErrorBody {
  code: string;
  message: string;
  blame?: string;
  hints?: string[];
  line?: number;
  causes?: string[];
}
