// Follows one session: subscribes, folds what comes once per frame, and goes on where it was after a loss.
//
// Events arrive once and in order: each must have the number after the last one seen. Where the host says that the
// page is too far behind, or a number is missing, the events between are read in pages and what came meanwhile waits.
import { addEvents, reduce } from "../log/reduce";
import { emptySession, lastSeq, type Session } from "../log/state";
import type { Connection } from "./connection";
import { ConnectionLost, messageOf } from "./errors";
import { advance, START } from "./resume";
import type { LogEvent, ResumePoint, SessionId, SubscriptionItem } from "./types";

/** Events of a page. The host reads the log once for each, so they are large. */
const PAGE_EVENTS = 10_000;
/** A subscription that the host ended, or refused, is asked for again after this long. */
const AGAIN_MS = 1_000;

/** What the feed needs of the connection; tests give their own. */
export type FeedConnection = Pick<Connection, "call" | "follow" | "current" | "subscribe">;

export interface FeedPorts {
  /** Calls back before the next frame is drawn; the returned function cancels. */
  nextFrame: (then: () => void) => () => void;
  later: (ms: number, then: () => void) => () => void;
  now: () => number;
}

/** What views need of a feed. A conversation that has not begun has one that never changes. */
export type Feed = Pick<SessionFeed, "sessionId" | "current" | "subscribe" | "refused" | "dismissResumed">;

export class SessionFeed {
  private session: Session;
  private point: ResumePoint = START;
  private waiting: SubscriptionItem[] = [];
  private isPaging = false;
  private cancelFrame: (() => void) | null = null;
  private cancelLater: (() => void) | null = null;
  private stopFollowing: (() => void) | null = null;
  private readonly unsubscribe: () => void;
  private readonly listeners = new Set<() => void>();
  private life = 0;
  private refusal: string | null = null;

  constructor(
    private readonly connection: FeedConnection,
    readonly sessionId: SessionId,
    private readonly ports: FeedPorts,
  ) {
    this.session = emptySession(sessionId);
    this.unsubscribe = connection.subscribe(() => this.connectionChanged());
    this.connectionChanged();
  }

  readonly current = (): Session => this.session;
  /** Why the session cannot be followed, as the host says. */
  readonly refused = (): string | null => this.refusal;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  close(): void {
    this.life += 1;
    this.unsubscribe();
    this.stopFollowing?.();
    this.cancelFrame?.();
    this.cancelLater?.();
    this.listeners.clear();
  }

  /** Forgets the line that says how the page came back. */
  dismissResumed(): void {
    if (this.session.resumed !== null) this.set({ ...this.session, resumed: null });
  }

  private connectionChanged(): void {
    if (this.connection.current().kind === "online") {
      if (this.stopFollowing === null) this.follow();
    } else {
      this.stopFollowing = null;
    }
  }

  private follow(): void {
    this.cancelLater?.();
    const life = ++this.life;
    if (lastSeq(this.session) > 0 || this.session.movedTo !== null) {
      this.subscribeToHost(life);
      return;
    }
    this.stopFollowing = () => {};
    void this.load(life).then(() => {
      if (life === this.life) this.subscribeToHost(life);
    });
  }

  /** Reads what the log holds, which in pages is much faster than event by event. */
  private async load(life: number): Promise<void> {
    try {
      let after: number | undefined = lastSeq(this.session);
      while (after !== undefined) {
        const page: { events: LogEvent[]; nextAfter?: number } = await this.connection.call("read_events", { session: this.sessionId, after, limit: PAGE_EVENTS });
        if (life !== this.life) return;
        const next = addEvents(this.session, page.events);
        this.point = { sessionId: this.sessionId, persistentLastSeq: lastSeq(next) };
        this.set(next);
        after = page.nextAfter;
      }
    } catch {
      // What is wrong with it the subscription says.
    }
  }

