// Records the events and subscription items of a real session for the unit tests: `KITH=… node test/record.mjs`.
import { mkdirSync, writeFileSync } from "node:fs";
import WebSocket from "ws";
import { call, closeHouse, openHouse } from "./page/harness.mjs";

const FOLDER = new URL("./unit/fixtures/", import.meta.url).pathname;
const house = await openHouse();
const socket = new WebSocket(`ws://${house.host.host}/api/socket`, { headers: { authorization: `Bearer ${house.token}` } });
await new Promise((resolve) => socket.on("open", resolve));
let nRequests = 0;
const waiting = new Map();
socket.on("message", (data) => {
  const frame = JSON.parse(String(data));
  const pending = waiting.get(frame.requestId);
  if (frame.type === "item") pending?.onItem(frame.item);
  else if (frame.type === "response") pending?.resolve(frame.data);
  else if (frame.type === "error") pending?.reject(new Error(frame.message));
});
const ask = (type, body, onItem = () => {}) => {
  const requestId = String(++nRequests);
  socket.send(JSON.stringify({ type, requestId, body }));
  return new Promise((resolve, reject) => waiting.set(requestId, { onItem, resolve, reject }));
};
socket.send(JSON.stringify({ type: "hello", protocol: 3, clientId: "page", language: "en" }));

const id = (n) => `01a1ec07-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [sessionId, threadId] = [id(1), `web:room:${id(2)}`];
await ask("create_dialog", { sessionId, threadId, cwd: house.folder });
const items = [];
void ask("subscribe", { to: { session: sessionId }, from: { persistentLastSeq: 0 } }, (item) => items.push(item));
const expects = { provider: "sonata", model: "sonata-large", server: house.model.url };
const say = (n, text, more = {}) => ask("send_message", { clientMessageId: id(n), text, threadId, target: { session: sessionId }, cwd: house.folder, expects, ...more });
await say(10, "Look around, please.");
house.model.state.failures = 1;
await say(11, "Hello");
const first = (await call(house, "read_events", { session: sessionId, limit: 500 })).events;
const hello = first.findLast((event) => event.type === "user_message");
await ask("branch_session", { session: sessionId, to: hello.parentId, branchId: id(20) });
await say(12, "看看这里");
const slow = say(13, "Say it slowly");
await new Promise((resolve) => setTimeout(resolve, 600));
const steer = say(14, "Cap it at 30 s.", { runningBehavior: "steer" });
const queued = say(15, "And then the changelog", { runningBehavior: "follow_up" });
await new Promise((resolve) => setTimeout(resolve, 600));
await ask("cancel_turn", { session: sessionId, cancelId: id(21) });
await Promise.allSettled([slow, steer, queued]);
await new Promise((resolve) => setTimeout(resolve, 300));
mkdirSync(FOLDER, { recursive: true });
const clean = (value) => JSON.stringify(value).replaceAll(house.root, "/home/ana").replaceAll(house.model.url, "http://127.0.0.1:1");
// What the agent was told is long, and the page reads nothing of it.
const short = (item) => {
  const event = item.turn?.event;
  if (event?.type === "instruction_snapshot") return { turn: { event: { ...event, snapshot: {} } } };
  return event?.type === "toolset_snapshot" ? { turn: { event: { ...event, tools: [] } } } : item;
};
writeFileSync(`${FOLDER}session-items.jsonl`, items.map((item) => `${clean(short(item))}\n`).join(""));
socket.close();
await closeHouse(house);
