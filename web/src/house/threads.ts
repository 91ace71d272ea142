// The list of conversations: what it shows, in which groups, and what is unread. Pure.
import { firstLine, plainText, plainTitle } from "../log/text";
import type { ProjectRow, SessionRow, ThreadRow } from "../wire/calls";
import type { LogEvent } from "../wire/types";
import { baseName, dayGroup } from "../words/format";

export type Platform = "cli" | "web" | "telegram" | "feishu" | "peer" | "heartbeat" | "task";

export interface ThreadView {
  threadId: string;
  sessionId: string;
  agentId: string | null;
  title: string | null;
  platform: Platform;
  /** Milliseconds. */
  updatedAt: number;
  cwd: string | null;
  /** The folder of its project. */
  project: string | null;
  state: SessionRow["state"];
  nApprovals: number;
  nEvents: number;
  /** Its thread has a newer session. */
  isEarlier: boolean;
}

/** Threads whose sessions are conversations of their own: in a terminal each `/new` in a folder begins one. */
const WITH_EARLIER: readonly Platform[] = ["cli", "web"];

export function threadViews(threads: readonly ThreadRow[], sessions: ReadonlyMap<string, SessionRow>): ThreadView[] {
  const current = threads.map((thread): ThreadView => {
    const session = sessions.get(thread.sessionId);
    return {
      threadId: thread.threadId,
      sessionId: thread.sessionId,
      agentId: session?.agentId ?? null,
      title: shownTitle(thread.title ?? session?.title ?? null),
      platform: platformOf(thread.threadId),
      updatedAt: Date.parse(thread.updatedAt ?? session?.updatedAt ?? session?.createdAt ?? "") || 0,
      cwd: session?.cwd ?? null,
      project: session?.project ?? null,
      state: session?.state ?? "idle",
      nApprovals: thread.pendingApprovals.length,
      nEvents: session?.events ?? 0,
      isEarlier: false,
    };
  });
  return [...current, ...earlierViews(current, sessions)];
}

function earlierViews(current: readonly ThreadView[], sessions: ReadonlyMap<string, SessionRow>): ThreadView[] {
  const listed = new Set(current.map((it) => it.sessionId));
  const byThread = new Map(current.filter((it) => WITH_EARLIER.includes(it.platform)).map((it) => [`${it.agentId} ${it.threadId}`, it]));
  return [...sessions.values()].flatMap((session): ThreadView[] => {
    const thread = byThread.get(`${session.agentId} ${session.threadId}`);
    if (thread === undefined || listed.has(session.sessionId) || session.events === 0) return [];
    const updatedAt = Date.parse(session.updatedAt ?? session.createdAt ?? "") || 0;
    return [{ ...thread, sessionId: session.sessionId, title: shownTitle(session.title), updatedAt, cwd: session.cwd ?? null, project: session.project ?? null, state: session.state, nApprovals: 0, nEvents: session.events, isEarlier: true }];
  });
}

const shownTitle = (title: string | null): string | null => (title === null ? null : plainTitle(title));

export function platformOf(threadId: string): Platform {
  const [platform, scope] = threadId.split(":", 2);
  if (platform === "system") return scope === "heartbeat" ? "heartbeat" : "task";
  const known: Platform[] = ["cli", "web", "telegram", "feishu", "peer"];
  return known.find((it) => it === platform) ?? "web";
}

export type GroupName = "waitingForYou" | "running" | "today" | "yesterday" | "earlier";
export interface ThreadGroup { name: GroupName; threads: readonly ThreadView[] }

const GROUPS: readonly GroupName[] = ["waitingForYou", "running", "today", "yesterday", "earlier"];

export function groupThreads(threads: readonly ThreadView[], now: number): ThreadGroup[] {
  const groupOf = (thread: ThreadView): GroupName => {
    if (thread.state === "waiting") return "waitingForYou";
    return thread.state === "running" ? "running" : dayGroup(thread.updatedAt, now);
  };
  const sorted = [...threads].sort((a, b) => b.updatedAt - a.updatedAt);
  const groups = GROUPS.map((name) => ({ name, threads: sorted.filter((it) => groupOf(it) === name) }));
  return groups.filter((group) => group.threads.length > 0);
}

export function filterThreads(threads: readonly ThreadView[], query: string): ThreadView[] {
  const parts = query.toLowerCase().split(/\s+/).filter(Boolean);
  const textOf = (it: ThreadView): string => `${it.title ?? ""} ${it.threadId} ${it.cwd ?? ""}`.toLowerCase();
  return threads.filter((thread) => parts.every((part) => textOf(thread).includes(part)));
}

/** The name of a project, with as much of its path as tells it from the others. */
export function projectName(path: string, projects: readonly ProjectRow[]): string {
  const parts = path.split("/").filter(Boolean);
  const others = projects.filter((it) => it.path !== path).map((it) => it.path);
  for (let n = 1; n <= parts.length; n += 1) {
    const name = parts.slice(-n).join("/");
    if (!others.some((it) => it.endsWith(`/${name}`))) return name;
  }
  return path;
}

/** The innermost project that holds the folder, if one does. */
export function projectOf(folder: string, projects: readonly ProjectRow[]): string | null {
  const holding = projects.filter((it) => folder === it.path || folder.startsWith(`${it.path}/`));
  return holding.sort((a, b) => b.path.length - a.path.length)[0]?.path ?? null;
}

/** Where a conversation is held, in short: its project, and the folder inside it. */
export function placeName(cwd: string, project: string | null, projects: readonly ProjectRow[]): string {
  if (project === null) return baseName(cwd);
  const inside = cwd.startsWith(`${project}/`) ? cwd.slice(project.length) : "";
  return `${projectName(project, projects)}${inside}`;
}

/** The end of a conversation, as the list shows it. */
export interface Tail {
  /** The number of the last event it was read up to. */
  seq: number;
  lastWords: string;
  /** Why the last turn stopped, if it did not end well. */
  stopped: { reason: string; bound?: string } | null;
  /** The numbers of messages that this browser did not write. */
  spoken: readonly number[];
}

export function tailOf(events: readonly LogEvent[]): Tail {
  let lastWords = "";
  let stopped: Tail["stopped"] = null;
  const spoken: number[] = [];
  for (const event of events) {
    if (event.type === "user_message" || event.type === "assistant_message") {
      const words = withoutMarks(firstLine(plainText(event.message.content)));
      if (words !== "") lastWords = words;
      if (event.type === "user_message") stopped = null;
      if (words !== "" && event.clientId !== "page" && event.sourceTag === undefined) spoken.push(event.seq);
    } else if (event.type === "turn_ended") {
      stopped = event.reason === "done" || event.reason === "cancelled" ? null : { reason: event.reason, ...(event.bound ? { bound: event.bound } : {}) };
    } else if (event.type === "approval_requested") {
      lastWords = typeof event.command === "string" ? firstLine(event.command) : firstLine(typeof event.summary === "string" ? event.summary : event.summary.preview);
    }
  }
  return { seq: events.at(-1)?.seq ?? 0, lastWords, stopped, spoken };
}

/** The words of a line of Markdown. */
function withoutMarks(line: string): string {
  return line.replace(/^(?:#{1,6}|>|[-*+]|\d+\.)\s+/, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*~]+|(?<=\s|^)_|_(?=\s|$)/g, "");
}

export function unreadCount(tail: Tail | undefined, seen: number | undefined): number {
  if (tail === undefined || seen === undefined) return 0;
  return tail.spoken.filter((seq) => seq > seen).length;
}
