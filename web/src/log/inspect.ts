// What the inspector shows of a request: its ranges by source, and which of them are new. Pure.
import type { SourceView, SpanView } from "../wire/calls";
import type { Log, RequestState } from "./state";
import type { Params, WordKey } from "../words/words";
import { pathTo } from "./entries";

export type SourceKind = "runtime" | "file" | "memory" | "tool" | "person" | "answer" | "result" | "reminder";
export const SOURCE_KINDS: readonly SourceKind[] = ["runtime", "file", "memory", "tool", "person", "answer", "result", "reminder"];

/** Bytes of a body from `start` up to `end`; without a source they are the vendor's form. */
export interface ByteRange {
  start: number;
  end: number;
  source: SourceView | null;
  kind: SourceKind;
  /** Whether the request before has the same bytes in the same place. */
  isSame: boolean;
}

/** Every byte of the body in one range; a range that the first difference falls into is cut there. */
export function rangesOf(spans: readonly SpanView[], bodyBytes: number, stableBytes: number | null, log: Log): ByteRange[] {
  const ranges: ByteRange[] = [];
  const push = (start: number, end: number, source: SourceView | null): void => {
    if (end <= start) return;
    const cut = stableBytes !== null && stableBytes > start && stableBytes < end ? [start, stableBytes, end] : [start, end];
    for (let i = 0; i + 1 < cut.length; i += 1) {
      const [from, to] = [cut[i]!, cut[i + 1]!];
      ranges.push({ start: from, end: to, source, kind: kindOf(source, log), isSame: stableBytes !== null && to <= stableBytes });
    }
  };
  let at = 0;
  for (const span of spans) {
    push(at, span.start, null);
    push(Math.max(at, span.start), span.end, span.source);
    at = Math.max(at, span.end);
  }
  push(at, bodyBytes, null);
  return ranges;
}

export function kindOf(source: SourceView | null, log: Log): SourceKind {
  if (source === null || source === "runtime") return "runtime";
  if ("tool" in source) return "tool";
  if ("section" in source) return source.section.name === "memory" ? "memory" : source.section.name === "agents" ? "file" : "runtime";
  switch (source.event.eventType) {
    case "user_message": return "person";
    case "assistant_message": return "answer";
    case "tool_result": return "result";
    case "harness_item": {
      const event = log.byId.get(source.event.id);
      return event?.type === "harness_item" && event.item.kind === "steer" ? "person" : "reminder";
    }
    default: return "reminder";
  }
}

export interface SourceName { key: WordKey | null; params?: Params; text?: string; detail: { key: WordKey; params?: Params } | { text: string } | null }

const SECTIONS: Record<string, WordKey> = {
  baseline: "sectionBaseline", agents: "sectionAgents", memory: "sectionMemory", workspace: "sectionWorkspace", environment: "sectionEnvironment", time: "sectionTime",
};

/** How a source is called beside its bytes. */
export function nameOf(source: SourceView | null, log: Log, agentName: string): SourceName {
  if (source === null) return { key: "frame", detail: null };
  if (source === "runtime") return { key: "sourceRuntime", detail: { key: "builtIn" } };
  if ("tool" in source) return { key: null, text: source.tool.name, detail: { key: "toolList" } };
  if ("section" in source) {
    const { name, files } = source.section;
    const key = SECTIONS[name];
    return { key: key ?? null, ...(key === undefined ? { text: name } : {}), detail: files.length === 0 ? { key: "builtIn" } : { text: files.join(", ") } };
  }
  const event = log.byId.get(source.event.id);
  const detail: SourceName["detail"] = event === undefined ? null : { key: "eventNumber", params: { n: event.seq } };
  switch (event?.type) {
    case "user_message": return event.author.userId === "owner" ? { key: "you", detail } : { key: null, text: event.author.displayName, detail };
    case "assistant_message": return { key: null, text: agentName, detail };
    case "tool_result": return { key: "resultOf", params: { tool: event.tool }, detail };
    case "harness_item": return { key: event.item.kind === "steer" ? "steer" : "sourceReminder", detail };
    case "compact": return { key: "summary", detail };
    default: return { key: null, text: source.event.eventType, detail };
  }
}

/** A source as a sentence names it. */
export function phraseOf(source: SourceView, log: Log, agentName: string): { key: WordKey; params?: Params } {
  if (source === "runtime") return { key: "phraseRuntime" };
  if ("tool" in source) return { key: "phraseTool", params: { tool: source.tool.name } };
  if ("section" in source) return { key: "phraseSection", params: { name: source.section.name } };
  const event = log.byId.get(source.event.id);
  switch (event?.type) {
    case "user_message": return event.author.userId === "owner" ? { key: "phraseYou" } : { key: "phrasePerson", params: { person: event.author.displayName } };
    case "assistant_message": return { key: "phraseAnswer", params: { agent: agentName } };
    case "tool_result": return { key: "phraseResult", params: { tool: event.tool } };
    case "harness_item": return { key: event.item.kind === "steer" ? "phraseSteer" : "phraseReminder" };
    default: return { key: "phraseSummary" };
  }
}

export interface RequestGroup { turn: number; text: string; isOnPath: boolean; requests: { number: number; request: RequestState }[] }

/** Requests by the turn they belong to, in the order in which they were made. */
export function requestGroups(log: Log, textOf: (turn: number) => string): RequestGroup[] {
  const path = new Set(pathTo(log).map((event) => event.id));
  const groups: RequestGroup[] = [];
  log.requests.forEach((request, index) => {
    const last = groups.at(-1);
    const entry = { number: index + 1, request };
    if (last?.turn === request.turn) last.requests.push(entry);
    else {
      const messageId = log.turns[request.turn - 1]?.messageId;
      groups.push({ turn: request.turn, text: textOf(request.turn), isOnPath: messageId === undefined || path.has(messageId), requests: [entry] });
    }
  });
  return groups;
}

/** Why a request was made: by what came since the one before. */
export function causeOf(log: Log, index: number): { key: WordKey; params?: Params; hasSteer: boolean } {
  const request = log.requests[index]!;
  if (request.asked.purpose === "compact") return { key: "summaryRequest", hasSteer: false };
  if (index === 0) return { key: "firstRequest", hasSteer: false };
  const from = log.requests[index - 1]!.asked.seq;
  const between = log.events.slice(from, request.asked.seq - 1);
  const hasSteer = between.some((event) => event.type === "harness_item" && event.item.kind === "steer");
  const n = between.filter((event) => event.type === "tool_result").length;
  if (between.some((event) => event.type === "user_message")) return { key: "newMessage", hasSteer };
  return n === 0 ? { key: "newMessage", hasSteer } : { key: "results", params: { n }, hasSteer };
}

/** Tokens a request sent: all of them, and those that came from the vendor's cache. */
export function tokensIn({ usage }: RequestState): { all: number; cached: number } {
  if (usage === undefined) return { all: 0, cached: 0 };
  return { all: usage.input + usage.cacheRead + usage.cacheWrite, cached: usage.cacheRead };
}

/** The cost, or where no price is known the tokens, of all requests up to each. */
export function runningSums(requests: readonly RequestState[]): { sums: number[]; isMoney: boolean } {
  const isMoney = requests.some((request) => request.usage?.costMicros !== undefined);
  let sum = 0;
  const sums = requests.map(({ usage }) => {
    sum += usage === undefined ? 0 : isMoney ? (usage.costMicros ?? 0) : usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
    return sum;
  });
  return { sums, isMoney };
}
