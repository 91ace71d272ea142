import { expect, test } from "vitest";
import { sessionBegunIn } from "../../src/house/house_store";
import { filterThreads, groupThreads, placeName, platformOf, projectName, projectOf, tailOf, type ThreadView, threadViews, unreadCount } from "../../src/house/threads";
import { expectedModel } from "../../src/house/models";
import { compareTexts, countChanges, parseUnified } from "../../src/log/diff";
import { causeOf, rangesOf, runningSums } from "../../src/log/inspect";
import { callLine } from "../../src/log/call_line";
import { reduce } from "../../src/log/reduce";
import { emptySession } from "../../src/log/state";
import { languageOf } from "../../src/log/text";
import { keyOf } from "../../src/parts/commands";
import { hrefOf, parseRoute } from "../../src/parts/route";
import { recordsOf } from "../../src/views/dialogs/script_preview";
import { slugOf } from "../../src/views/dialogs/save_script";
import type { ModelRow, ProjectRow, SessionRow, ThreadRow } from "../../src/wire/calls";
import { newId } from "../../src/wire/ids";
import { bytes, duration, listed, listTime, money, percent, sentences, short, stopwatch } from "../../src/words/format";
import { EVENTS, ITEMS, SESSION } from "./recorded";

const recorded = reduce(emptySession(SESSION), ITEMS).log;

