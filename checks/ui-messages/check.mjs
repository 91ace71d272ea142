// Reads thread files (JSON lines, the last line of an id wins) and arrays of messages, and has both
// versions of the AI SDK that clients use validate them and turn them into model messages.
//
//   node check.mjs FOLDER
//
// `cargo xtask test` runs it on files that the Rust tests write.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import * as ai6 from "ai6";
import * as ai7 from "ai7";

const VERSIONS = { "ai 6": ai6, "ai 7": ai7 };
const TOOL_STATES = [
  "input-available",
  "approval-requested",
  "approval-responded",
  "output-available",
  "output-error",
  "output-denied",
];
const FAILURES_SHOWN_MAX = 10;

// What both versions must refuse, or this check would pass whatever is written.
const REFUSED = [
  [{ id: "u", role: "user", parts: [] }],
  [{ id: "a", role: "assistant", parts: [tool({ state: "output-denied", approval: { id: "p", approved: true } })] }],
  [{ id: "a", role: "assistant", parts: [tool({ state: "output-error", errorText: "x", output: "y" })] }],
  [{ id: "a", role: "assistant", parts: [{ type: "text", text: "x", state: null }] }],
];

function tool(rest) {
  return { type: "dynamic-tool", toolName: "t", toolCallId: "c", input: {}, ...rest };
}

function read(path) {
  const text = readFileSync(path, "utf8");
  if (path.endsWith(".json")) return JSON.parse(text);
  const messages = new Map();
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const message = JSON.parse(line);
    messages.set(message.id, message);
  }
  return [...messages.values()];
}

async function check(name, ai, messages) {
  const validated = await ai.validateUIMessages({ messages });
  // Keys that a version does not know are taken out without a word.
  assert.deepEqual(validated, messages, `${name} changed a message`);
  const converted = await ai.convertToModelMessages(validated);
  assert.ok(Array.isArray(converted), `${name} converted nothing`);
  return converted.length;
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error("error: name the folder with the thread files");
  process.exit(2);
}

const failures = [];
const states = new Map();
const counts = { files: 0, messages: 0, parts: 0 };
const converted = Object.fromEntries(Object.keys(VERSIONS).map((name) => [name, 0]));

for (const [name, ai] of Object.entries(VERSIONS)) {
  for (const messages of REFUSED) {
    const { success } = await ai.safeValidateUIMessages({ messages });
    if (success) failures.push(`${name} accepts ${JSON.stringify(messages)}`);
  }
}

const files = readdirSync(folder).filter((name) => /\.jsonl?$/.test(name)).sort();
for (const file of files) {
  const messages = read(join(folder, file));
  counts.files += 1;
  counts.messages += messages.length;
  for (const part of messages.flatMap((message) => message.parts)) {
    counts.parts += 1;
    if (part.type === "dynamic-tool") states.set(part.state, (states.get(part.state) ?? 0) + 1);
  }
  for (const [name, ai] of Object.entries(VERSIONS)) {
    try {
      converted[name] += await check(name, ai, messages);
    } catch (error) {
      failures.push(`${file}: ${name}: ${error.message.slice(0, 2000)}`);
    }
  }
}

if (files.length === 0) failures.push(`there are no thread files in ${folder}`);
for (const state of TOOL_STATES) {
  if (!states.has(state)) failures.push(`no part is in the state ${state}, so it was not checked`);
}

console.log(`${counts.files} files, ${counts.messages} messages, ${counts.parts} parts`);
console.log([...states].map(([state, n]) => `${state} ${n}`).sort().join(", "));
console.log(Object.entries(converted).map(([name, n]) => `${name}: ${n} model messages`).join(", "));
for (const failure of failures.slice(0, FAILURES_SHOWN_MAX)) console.error(`error: ${failure}`);
if (failures.length > 0) {
  console.error(`${failures.length} things are wrong`);
  process.exit(1);
}
