// Every call the page makes, with its body and its answer, so that a misspelt name or field does not compile.
import type { CallErrorBody, EventId, LogEvent, QueueName, SessionId, Usage } from "./types";

export type { CallErrorBody };

export type SessionStateName = "idle" | "running" | "waiting" | "readOnly";
export interface SessionRow {
  sessionId: SessionId;
  threadId: string | null;
  agentId: string | null;
  title: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  events: number;
  leaf: EventId | null;
  cwd?: string | null;
  /** The folder of its project. */
  project?: string | null;
  state: SessionStateName;
}
export interface ThreadRow {
  threadId: string;
  audience: "owner" | "shared" | "peer";
  sessionId: SessionId;
  title: string | null;
  updatedAt: string | null;
  pendingApprovals: string[];
}
export interface ModelRow {
  name: string;
  used: boolean;
  source: "settings" | "environment" | "builtin";
  model: string;
  wire: string | null;
  server: string | null;
  keyVariable: string | null;
  hasKey: boolean;
  contextWindow: number | null;
  contextWindowFrom: string;
  price: unknown;
  priceFrom: string;
}
export interface ModelList { models: ModelRow[]; reason: string; tableDate: string; found: { name: string; baseUrl: string; models: string[]; settings: string }[] }
export interface ScriptRow {
  scriptRef: string | null;
  path: string;
  title?: string;
  records?: number;
  lastUsedAt?: string;
  error?: { line?: number; message: string };
}
export interface ProjectRow {
  name: string;
  path: string;
  /** `used`: a session began in this folder, which is in no registered one. */
  kind: "house" | "registered" | "used";
  exists: boolean;
  sessions: number;
  updatedAt?: string;
}
export interface DirectoryRow { name: string; path: string; isProject: boolean; isRepository: boolean }
export interface DirectoryList { path: string; parent?: string; directories: DirectoryRow[]; isCut: boolean }
export interface GrantView {
  grantId: string;
  agentId: string;
  workspace: string;
  argvPrefix?: string[];
  path?: string;
  grantedBy: string;
  grantedAt: string;
  expiresAt: string;
}
export interface PendingApproval {
  approvalId: string;
  code: string;
  sessionId: SessionId;
  threadId: string;
  tool: string;
  summary: string;
  command?: string;
  paths: string[];
  risk: string;
  /** What would change in a file. */
  diff?: string;
  /** The command or path that may also be allowed for a while; absent where only a single yes is safe. */
  grant?: string;
  expiresAt: number;
  question: string;
}
export interface CostSum { nRequests: number; usage: Usage; nUnpriced: number; nEstimated: number }
export interface DoctorCheck { name: string; state: "ok" | "warn" | "fail"; detail: string; fix?: string }
export interface MessageReply {
  answer: { sessionId: SessionId; threadId: string; leaf: EventId | null; text: string; end: string; pendingApprovals: string[] };
  outcome: "answered" | "cancelled" | "withdrawn" | { stopped: string } | { failed: string };
}
export interface QueuedMessage { id: string; content: string; createdAt: number; updatedAt: number }

export type SourceView =
  | { section: { name: string; files: string[] } }
  | { tool: { name: string } }
  | { event: { id: EventId; eventType: string } }
  | "runtime";
export interface SpanView { start: number; end: number; source: SourceView }
export type PartChange = { added: { source: SourceView } } | { replaced: { before: SourceView; now: SourceView } } | { removed: { source: SourceView } };
export type ChangeCause = "continued" | "branched" | "compacted" | "otherModel" | "otherPurpose" | "unexplained";
export interface RequestExplanation {
  sessionId: SessionId;
  requestId: EventId;
  at: number;
  turn: number;
  purpose: "turn" | "compact";
  provider: string;
  model: string;
  wire: string;
  bodyBytes: number;
  bodySha256: string;
  proof: "same" | "different" | "otherRenderer" | "blobLost";
  spans: SpanView[];
  change?: { requestBefore: EventId; stableBytes: number; cause: ChangeCause; first?: PartChange };
  usage?: Usage;
  body?: string;
}
export interface SessionHeader {
  sessionId: SessionId;
  agentId: string;
  threadId: string;
  createdAt: number;
  cwd: string;
  clonedFrom?: { sessionId: SessionId; eventId: EventId };
  meta: { title?: string; priming?: { scriptRefs: string[]; showInUi: boolean } };
}
export interface SnapshotSource { sourceType: string; path?: string; chars?: number; injectedChars?: number }
export interface PromptView {
  systemPrompt: string;
  snapshot: { cwd: string; sections: { kind: string; sources?: SnapshotSource[]; renderedBlock: string }[] };
}

export interface SendMessage {
  clientMessageId: string;
  text: string;
  agentId?: string;
  threadId: string;
  target: "current" | "new" | { session: SessionId };
  cwd: string;
  model?: string;
  expects: { provider: string; model: string; server?: string };
  expectedLeaf?: EventId | "start";
  runningBehavior?: QueueName;
  attachments?: { name: string; data: string }[];
}
export type QueueChange =
  | { replace: { itemId: string; updatedAt: number; text: string } }
  | { remove: { itemId: string; updatedAt?: number } }
  | { move: { itemId: string; updatedAt?: number; to: number } };