  private subscribeToHost(life: number): void {
    const session = this.session.movedTo ?? this.sessionId;
    const onItem = (item: SubscriptionItem): void => {
      if (life === this.life) this.take(item);
    };
    const following = this.connection.follow("subscribe", { to: { session }, from: this.point }, onItem);
    this.stopFollowing = following.cancel;
    following.done.then(
      () => this.ended(life, null),
      (error: unknown) => this.ended(life, error),
    );
  }

  private ended(life: number, error: unknown): void {
    if (life !== this.life) return;
    this.stopFollowing = null;
    if (error instanceof ConnectionLost || this.session.isRemoved) return;
    if (error !== null) {
      this.refusal = messageOf(error);
      this.notify();
    }
    this.cancelLater = this.ports.later(AGAIN_MS, () => {
      if (this.stopFollowing === null && this.connection.current().kind === "online") this.follow();
    });
  }

  private take(item: SubscriptionItem): void {
    this.refusal = null;
    this.point = advance(this.point, item);
    this.waiting.push(item);
    if (typeof item !== "string" && "started" in item) this.started(item.started);
    if (this.cancelFrame === null && !this.isPaging) {
      this.cancelFrame = this.ports.nextFrame(() => {
        this.cancelFrame = null;
        this.flush();
      });
    }
  }

  private started({ mode, afterSeq }: { mode: string; afterSeq: number }): void {
    if (mode !== "full_reload") return;
    const seen = lastSeq(this.session) + this.waiting.filter(isEvent).length;
    // A log that is shorter than what was seen is not the same log any more.
    if (seen > afterSeq) {
      this.waiting = this.waiting.filter((it) => !isEvent(it));
      this.session = emptySession(this.sessionId);
    }
    void this.readPages(afterSeq);
  }

  /** Reads the events up to this one, before anything that came meanwhile is folded. */
  private async readPages(upTo: number): Promise<void> {
    this.isPaging = true;
    const life = this.life;
    try {
      let next = this.session;
      while (lastSeq(next) < upTo) {
        const session = this.session.movedTo ?? this.sessionId;
        const page = await this.connection.call("read_events", { session, after: lastSeq(next), limit: PAGE_EVENTS });
        if (life !== this.life) return;
        const before = lastSeq(next);
        next = addEvents(next, page.events);
        this.set(next);
        if (lastSeq(next) === before) break;
      }
    } catch (error) {
      if (life === this.life && !(error instanceof ConnectionLost)) this.refusal = messageOf(error);
    } finally {
      this.isPaging = false;
    }
    this.flush();
  }

  private flush(): void {
    if (this.isPaging) return;
    const items = this.waiting;
    this.waiting = [];
    const gap = firstGap(lastSeq(this.session), items);
    if (gap !== null) {
      this.waiting = items;
      this.point = { ...this.point, persistentLastSeq: lastSeq(this.session) };
      void this.readPages(gap);
      return;
    }
    this.set({ ...reduce(this.session, items, this.ports.now()), isLoaded: true });
  }

  private set(session: Session): void {
    this.session = session;
    // The point follows what was folded: after a loss the page asks for what it does not show yet.
    const seq = lastSeq(session);
    if (this.waiting.length === 0 && seq > 0) this.point = { ...this.point, persistentLastSeq: seq };
    this.notify();
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

function isEvent(item: SubscriptionItem): item is { turn: { event: LogEvent } } {
  return typeof item !== "string" && "turn" in item && "event" in item.turn;
}

/** The number up to which events are missing before the first one that does not follow. */
export function firstGap(seen: number, items: readonly SubscriptionItem[]): number | null {
  let last = seen;
  for (const item of items) {
    if (typeof item !== "string" && "moved" in item) last = 0;
    if (!isEvent(item)) continue;
    const { seq } = item.turn.event;
    if (seq > last + 1) return seq - 1;
    last = Math.max(last, seq);
  }
  return null;
}
