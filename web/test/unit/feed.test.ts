// A subscriber that loses its connection at any moment must end with the same session as one that never did.
import { expect, test } from "vitest";
import { reduce } from "../../src/log/reduce";
import { emptySession } from "../../src/log/state";
import type { ConnectionState } from "../../src/wire/connection";
import { ConnectionLost } from "../../src/wire/errors";
import { advance, START } from "../../src/wire/resume";
import { type FeedConnection, firstGap, SessionFeed } from "../../src/wire/session_feed";
import type { LogEvent, ResumeMode, ResumePoint, SubscriptionItem } from "../../src/wire/types";
import { EVENTS, ITEMS, SESSION } from "./recorded";

const seqOf = (item: SubscriptionItem): number | null => (typeof item !== "string" && "turn" in item && "event" in item.turn ? item.turn.event.seq : null);

/** A host that has sent the recorded items up to some place, and a connection to it that breaks on request. */
class TestHost {
  private state: ConnectionState = { kind: "online" };
  private listeners = new Set<() => void>();
  private onItem: ((item: SubscriptionItem) => void) | null = null;
  private fail: ((error: Error) => void) | null = null;
  at = 1;
  points: ResumePoint[] = [];
  pages = 0;
  mode: ResumeMode = "persistent_fallback";

  readonly connection: FeedConnection = {
    current: () => this.state,
    subscribe: (listener) => {
      this.listeners.add(listener);
      return () => this.listeners.delete(listener);
    },
    call: (async (_name: string, body: { after: number; limit: number }) => {
      this.pages += 1;
      const events = EVENTS.filter((event) => event.seq > body.after && event.seq <= this.head()).slice(0, 7);
      return { events };
    }) as unknown as FeedConnection["call"],
    follow: ((_name: string, body: { from: ResumePoint }, onItem: (item: SubscriptionItem) => void) => {
      this.points.push(body.from);
      this.onItem = onItem;
      const done = new Promise((_, reject) => {
        this.fail = reject;
      });
      done.catch(() => {});
      this.resume(body.from);
      return { done, cancel: () => {} };
    }) as unknown as FeedConnection["follow"],
  };

  private head(): number {
    return ITEMS.slice(0, this.at).reduce((head, item) => seqOf(item) ?? head, 0);
  }

  private resume(from: ResumePoint): void {
    const epoch = "life";
    if (this.mode === "full_reload") {
      this.onItem?.({ started: { mode: "full_reload", epoch, sessionId: SESSION, afterSeq: this.head() } });
      return;
    }
    this.onItem?.({ started: { mode: this.mode, epoch, sessionId: SESSION, afterSeq: from.persistentLastSeq } });
    const missed = ITEMS.slice(1, this.at).filter((item) => {
      const seq = seqOf(item);
      if (seq !== null) return seq > from.persistentLastSeq;
      if (this.mode !== "stream_resume" || typeof item === "string" || !("turn" in item) || !("delta" in item.turn)) return false;
      return item.turn.delta.streamSeq > (from.streamLastSeq ?? 0);
    });
    for (const item of missed) this.onItem?.(item);
  }

  send(n: number): void {
    for (const item of ITEMS.slice(this.at, this.at + n)) this.onItem?.(item);
    this.at = Math.min(ITEMS.length, this.at + n);
  }

  set(state: ConnectionState): void {
    this.state = state;
    if (state.kind !== "online") this.fail?.(new ConnectionLost());
    this.onItem = state.kind === "online" ? this.onItem : null;
    for (const listener of this.listeners) listener();
  }
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 60; i += 1) await Promise.resolve();
};

/** Runs frames and timers at once, so that no test waits. */
const ports = {
  now: () => Number.MAX_SAFE_INTEGER,
  nextFrame: (then: () => void) => {
    queueMicrotask(then);
    return () => {};
  },
  later: (_ms: number, then: () => void) => {
    queueMicrotask(then);
    return () => {};
  },
};

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const whole = reduce(emptySession(SESSION), ITEMS);

for (const mode of ["persistent_fallback", "stream_resume", "full_reload"] as const) {
  test(`200 losses at random places, ${mode}: nothing missing, nothing doubled`, async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const host = new TestHost();
      const next = random(seed);
      const feed = new SessionFeed(host.connection, SESSION, ports);
      host.mode = mode;
      for (let loss = 0; loss < 10; loss += 1) {
        host.send(Math.floor(next() * 40));
        if (next() < 0.5) await settle();
        host.set({ kind: "waiting", attempt: 1, retryAt: 0 });
        if (next() < 0.5) await settle();
        host.at = Math.min(ITEMS.length, host.at + Math.floor(next() * 20));
        host.set({ kind: "online" });
        await settle();
      }
      host.send(ITEMS.length);
      await settle();
      expect(feed.current().log).toEqual(whole.log);
      expect(feed.current().log.events.map((event) => event.seq)).toEqual(EVENTS.map((event) => event.seq));
      feed.close();
    }
  });
}

test("it asks for what comes after the last event it has folded", async () => {
  const host = new TestHost();
  const feed = new SessionFeed(host.connection, SESSION, ports);
  host.send(30);
  await settle();
  const seen = feed.current().log.events.at(-1)!.seq;
  host.set({ kind: "waiting", attempt: 1, retryAt: 0 });
  host.set({ kind: "online" });
  expect(host.points.at(-1)).toMatchObject({ sessionId: SESSION, persistentLastSeq: seen, epoch: "life" });
  feed.close();
});

test("a gap is read in pages before anything behind it is folded", async () => {
  const host = new TestHost();
  const feed = new SessionFeed(host.connection, SESSION, ports);
  host.send(3);
  await settle();
  host.at = 60;
  host.send(120);
  await settle();
  expect(host.pages).toBeGreaterThan(0);
  const seqs = feed.current().log.events.map((event: LogEvent) => event.seq);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  feed.close();
});

test("a resume point moves as the host moves it", () => {
  const started: SubscriptionItem = { started: { mode: "stream_resume", epoch: "e", sessionId: SESSION, afterSeq: 4 } };
  expect(advance({ persistentLastSeq: 4, epoch: "e", streamLastSeq: 9 }, started)).toEqual({ sessionId: SESSION, persistentLastSeq: 4, epoch: "e", streamLastSeq: 9 });
  const fallback: SubscriptionItem = { started: { mode: "persistent_fallback", epoch: "f", sessionId: SESSION, afterSeq: 4 } };
  expect(advance({ persistentLastSeq: 4, epoch: "e", streamLastSeq: 9 }, fallback)).toEqual({ sessionId: SESSION, persistentLastSeq: 4, epoch: "f" });
  expect(advance({ persistentLastSeq: 4, epoch: "e", streamLastSeq: 9 }, { moved: "other" })).toEqual({ sessionId: "other", persistentLastSeq: 0, epoch: "e" });
  expect(advance(START, { failed: "disk" })).toBe(START);
});

test("the first missing number is found", () => {
  const items = (seqs: number[]): SubscriptionItem[] => seqs.map((seq) => ({ turn: { event: { seq } as LogEvent } }));
  expect(firstGap(3, items([4, 5, 6]))).toBeNull();
  expect(firstGap(3, items([2, 3, 4]))).toBeNull();
  expect(firstGap(3, items([6, 7]))).toBe(5);
});
