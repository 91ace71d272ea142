// Folds deltas into the answer that is being made. Deltas may be lost; the answer's event has everything.
import type { AnswerDelta, LogEvent } from "../wire/types";
import type { Live, LiveBlock } from "./state";

/** Lines of a running call that are kept. */
const PROGRESS_LINES_MAX = 3;

/** Takes a delta, unless it was seen before in this life of the host. */
export function foldDelta(live: Live, delta: AnswerDelta): Live {
  if (delta.streamSeq <= live.streamSeq) return live;
  const next = { ...live, streamSeq: delta.streamSeq };
  return append(next, delta);
}

/** Takes what the running request has said so far, in place of whatever was known of it. */
export function foldRunning(live: Live, parts: readonly AnswerDelta[]): Live {
  const last = parts.at(-1);
  if (last === undefined) return live;
  const cleared: Live = { ...live, streamSeq: last.streamSeq, requestId: null, blocks: [], progress: new Map(), isIncomplete: false };
  return parts.reduce(append, cleared);
}

function append(live: Live, delta: AnswerDelta): Live {
  if (delta.kind === "progress") {
    if (delta.callId === undefined) return live;
    const lines = [...(live.progress.get(delta.callId) ?? []), ...delta.text.replace(/\n$/, "").split("\n")];
    return { ...live, progress: new Map(live.progress).set(delta.callId, lines.slice(-PROGRESS_LINES_MAX)) };
  }
  const isNew = live.requestId !== delta.requestId;
  const blocks = isNew ? [] : [...live.blocks];
  blocks[delta.block] = appendTo(blocks[delta.block], delta);
  return { ...live, requestId: delta.requestId, blocks, isIncomplete: isNew ? false : live.isIncomplete };
}

function appendTo(block: LiveBlock | undefined, delta: AnswerDelta): LiveBlock {
  const callId = delta.callId === undefined ? {} : { callId: delta.callId };
  switch (delta.kind) {
    case "toolName":
      return { kind: "call", text: "", tool: delta.text, ...callId };
    case "toolInput":
      return { kind: "call", ...(block?.tool === undefined ? {} : { tool: block.tool }), ...callId, text: (block?.text ?? "") + delta.text };
    default:
      return { kind: delta.kind === "thinking" ? "thinking" : "text", text: (block?.text ?? "") + delta.text };
  }
}

/** Drops what an event has made durable. */
export function settle(live: Live, event: LogEvent): Live {
  switch (event.type) {
    case "assistant_message":
    case "model_failed": {
      const isThisOne = event.type === "model_failed" || event.id === live.requestId || event.requestId === live.requestId;
      return live.requestId === null || !isThisOne ? live : { ...live, requestId: null, blocks: [], isIncomplete: false };
    }
    case "tool_result": {
      if (!live.progress.has(event.callId)) return live;
      const progress = new Map(live.progress);
      progress.delete(event.callId);
      return { ...live, progress };
    }
    case "turn_ended":
    case "leaf_moved":
      return { ...live, requestId: null, blocks: [], progress: new Map(), isIncomplete: false };
    default:
      return live;
  }
}