/** Calls by name: what is asked and what is answered. */
export interface Calls {
  list_threads: { body: { agentId?: string }; answer: { threads: ThreadRow[] } };
  list_sessions: { body: { agentId?: string }; answer: { sessions: SessionRow[] } };
  list_thread_sessions: { body: { agentId?: string; thread: string }; answer: { sessions: SessionId[] } };
  read_events: { body: { session: SessionId; after: number; limit: number }; answer: { events: LogEvent[]; nextAfter?: number } };
  read_blob: { body: { sha256: string; offset: number }; answer: { bytes: number; data: string; nextOffset?: number } };
  search_sessions: { body: { query: string; limit: number }; answer: { hits: { sessionId: SessionId; eventId: EventId; text: string; ts: string }[] } };
  rename_session: { body: { session: SessionId; title: string }; answer: { sessionId: SessionId; title: string } };
  describe_session: { body: { session: SessionId }; answer: { sessionId: SessionId; title: string | null; files: number; bytes: number } };
  remove_session: { body: { session: SessionId }; answer: { removed: string[] } };
  create_dialog: {
    body: { sessionId: SessionId; agentId?: string; threadId: string; cwd: string; priming?: { scriptRefs: string[]; showInUi: boolean } };
    answer: { sessionId: SessionId; threadId: string; primed: number };
  };
  branch_session: { body: { session: SessionId; to: string; expectedLeaf?: string; branchId: EventId }; answer: { sessionId: SessionId; leaf: EventId | null } };
  clone_session: { body: { session: SessionId; at?: string; cloneId: SessionId }; answer: { sessionId: SessionId; leaf: EventId | null } };
  cancel_turn: { body: { session: SessionId; cancelId: EventId }; answer: { sessionId: SessionId; wasRunning: boolean } };
  edit_queue: { body: { session: SessionId; editId: EventId; queue: QueueName; change: QueueChange }; answer: { sessionId: SessionId; queue: QueuedMessage[] } };
  take_next: { body: { session: SessionId; takeId: EventId }; answer: { sessionId: SessionId; hasBegun: boolean; queue: QueuedMessage[] } };
  list_approvals: { body: { session?: SessionId }; answer: { approvals: PendingApproval[] } };
  list_grants: { body: Record<string, never>; answer: { grants: GrantView[] } };
  revoke_grant: { body: { grant: string }; answer: { grantId: string } };
  list_models: { body: Record<string, never>; answer: ModelList };
  use_model: { body: { name: string }; answer: { name: string; before: string | null; file: string; added?: string } };
  list_scripts: { body: { agentId?: string; query?: string }; answer: { scripts: ScriptRow[] } };
  show_script: { body: { scriptRef: string }; answer: { scriptRef: string; path: string; script: unknown; text: string } };
  export_script: { body: { session: SessionId }; answer: { records: number; text: string } };
  save_script: {
    body: { session: SessionId; slug: string; agentId?: string; title?: string; shared?: boolean; overwrite?: boolean };
    answer: { scriptRef: string; path: string; records: number };
  };
  explain_identity: { body: { agentId?: string }; answer: { name: string; role: string | null; emoji: string | null } };
  get_prompt: { body: { agentId?: string; audience: "owner"; cwd: string }; answer: PromptView };
  explain_request: { body: { session: SessionId; turn?: number; request?: EventId; withBody: boolean }; answer: RequestExplanation };
  sum_costs: { body: { by: "day" | "model" | "thread" }; answer: { rows: { name: string; sum: CostSum }[]; total: CostSum } };
  check_house: { body: { agentId?: string; cwd: string }; answer: { checks: DoctorCheck[] } };
  list_projects: { body: Record<string, never>; answer: { projects: ProjectRow[] } };
  register_project: { body: { path: string }; answer: { path: string; isNew: boolean } };
  remove_project: { body: { path: string }; answer: { path: string } };
  list_directories: { body: { path?: string; hidden?: boolean }; answer: DirectoryList };
  list_repositories: { body: Record<string, never>; answer: { repositories: { path: string; trustedAt: string }[] } };
  trust_repository: { body: { path: string }; answer: { path: string } };
  distrust_repository: { body: { path: string }; answer: { path: string } };
}

/** Calls whose answer comes after any number of items. */
export interface Follows {
  send_message: { body: SendMessage; item: unknown; answer: MessageReply };
  retry_turn: { body: { session: SessionId; retryId: EventId }; item: unknown; answer: MessageReply };
  decide_approval: {
    body: { approval: string; session: SessionId; decideId: EventId; decision: "allow" | "deny"; forMinutes?: number; reason?: string };
    item: unknown;
    answer: { approvalId: string; decision: "allow" | "deny"; grant?: GrantView };
  };
  compact_session: { body: { session: SessionId; compactId: EventId }; item: unknown; answer: { tokensBefore: number; tokensAfter: number } };
  export_session: { body: { session: SessionId }; item: { header: { header: SessionHeader; title: string | null } } | { event: LogEvent }; answer: unknown };
  subscribe: { body: { to: { session: SessionId }; from: import("./types").ResumePoint }; item: import("./types").SubscriptionItem; answer: { reason: string } };
  follow_house: { body: { resumes?: boolean }; item: { someMissed: boolean; threads: { agentId: string; threadId: string; sessionId: SessionId }[] }; answer: { reason: string } };
}

export type CallName = keyof Calls;
export type FollowName = keyof Follows;
