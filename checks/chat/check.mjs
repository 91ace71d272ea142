// Talks to a running house as the AI SDK's own clients do: text, calls, approvals, resuming, stopping, errors.
//
//   node check.mjs PATH-OF-KITH
//
// `cargo xtask test` runs it with the program that the tests have built.

import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { useChatClient, version6Client } from "./clients.mjs";
import { startHouse, startVendor } from "./house.mjs";

const WAIT_MS_MAX = 60_000;

function text(message) {
  return (message?.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("");
}

function calls(message) {
  return message.parts.filter((part) => part.type === "dynamic-tool");
}

async function until(what, holds) {
  const end = Date.now() + WAIT_MS_MAX;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((wake) => setTimeout(wake, 10));
  }
}

/** A promise that the test settles. */
function gate() {
  let open;
  const opened = new Promise((settle) => {
    open = settle;
  });
  return { open, opened };
}

async function approve(client, approved) {
  const asked = calls(client.messages.at(-1)).filter((part) => part.state === "approval-requested");
  assert.equal(asked.length, 1, JSON.stringify(client.messages.at(-1)));
  await client.answer({ id: asked[0].approval.id, approved });
  await until("the turn after an answer", () => client.status === "ready" && text(client.messages.at(-1)) !== "");
  return calls(client.messages.at(-1))[0];
}

