// The page's one reducer: folds the items of a subscription into a session. Pure.
import type { LogEvent, ResumeMode, SubscriptionItem } from "../wire/types";
import { foldEvents } from "./fold_events";
import { foldDelta, foldRunning, settle } from "./fold_live";
import { emptySession, type Session } from "./state";

/** Folds a batch of items, in the order in which they came. `now` is when. */
export function reduce(session: Session, items: readonly SubscriptionItem[], now = 0): Session {
  let next = session;
  let events: LogEvent[] = [];
  const flush = (): void => {
    if (events.length === 0) return;
    next = addEvents(next, events);
    events = [];
  };
  for (const item of items) {
    if (typeof item !== "string" && "turn" in item && "event" in item.turn) {
      events.push(item.turn.event);
      continue;
    }
    flush();
    next = reduceOne(next, item, now);
  }
  flush();
  return next;
}

/** Adds events read from the log; those that are known already change nothing. */
export function addEvents(session: Session, events: readonly LogEvent[]): Session {
  const log = foldEvents(session.log, events);
  const added = log.events.slice(session.log.events.length);
  if (added.length === 0) return session;
  const live = added.reduce(settle, session.live);
  return { ...session, log, live, resumed: countMissed(session.resumed, added), failure: null };
}

/** Counts the events that happened while the page was away. */
function countMissed(resumed: Session["resumed"], added: readonly LogEvent[]): Session["resumed"] {
  if (resumed === null) return null;
  return { ...resumed, nEvents: resumed.nEvents + added.filter((event) => event.ts <= resumed.at).length };
}

function reduceOne(session: Session, item: SubscriptionItem, now: number): Session {
  if (item === "removed") return { ...session, isRemoved: true };
  if (typeof item === "string") return session;
  if ("started" in item) return begin(session, item.started, now);
  if ("failed" in item) return { ...session, failure: item.failed };
  if ("moved" in item) return { ...emptySession(item.moved), movedTo: item.moved };
  if ("delta" in item.turn) {
    // A delta of an answer that has become an event comes late, and says nothing new.
    const isKnown = session.log.byId.has(item.turn.delta.requestId) && item.turn.delta.kind !== "progress";
    const live = foldDelta(session.live, item.turn.delta);
    return { ...session, live: isKnown ? { ...session.live, streamSeq: live.streamSeq } : live };
  }
  if ("running" in item.turn) return { ...session, live: foldRunning(session.live, item.turn.running) };
  return session;
}

function begin(session: Session, started: { mode: ResumeMode; epoch: string }, at: number): Session {
  const { mode, epoch } = started;
  const isBack = session.live.epoch !== null;
  const resumed = isBack ? { mode, nEvents: 0, at } : null;
  if (mode === "stream_resume" && session.live.epoch === epoch) return { ...session, resumed };
  // Deltas of another life of the host, or behind a gap, do not continue what is shown: the rest of the answer comes
  // as `running`, or with its event.
  const isIncomplete = session.live.requestId !== null;
  return { ...session, resumed, live: { ...session.live, epoch, streamSeq: 0, isIncomplete } };
}
