// What the page knows of the house: its conversations, models and agents, kept up to date by `follow_house`.
import type { Connection } from "../wire/connection";
import { ConnectionLost, messageOf } from "../wire/errors";
import type { GrantView, ModelList, ModelRow, ProjectRow, SessionRow } from "../wire/calls";
import { type Tail, tailOf, type ThreadView, threadViews } from "./threads";

/** Changes come in bursts; the list is asked for once per burst. */
const REFRESH_MS = 400;
/** Events at the end of a conversation that the list reads for its last words. */
const TAIL_EVENTS = 40;
const SEEN_KEY = "kith.seen";

export interface AgentName { agentId: string | null; name: string; emoji: string | null }

export interface House {
  threads: readonly ThreadView[] | null;
  sessions: ReadonlyMap<string, SessionRow>;
  /** The current session of threads that have changed since the page was opened, known before the lists are read again. */
  sessionOfThread: ReadonlyMap<string, string>;
  tails: ReadonlyMap<string, Tail>;
  /** The last event that was shown here, by session. */
  seen: Readonly<Record<string, number>>;
  models: ModelList | null;
  grants: readonly GrantView[];
  projects: readonly ProjectRow[];
  /** The folder of the project whose conversations are listed; `null`: all. */
  project: string | null;
  agents: readonly AgentName[];
  /** The chosen agent; `null`: the house's default. */
  agentId: string | null;
  agentName: string;
  agentEmoji: string | null;
  folder: string | null;
  error: string | null;
}

/** The agent of a conversation; the chosen one where its own is not known. */
export function agentOf(house: House, agentId: string | null | undefined): AgentName {
  return house.agents.find((it) => it.agentId === agentId) ?? { agentId: house.agentId, name: house.agentName, emoji: house.agentEmoji };
}

/** The session of a thread: as its change was told, or, where that was missed (a lost connection, a page opened again), as the list has it. */
export function sessionBegunIn({ sessionOfThread, sessions }: Pick<House, "sessionOfThread" | "sessions">, threadId: string): string | undefined {
  return sessionOfThread.get(threadId) ?? [...sessions.values()].find((it) => it.threadId === threadId)?.sessionId;
}

export class HouseStore {
  private house: House = {
    threads: null,
    sessions: new Map(),
    sessionOfThread: new Map(),
    tails: new Map(),
    seen: readSeen(),
    models: null,
    grants: [],
    projects: [],
    project: null,
    agents: [],
    agentId: null,
    agentName: "",
    agentEmoji: null,
    folder: null,
    error: null,
  };
  private readonly listeners = new Set<() => void>();
  private readonly tailsAsked = new Set<string>();
  private refreshTimer: ReturnType<typeof setTimeout> | null = null;
  private hasFollowed = false;
  private isFollowing = false;

  constructor(private readonly connection: Connection) {
    connection.subscribe(() => this.connectionChanged());
  }

  readonly current = (): House => this.house;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** The model that the next message uses. */
  usedModel(): ModelRow | null {
    return this.house.models?.models.find((model) => model.used) ?? null;
  }

  chooseAgent(agentId: string | null): void {
    const chosen = this.house.agents.find((it) => it.agentId === agentId);
    this.set({ agentId, threads: null, agentName: chosen?.name ?? "", agentEmoji: chosen?.emoji ?? null });
    void this.refresh();
  }

  chooseProject(project: string | null): void {
    this.set({ project });
  }

  markSeen(sessionId: string, seq: number): void {
    if ((this.house.seen[sessionId] ?? 0) >= seq) return;
    const seen = { ...this.house.seen, [sessionId]: seq };
    writeSeen(seen);
    this.set({ seen });
  }

  /** Reads the end of a conversation that has come into view. */
  wantTail(thread: ThreadView): void {
    const known = this.house.tails.get(thread.sessionId);
    const key = `${thread.sessionId} ${thread.nEvents}`;
    if ((known !== undefined && known.seq >= thread.nEvents) || this.tailsAsked.has(key)) return;
    this.tailsAsked.add(key);
    const after = Math.max(0, thread.nEvents - TAIL_EVENTS);
    this.connection.call("read_events", { session: thread.sessionId, after, limit: TAIL_EVENTS * 2 }).then(
      (page) => this.set({ tails: new Map(this.house.tails).set(thread.sessionId, tailOf(page.events)) }),
      () => this.tailsAsked.delete(key),
    );
  }

  async refreshModels(): Promise<void> {
    try {
      this.set({ models: await this.connection.call("list_models", {}) });
    } catch (error) {
      this.failed(error);
    }
  }

  async refreshProjects(): Promise<void> {
    try {
      const { projects } = await this.connection.call("list_projects", {});
      const project = projects.some((it) => it.path === this.house.project) ? this.house.project : null;
      this.set({ projects, project });
    } catch (error) {
      this.failed(error);
    }
  }