const SCENARIOS = {
  async "text is streamed and the second message knows the first"({ make }) {
    const client = make({ id: "text" });
    await client.send("say hello there");
    assert.equal(text(client.messages.at(-1)), "hello there");
    await until("the answer on the screen", () => client.rendered.length === 2);
    await client.send("what did I say first?");
    assert.match(text(client.messages.at(-1)), /hello there/);
    assert.equal(client.status, "ready");
    assert.equal(client.messages.at(-1).metadata.threadId, `web:room:${client.chatId}`);
    return client;
  },

  async "a call has its input and its output"({ make, house }) {
    writeFileSync(join(house.dir, "note.txt"), "remember the milk\n");
    const client = make({ id: "call" });
    await client.send("read note.txt");
    const [call] = calls(client.messages.at(-1));
    assert.equal(call.toolName, "read_file");
    assert.equal(call.state, "output-available");
    assert.match(JSON.stringify(call.output), /remember the milk/);
    assert.equal(call.input.path, "note.txt");
    return client;
  },

  async "an approval that is given lets the call run in the same message"({ make, house }) {
    const client = make({ id: "allow" });
    await client.send("write `Be brief.` to SOUL.md");
    const id = client.messages.at(-1).id;
    const call = await approve(client, true);
    assert.equal(call.state, "output-available");
    assert.equal(client.messages.length, 2);
    assert.equal(client.messages.at(-1).id, id);
    assert.match(readFileSync(join(house.dir, "SOUL.md"), "utf8"), /Be brief/);
    rmSync(join(house.dir, "SOUL.md"));
    return client;
  },

  async "an approval that is denied runs nothing"({ make, house }) {
    const client = make({ id: "deny" });
    await client.send("write `Be rude.` to SOUL.md");
    const call = await approve(client, false);
    assert.equal(call.state, "output-denied");
    assert.equal(client.messages.length, 2);
    assert.equal(existsSync(join(house.dir, "SOUL.md")), false);
    return client;
  },

  async "an answer is asked again on a branch"({ make, house }) {
    const client = make({ id: "again" });
    await client.send("say once more");
    const before = client.messages.at(-1).id;
    await client.regenerate();
    assert.equal(text(client.messages.at(-1)), "once more");
    assert.notEqual(client.messages.at(-1).id, before);
    const { data } = await house.call("list_messages", { of: { thread: `web:room:${client.chatId}` } });
    assert.equal(data.messages.length, 2);
    return client;
  },

  async "a client that comes in mid-stream gets the whole message"({ make, vendor }) {
    const { open, opened } = gate();
    vendor.scripts.push(async (say) => {
      say("The beginning, ");
      await opened;
      say("and the end.");
    });
    const first = make({ id: "resume", model: "fake" });
    const sending = first.send("tell me");
    await until("the first words", () => text(first.messages.at(-1)) === "The beginning, ");
    await first.stop();
    await sending;
    const second = make({ id: "resume", model: "fake", messages: first.messages.slice(0, 1) });
    const resuming = second.resume();
    await until("the first words again", () => second.messages.length === 2 && text(second.messages[1]) === "The beginning, ");
    open();
    await resuming;
    assert.equal(text(second.messages.at(-1)), "The beginning, and the end.");
    assert.equal(second.messages.at(-1).id, first.messages.at(-1).id);
    // Nothing runs any more.
    await second.resume();
    assert.equal(second.messages.length, 2);
    assert.equal(second.status, "ready");
    first.close();
    return second;
  },

  async "a steer from elsewhere is a data part of the running message"({ make, house, vendor }) {
    const { open, opened } = gate();
    vendor.scripts.push(async (say) => {
      say("The beginning. ");
      await opened;
    });
    vendor.scripts.push(async (say) => say("The end."));
    const client = make({ id: "steer", model: "fake" });
    const sending = client.send("tell me");
    await until("the first words", () => text(client.messages.at(-1)) === "The beginning. ");
    const steer = { clientMessageId: uuid7(), text: "be brief", threadId: `web:room:${client.chatId}`, target: "current", cwd: house.dir, model: "fake", expects: { provider: "fake", model: "fake", server: `http://127.0.0.1:${vendor.port}/v1` } };
    const accepted = await house.call("send_message", { ...steer, ack: "accepted", runningBehavior: "steer" });
    assert.equal(accepted.ok, true, JSON.stringify(accepted));
    open();
    await sending;
    assert.equal(client.messages.length, 2);
    assert.equal(text(client.messages.at(-1)), "The beginning. The end.");
    const told = client.messages.at(-1).parts.filter((part) => part.type === "data-reminder").map((part) => part.data);
    assert.deepEqual(told.map((it) => [it.kind, it.text, it.author?.userId]), [["steer", "be brief", "owner"]]);
    return client;
  },

  async "a turn that is stopped ends as aborted"({ make, house, vendor }) {
    const { open, opened } = gate();
    vendor.scripts.push(async (say) => {
      say("On and on");
      await opened;
    });
    const client = make({ id: "stop", model: "fake" });
    const sending = client.send("tell me everything");
    await until("the first words", () => text(client.messages.at(-1)) === "On and on");
    const { sessionId } = client.messages.at(-1).metadata;
    const stopped = await house.call("cancel_turn", { session: sessionId, cancelId: uuid7() });
    assert.equal(stopped.data.wasRunning, true, JSON.stringify(stopped));
    await sending;
    open();
    assert.equal(client.status, "ready");
    assert.equal(text(client.messages.at(-1)), "On and on");
    const ended = client.messages.at(-1).parts.filter((part) => part.type === "data-turn-ended");
    assert.equal(ended[0]?.data.reason, "cancelled");
    return client;
  },

  async "a model that fails is an error with words"({ make }) {
    const client = make({ id: "error", model: "fake" });
    await client.send("hello");
    assert.equal(client.status, "error");
    assert.match(client.errors[0].message, /key|401|refused/i);
    assert.equal(client.messages[0].role, "user");
    return client;
  },

  async "a request that is refused is an error with words"({ make }) {
    const client = make({ id: "refused", model: "no-such-model" });
    await client.send("hello");
    assert.equal(client.status, "error");
    assert.match(client.errors[0].message, /no-such-model/);
    return client;
  },
};

function uuid7() {
  const hex = Date.now().toString(16).padStart(12, "0") + crypto.randomUUID().replaceAll("-", "").slice(12);
  const id = `${hex.slice(0, 12)}7${hex.slice(13, 16)}8${hex.slice(17)}`;
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const kith = process.argv[2];
if (kith === undefined) {
  console.error("error: name the program kith");
  process.exit(2);
}
const vendor = await startVendor();
const house = await startHouse(resolve(kith), vendor);
let failed = 0;
let passed = 0;
try {
  for (const [version, makeClient] of [["7", useChatClient], ["6", version6Client]]) {
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      const make = ({ id, ...rest }) => {
        const chatId = `${id}-${version}`;
        return Object.assign(makeClient(house, { id: chatId, ...rest }), { chatId });
      };
      vendor.scripts.length = 0;
      try {
        const client = await scenario({ make, house, vendor });
        client.close();
        passed += 1;
      } catch (error) {
        failed += 1;
        console.error(`error: ai ${version}: ${name}: ${error.stack}`);
      }
    }
  }
} finally {
  await house.stop();
  vendor.close();
}
console.log(`${passed} scenarios passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
