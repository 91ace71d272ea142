// The sessions that are being followed: one feed per open conversation, shared by the views that show it.
import { SessionFeed } from "../wire/session_feed";
import type { Connection } from "../wire/connection";
import type { Outbox } from "../wire/outbox";

/** A feed that nobody shows any more is kept for a moment, so that going back and forth loads nothing again. */
const KEPT_MAX = 4;

export class Feeds {
  private readonly feeds = new Map<string, SessionFeed>();
  private readonly seqs = new Map<string, number>();

  constructor(
    private readonly connection: Connection,
    private readonly outbox: Outbox,
  ) {}

  of(sessionId: string): SessionFeed {
    const known = this.feeds.get(sessionId);
    if (known !== undefined) {
      this.feeds.delete(sessionId);
      this.feeds.set(sessionId, known);
      return known;
    }
    const feed = new SessionFeed(this.connection, sessionId, { nextFrame, later, now: Date.now });
    feed.subscribe(() => this.tellOutbox(feed));
    this.feeds.set(sessionId, feed);
    for (const [id, old] of this.feeds) {
      if (this.feeds.size <= KEPT_MAX) break;
      old.close();
      this.feeds.delete(id);
    }
    return feed;
  }

  private tellOutbox(feed: SessionFeed): void {
    const { events } = feed.current().log;
    const from = this.seqs.get(feed.sessionId) ?? 0;
    if (events.length <= from) return;
    this.seqs.set(feed.sessionId, events.length);
    this.outbox.seen(events.slice(from));
  }
}

/** A hidden page draws no frames; it folds what comes all the same, at a slower pace. */
function nextFrame(then: () => void): () => void {
  if (document.visibilityState === "hidden") return later(200, then);
  const frame = requestAnimationFrame(then);
  return () => cancelAnimationFrame(frame);
}

function later(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}