  /** Another set of projects: conversations may belong to another one now. */
  async projectsChanged(): Promise<void> {
    await Promise.all([this.refreshProjects(), this.refresh()]);
  }

  async refreshGrants(): Promise<void> {
    try {
      this.set({ grants: (await this.connection.call("list_grants", {})).grants });
    } catch (error) {
      this.failed(error);
    }
  }

  readonly refresh = async (): Promise<void> => {
    const agent = this.house.agentId === null ? {} : { agentId: this.house.agentId };
    try {
      const [listed, rows] = await Promise.all([this.connection.call("list_threads", agent), this.connection.call("list_sessions", {})]);
      const sessions = new Map(rows.sessions.map((row) => [row.sessionId, row]));
      const threads = threadViews(listed.threads, sessions);
      this.set({ threads, sessions, seen: this.firstSeen(threads), error: null });
      const known = new Set(this.house.projects.map((it) => it.path));
      if (rows.sessions.some((row) => row.project != null && !known.has(row.project))) await this.refreshProjects();
      await this.refreshAgents(rows.sessions);
    } catch (error) {
      this.failed(error);
    }
  };

  /** What was there when this browser first looked counts as seen. */
  private firstSeen(threads: readonly ThreadView[]): Readonly<Record<string, number>> {
    const isFirst = Object.keys(this.house.seen).length === 0;
    const seen = { ...this.house.seen };
    for (const { sessionId, nEvents, isEarlier } of threads) seen[sessionId] ??= isFirst || isEarlier ? nEvents : 0;
    if (isFirst && threads.length > 0) writeSeen(seen);
    return seen;
  }

  private async refreshAgents(sessions: readonly SessionRow[]): Promise<void> {
    const ids = [...new Set(sessions.flatMap((row) => row.agentId ?? []))];
    const known = new Set(this.house.agents.map((it) => it.agentId));
    const missing = [...(this.house.agentName === "" ? [null] : []), ...ids.filter((id) => !known.has(id))];
    const found: AgentName[] = [];
    for (const agentId of missing) {
      const { name, emoji } = await this.connection.call("explain_identity", agentId === null ? {} : { agentId }).catch(() => ({ name: agentId ?? "", emoji: null }));
      if (agentId === this.house.agentId && name !== "") this.set({ agentName: name, agentEmoji: emoji });
      if (agentId !== null) found.push({ agentId, name, emoji });
    }
    if (found.length > 0) this.set({ agents: [...this.house.agents, ...found] });
  }

  private connectionChanged(): void {
    if (this.connection.current().kind !== "online" || this.isFollowing) return;
    this.isFollowing = true;
    this.tailsAsked.clear();
    const following = this.connection.follow("follow_house", this.hasFollowed ? { resumes: true } : {}, ({ threads }) => this.changed(threads));
    this.hasFollowed = true;
    const over = (): void => {
      this.isFollowing = false;
    };
    following.done.then(over, over);
    void this.refresh();
    void this.refreshModels();
    void this.refreshGrants();
    if (this.house.folder === null) void this.findFolder();
  }

  private changed(threads: readonly { threadId: string; sessionId: string }[]): void {
    const isNew = threads.some((it) => this.house.sessionOfThread.get(it.threadId) !== it.sessionId && !this.house.sessions.has(it.sessionId));
    const known = new Map(this.house.sessionOfThread);
    for (const { threadId, sessionId } of threads) known.set(threadId, sessionId);
    this.set({ sessionOfThread: known });
    // A conversation that has just begun is about to be shown.
    if (isNew) void this.refresh();
    else this.refreshSoon();
  }

  private async findFolder(): Promise<void> {
    const { repositories } = await this.connection.call("list_repositories", {}).catch(() => ({ repositories: [] }));
    this.set({ folder: repositories[0]?.path ?? null });
  }

  private refreshSoon(): void {
    if (this.refreshTimer !== null) return;
    this.refreshTimer = setTimeout(() => {
      this.refreshTimer = null;
      void this.refresh();
    }, REFRESH_MS);
  }

  private failed(error: unknown): void {
    if (!(error instanceof ConnectionLost)) this.set({ error: messageOf(error) });
  }

  private set(change: Partial<House>): void {
    this.house = { ...this.house, ...change };
    for (const listener of this.listeners) listener();
  }
}

function readSeen(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(SEEN_KEY) ?? "{}") as Record<string, number>;
  } catch {
    return {};
  }
}

function writeSeen(seen: Readonly<Record<string, number>>): void {
  try {
    localStorage.setItem(SEEN_KEY, JSON.stringify(seen));
  } catch {
    // Without storage everything counts as seen next time.
  }
}
