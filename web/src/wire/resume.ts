// Where a subscription goes on: the pure rules by which a resume point moves.
import type { ResumePoint, SubscriptionItem } from "./types";

export const START: ResumePoint = { persistentLastSeq: 0 };

/** The point of a client that has seen this item. It repeats `SubscriptionItem::advance` of the host. */
export function advance(point: ResumePoint, item: SubscriptionItem): ResumePoint {
  if (typeof item === "string" || "failed" in item) return point;
  if ("started" in item) {
    const { mode, epoch, sessionId, afterSeq } = item.started;
    const keepsStream = mode === "stream_resume" && point.streamLastSeq !== undefined;
    return {
      ...(sessionId === null ? {} : { sessionId }),
      persistentLastSeq: afterSeq,
      epoch,
      ...(keepsStream ? { streamLastSeq: point.streamLastSeq! } : {}),
    };
  }
  if ("moved" in item) {
    return { sessionId: item.moved, persistentLastSeq: 0, ...(point.epoch === undefined ? {} : { epoch: point.epoch }) };
  }
  if ("event" in item.turn) return { ...point, persistentLastSeq: item.turn.event.seq };
  if ("delta" in item.turn) return { ...point, streamLastSeq: item.turn.delta.streamSeq };
  const last = item.turn.running.at(-1);
  return last === undefined ? point : { ...point, streamLastSeq: last.streamSeq };
}