test("ids are what the host takes, and later ones sort later", () => {
  expect(newId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(newId(1_000) < newId(2_000)).toBe(true);
});

test("a conversation has begun if its change was told, or if only the list has it", () => {
  const row = (sessionId: string, threadId: string): SessionRow => ({ sessionId, threadId, agentId: null, title: null, createdAt: null, updatedAt: null, events: 3, leaf: null, state: "idle" });
  const sessions = new Map([row("s1", "web:room:a"), row("s2", "web:room:b")].map((it) => [it.sessionId, it]));
  const house = { sessions, sessionOfThread: new Map([["web:room:a", "s3"]]) };
  expect(["web:room:a", "web:room:b", "web:room:c"].map((it) => sessionBegunIn(house, it))).toEqual(["s3", "s2", undefined]);
});

test("amounts are short", () => {
  expect([8, 320, 38_000, 150_000].map(duration)).toEqual(["8 ms", "0.3 s", "38 s", "3 min"]);
  expect([38_000, 581_000, 3_723_000].map(stopwatch)).toEqual(["0:38", "9:41", "1:02:03"]);
  expect([950, 1_700, 61_400, 200_000, 1_200_000].map(short)).toEqual(["950", "1.7k", "61.4k", "200k", "1.2M"]);
  expect([0, 120, 32_000, 130_000].map(money)).toEqual(["$0.00", "<$0.001", "$0.032", "$0.13"]);
  expect([12, 2_048, 3_500_000].map(bytes)).toEqual(["12 B", "2 KB", "3.3 MB"]);
  expect([0.955, 1, 0].map(percent)).toEqual(["95.5%", "100%", "0%"]);
});

test("the time in the list is the clock's today, then a weekday, then a date", () => {
  const now = new Date(2026, 10, 18, 12).getTime();
  const at = (days: number): string => listTime(now - days * 86_400_000, now, "en");
  expect([at(0), at(1), at(20)]).toEqual(["12:00", "Tue", "29 Oct"]);
  expect(listTime(now - 86_400_000, now, "zh")).toBe("周二");
});

test("differences are found line by line, with a little around them", () => {
  const rows = compareTexts("a\nb\nc\nd\ne\nf\ng\nh\ni", "a\nb\nc\nd\nE\nf\ng\nh\ni");
  expect(rows.map((row) => row.kind)).toEqual(["gap", "same", "same", "same", "removed", "added", "same", "same", "same", "gap"]);
  expect(countChanges(rows)).toEqual({ added: 1, removed: 1 });
  expect(compareTexts("", "x\ny").map((row) => row.after)).toEqual([1, 2]);
});

test("a unified difference in a result is read, a text without one is not", () => {
  const rows = parseUnified("edited a.rs\n@@ -86,3 +86,4 @@\n x\n-y\n+Y\n+z\n w");
  expect(rows?.map((row) => [row.kind, row.before, row.after])).toEqual([["gap", undefined, undefined], ["same", 86, 86], ["removed", 87, undefined], ["added", undefined, 87], ["added", undefined, 88], ["same", 88, 89]]);
  expect(parseUnified("+1 point for you\n-1 for me")).toBeNull();
});

test("calls are told in one line", () => {
  const lines = [...recorded.calls.values()].map(callLine);
  expect(lines.map((line) => [line.icon, line.verb, line.target])).toEqual([
    ["folder", "listed", "."], ["file", "read", "Agent.md"], ["file", "read", "IDENTITY.md"], ["file", "read", "USER.md"], ["folder", "listed", "."],
  ]);
  expect(lines.every((line) => !line.isBad && line.ms !== null)).toBe(true);
});

test("every byte of a request is in one range, and the first difference cuts a range", () => {
  const spans = [{ start: 10, end: 20, source: { tool: { name: "t" } } }, { start: 25, end: 40, source: "runtime" as const }];
  const ranges = rangesOf(spans, 50, 30, recorded);
  expect(ranges.map((range) => [range.start, range.end, range.kind, range.isSame])).toEqual([
    [0, 10, "runtime", true], [10, 20, "tool", true], [20, 25, "runtime", true], [25, 30, "runtime", true], [30, 40, "runtime", false], [40, 50, "runtime", false],
  ]);
});

test("requests say why they were made", () => {
  expect(recorded.requests.map((_, index) => causeOf(recorded, index).key)).toEqual(["firstRequest", "results", "results", "newMessage", "newMessage", "newMessage", "results", "newMessage"]);
  const { sums, isMoney } = runningSums(recorded.requests);
  expect(isMoney).toBe(true);
  expect(sums).toEqual([...sums].sort((a, b) => a - b));
});

const thread = (change: Partial<ThreadView>): ThreadView => ({ threadId: "web:room:1", sessionId: "s", agentId: "main", title: "Title", platform: "web", updatedAt: 0, cwd: null, project: null, state: "idle", nApprovals: 0, nEvents: 0, isEarlier: false, ...change });

test("conversations that wait for the person come first", () => {
  const now = new Date(2026, 10, 18, 12).getTime();
  const groups = groupThreads([thread({ updatedAt: now }), thread({ updatedAt: now - 86_400_000 }), thread({ state: "running" }), thread({ state: "waiting" }), thread({ updatedAt: 1 })], now);
  expect(groups.map((group) => group.name)).toEqual(["waitingForYou", "running", "today", "yesterday", "earlier"]);
});

test("search looks at titles, threads and folders", () => {
  const all = [thread({ title: "运营早报" }), thread({ title: "Other", cwd: "/home/ana/parcel" })];
  expect(filterThreads(all, "早报").length).toBe(1);
  expect(filterThreads(all, "parcel oth").length).toBe(1);
  expect(filterThreads(all, "nothing").length).toBe(0);
});

test("a project has the shortest name that no other has, and a folder inside it is named with it", () => {
  const projects = ["/home/ana/luna", "/src/app", "/old/app", "/src/app/web"].map((path): ProjectRow => ({ name: "", path, kind: "registered", exists: true, sessions: 0 }));
  expect(projects.map((it) => projectName(it.path, projects))).toEqual(["luna", "src/app", "old/app", "web"]);
  expect(["/src/app/web/x", "/src/app/server", "/src/application", "/"].map((it) => projectOf(it, projects))).toEqual(["/src/app/web", "/src/app", null, null]);
  expect(placeName("/src/app/server", "/src/app", projects)).toBe("src/app/server");
  expect(placeName("/home/ana/luna", "/home/ana/luna", projects)).toBe("luna");
  expect(placeName("/home/ana/old", null, projects)).toBe("old");
});

test("unread are the messages that others wrote since", () => {
  const tail = tailOf(EVENTS);
  expect(tail.spoken.length).toBe(6);
  expect(unreadCount(tail, 0)).toBe(6);
  expect(unreadCount(tail, EVENTS.at(-1)!.seq)).toBe(0);
  expect(unreadCount(tail, undefined)).toBe(0);
});

test("platforms are known by their threads", () => {
  expect(["cli:room:.", "web:room:1", "system:heartbeat:main", "system:task:1", "matrix:room:1"].map(platformOf)).toEqual(["cli", "web", "heartbeat", "task", "web"]);
});

test("addresses name views and come back the same", () => {
  const id = "01a1ec07-0000-7000-8000-000000000001";
  for (const hash of ["#/", "#/settings", `#/c/${id}`, `#/c/${id}/${id}`, `#/i/${id}`]) expect(hrefOf(parseRoute(hash))).toBe(hash);
  expect(parseRoute("#/c/<script>")).toEqual({ view: "list" });
});

test("keys are written the same whatever the keyboard", () => {
  const key = (change: object): string => keyOf({ key: "k", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...change });
  expect([key({ metaKey: true }), key({ ctrlKey: true }), key({ key: "?", shiftKey: true }), key({ key: "K", shiftKey: true })]).toEqual(["mod+k", "mod+k", "?", "shift+k"]);
});

test("the model that a message expects is named as the host names it", () => {
  const row = { name: "sonata", source: "settings", model: "sonata-large", wire: "anthropic", server: "http://127.0.0.1:1" } as ModelRow;
  expect(expectedModel(row)).toEqual({ provider: "sonata", model: "sonata-large", server: "http://127.0.0.1:1" });
  expect(expectedModel({ ...row, source: "environment" }).provider).toBe("anthropic");
  expect(expectedModel({ ...row, source: "builtin", name: "demo", model: "demo", server: null })).toEqual({ provider: "demo", model: "demo" });
});

test("scripts are previewed record by record", () => {
  const script = { records: [{ type: "human_text_record", content: "Look\naround." }, { type: "func_call_record", name: "list_files", arguments: { path: "." } }, { type: "func_result_record", content: "7 entries\n1\n2\n3\n4\n5" }, { type: "agent_words_record", content: "I know." }] };
  expect(recordsOf(script).map((record) => [record.who, record.text])).toEqual([["person", "Look\naround."], ["call", 'list_files {"path":"."}'], ["result", "7 entries\n1\n2\n3…"], [null, "I know."]]);
  expect(recordsOf("nothing")).toEqual([]);
});

test("a title becomes a name for a file", () => {
  expect([slugOf("Feishu sends fail with 429!"), slugOf("早报 2")]).toEqual(["feishu-sends-fail-with-429", "2"]);
});

test("the language of a text is that of most of its words", () => {
  expect([languageOf("为什么早报有时收不到 Feishu"), languageOf("Why does 早报 fail"), languageOf("")]).toEqual(["zh-CN", "en", "en"]);
});

test("earlier sessions of a folder are conversations of their own, and not unread", () => {
  const row = (sessionId: string, threadId: string): SessionRow => ({ sessionId, threadId, agentId: "main", title: sessionId, createdAt: "2026-11-17T10:00:00Z", updatedAt: null, events: 3, leaf: null, cwd: "/work", state: "idle" });
  const sessions = new Map([row("new", "cli:main:work"), row("old", "cli:main:work"), row("tick", "system:heartbeat:main"), row("tock", "system:heartbeat:main")].map((it) => [it.sessionId, it]));
  const current = (threadId: string, sessionId: string): ThreadRow => ({ threadId, sessionId, audience: "owner", title: null, updatedAt: null, pendingApprovals: [] });
  const views = threadViews([current("cli:main:work", "new"), current("system:heartbeat:main", "tock")], sessions);
  expect(views.map((it) => [it.sessionId, it.isEarlier])).toEqual([["new", false], ["tock", false], ["old", true]]);
});

test("facts and sentences are put beside one another as each language does it", () => {
  expect([listed("en", "a", "", "b"), listed("zh", "甲", "乙")]).toEqual(["a, b", "甲，乙"]);
  expect([sentences("en", "A.", "", "B."), sentences("zh", "甲。", "乙。")]).toEqual(["A. B.", "甲。乙。"]);
});
