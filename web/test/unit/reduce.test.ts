import { expect, test } from "vitest";
import { activityOf, isQueueHeld, pendingApprovals, sessionCost } from "../../src/log/activity";
import { entriesOf, isSameEntry } from "../../src/log/entries";
import { reduce } from "../../src/log/reduce";
import { emptySession, lastSeq, type Session } from "../../src/log/state";
import { plainText } from "../../src/log/text";
import { treeRows } from "../../src/log/tree";
import type { LogEvent, SubscriptionItem } from "../../src/wire/types";
import { EVENTS, ITEMS, SESSION, WHOLE_LOG } from "./recorded";

const empty = (): Session => emptySession(SESSION);
const all = (): Session => reduce(empty(), ITEMS);
const asItems = (events: readonly LogEvent[]): SubscriptionItem[] => events.map((event) => ({ turn: { event } }));
const kinds = (session: Session): string[] => entriesOf(session.log, { hidesPrimed: true }).map((entry) => entry.kind);

test("a recorded session is shown as it was lived", () => {
  expect(kinds(all())).toEqual([
    "said", "thought", "answer", "call", "reads", "answer",
    "fork", "said", "thought", "answer", "call", "answer",
    "said", "answer", "ended",
  ]);
});

test("one batch and one item at a time give the same", () => {
  const oneByOne = ITEMS.reduce((session, item) => reduce(session, [item]), empty());
  expect(oneByOne).toEqual(all());
});

test("events that come twice change nothing", () => {
  const session = all();
  expect(reduce(session, asItems(EVENTS)).log).toBe(session.log);
});

test("an event behind a gap is not taken", () => {
  const first = reduce(empty(), asItems(EVENTS.slice(0, 4)));
  expect(lastSeq(reduce(first, asItems(EVENTS.slice(6))))).toBe(4);
});

test("the text that streamed is the text of the answer's event", () => {
  let session = empty();
  const compared: string[] = [];
  for (const item of ITEMS) {
    if (typeof item !== "string" && "turn" in item && "event" in item.turn && item.turn.event.type === "assistant_message") {
      const { event } = item.turn;
      const streamed = session.live.blocks.filter((block) => block.kind === "text").map((block) => block.text).join("");
      expect(session.live.requestId).toBe(event.id);
      expect(streamed).toBe(plainText(event.message.content));
      compared.push(event.id);
    }
    session = reduce(session, [item]);
  }
  expect(compared.length).toBe(7);
  expect(session.live.blocks).toEqual([]);
});

test("a delta that was seen, or belongs to an answer that is written, says nothing new", () => {
  const session = all();
  const answer = EVENTS.findLast((event) => event.type === "assistant_message")!;
  const late = { turn: { delta: { streamSeq: session.live.streamSeq + 1, requestId: answer.id, block: 0, kind: "text", text: "late" } } } as const;
  const next = reduce(session, [late]);
  expect(next.live.blocks).toEqual([]);
  const seen = { turn: { delta: { ...late.turn.delta, requestId: "other", streamSeq: 1 } } };
  expect(reduce(session, [seen]).live).toBe(session.live);
});

test("what a running request has said replaces what was known of it", () => {
  const at = ITEMS.findIndex((item) => typeof item !== "string" && "turn" in item && "delta" in item.turn && item.turn.delta.kind === "text");
  const begun = reduce(empty(), ITEMS.slice(0, at + 2));
  const { requestId } = begun.live;
  const again = reduce(begun, [
    { started: { mode: "persistent_fallback", epoch: "another", sessionId: SESSION, afterSeq: lastSeq(begun) } },
    { turn: { running: [{ streamSeq: 7, requestId: requestId!, block: 0, kind: "text", text: "All of it " }] } },
    { turn: { delta: { streamSeq: 8, requestId: requestId!, block: 0, kind: "text", text: "so far" } } },
  ]);
  expect(again.live.blocks.map((block) => block.text)).toEqual(["All of it so far"]);
  expect(again.live.isIncomplete).toBe(false);
});

test("deltas of another life of the host are marked as incomplete until the event comes", () => {
  const at = ITEMS.findIndex((item) => typeof item !== "string" && "turn" in item && "delta" in item.turn);
  const begun = reduce(empty(), ITEMS.slice(0, at + 2));
  const cut = reduce(begun, [{ started: { mode: "persistent_fallback", epoch: "another", sessionId: SESSION, afterSeq: lastSeq(begun) } }]);
  expect(cut.live.isIncomplete).toBe(true);
  expect(reduce(cut, asItems(EVENTS)).live.isIncomplete).toBe(false);
});

test("what happened while the page was away is counted, what comes afterwards is not", () => {
  const seen = reduce(empty(), [ITEMS[0]!, ...asItems(EVENTS.slice(0, 10))]);
  const at = EVENTS[14]!.ts;
  const back = reduce(seen, [ITEMS[0]!, ...asItems(EVENTS.slice(10))], at);
  expect(back.resumed?.nEvents).toBe(EVENTS.slice(10).filter((event) => event.ts <= at).length);
  expect(seen.resumed).toBeNull();
});

test("two branches, and the one that was left is named in the tree", () => {
  const rows = treeRows(all().log);
  expect(rows.map((row) => [row.text, row.lane, row.isOnPath])).toEqual([
    ["Look around, please.", 0, true],
    ["Hello", 1, false],
    ["看看这里", 0, true],
    ["Say it slowly", 0, true],
  ]);
  expect(rows.at(-1)).toMatchObject({ isLast: true, continues: false });
});

test("turns know their steps, their cost and how they ended", () => {
  const { log } = all();
  expect(log.turns.map((turn) => [turn.steps, turn.end?.reason])).toEqual([[3, "done"], [2, "done"], [2, "done"], [1, "cancelled"]]);
  expect(sessionCost(log)).toBeGreaterThan(0);
  expect(log.requests.map((request) => [request.turn, request.step])).toEqual([[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [3, 1], [3, 2], [4, 1]]);
});

test("after a stopped turn the queue is held", () => {
  const { log } = all();
  expect(log.followUps.map((item) => plainText(item.content))).toEqual(["And then the changelog"]);
  expect(isQueueHeld(log)).toBe(true);
});

test("what the session does is told at every moment", () => {
  let session = empty();
  const told = new Set<string>();
  for (const item of ITEMS) {
    session = reduce(session, [item]);
    told.add(activityOf(session).kind);
  }
  expect([...told]).toEqual(expect.arrayContaining(["idle", "asking", "thinking", "answering", "preparing", "waitingForModel", "stopping"]));
  expect(activityOf(session).kind).toBe("idle");
});

test("entries that did not change are the same, so their lines are not drawn again", () => {
  const before = reduce(empty(), asItems(EVENTS.slice(0, -4)));
  const after = reduce(before, asItems(EVENTS.slice(-4)));
  const old = entriesOf(before.log, { hidesPrimed: true });
  const now = entriesOf(after.log, { hidesPrimed: true });
  const same = old.filter((entry) => now.some((it) => isSameEntry(entry, it)));
  expect(same.length).toBeGreaterThanOrEqual(old.length - 3);
});

test("a log with every kind of event folds at every length", () => {
  for (let n = 0; n <= WHOLE_LOG.length; n += 1) {
    const session = reduce(empty(), asItems(WHOLE_LOG.slice(0, n)));
    expect(lastSeq(session)).toBe(n);
    expect(entriesOf(session.log, { hidesPrimed: false }).length).toBeGreaterThanOrEqual(0);
    treeRows(session.log);
    activityOf(session);
    pendingApprovals(session.log);
  }
});

test("primed messages are hidden or shown, as the session's first line says", () => {
  const primed = EVENTS.map((event): LogEvent => (event.seq <= 8 ? ({ ...event, sourceTag: "priming_script" } as LogEvent) : event));
  const { log } = reduce(empty(), asItems(primed));
  const shown = entriesOf(log, { hidesPrimed: false }).length;
  expect(entriesOf(log, { hidesPrimed: true }).length).toBeLessThan(shown);
});

test("a long session folds whole, in one batch", () => {
  const many: LogEvent[] = [];
  let parentId: string | null = null;
  for (let n = 1; n <= 4_000; n += 1) {
    const id = `m${n}`;
    const base = { seq: n, id, ts: n, clientId: "page", parentId };
    many.push(n % 2 === 1
      ? { ...base, type: "user_message", message: { content: [{ type: "text", text: "hello" }] }, author: { userId: "owner", displayName: "owner" }, trust: "owner" }
      : { ...base, type: "assistant_message", message: { content: [{ type: "text", text: "**hello**" }] }, stopReason: "end_turn" });
    parentId = id;
  }
  const { log } = reduce(empty(), asItems(many));
  expect(entriesOf(log, { hidesPrimed: true }).length).toBe(4_000);
});
