// A model server for tests: it speaks Anthropic's protocol, streams, and answers by rules. No part of the page.
import { createServer } from "node:http";

const WORD_MS = 12;
const SLOW_WORD_MS = 25;

/** What it says, by words of the last message and by how many results of calls follow it. */
const RULES = [
  { when: /look around/i, steps: [
    { thinking: "The folder first, then the files that say who I am. 先看文件夹。", text: "I look at the folder first.", calls: [["list_files", { path: "." }]] },
    { calls: [["read_file", { path: "Agent.md" }], ["read_file", { path: "IDENTITY.md" }], ["read_file", { path: "USER.md" }]] },
    { text: "This is an agent’s home: `Agent.md` says how it works, `USER.md` who you are.\n\n| File | Purpose | Lines |\n|---|---|--:|\n| `Agent.md` | constitution | 27 |\n| `USER.md` | about you | 12 |\n\nThe place where an answer is cut:\n\n```rust\n// Longer answers are paged.\nlet shown = answer.chars().take(ANSWER_CHARS_MAX);\nif shown.clone().count() == 4096 {\n    return Err(\"too long\".into());\n}\n```\n\nThe sum is $\\sum_{k=1}^{n} k = \\frac{n(n+1)}{2}$, and in full:\n\n$$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}$$\n\n1. **Keep it.** Nothing changes.\n2. **Raise it.** One line." },
  ] },
  { when: /看看/, steps: [
    { thinking: "用户用中文，就用中文回答。", text: "好的，先看看文件夹。", calls: [["list_files", { path: "." }]] },
    { text: "这里是智能体的主目录。`Agent.md` 写着工作方式，`USER.md` 写着你是谁。\n\n- 先结论，后理由。\n- 不要动 `kith.toml`。" },
  ] },
  // "(Continue.)" is what Kith asks with when a stopped answer is tried again.
  { when: /slowly|^\(Continue\.\)/i, steps: [{ text: Array.from({ length: 400 }, (_, i) => `word${i}`).join(" "), isSlow: true }] },
  { when: /search/i, steps: [{ calls: [["search_files", { pattern: "agent" }]] }, { text: "Found." }] },
  { when: /missing/i, steps: [{ calls: [["read_file", { path: "no-such-file.md" }]] }, { text: "There is no such file." }] },
  { when: /secret/i, steps: [{ text: "I need to look at that.", calls: [["read_file", { path: "/root/.ssh/config" }]] }, { text: "I did what you allowed." }] },
  { when: /run `(.+)`/i, steps: ([, command]) => [{ text: "I run it.", calls: [["exec_shell", { command }]] }, { text: "Done." }] },
  { when: /edit the (\S+)/i, steps: ([, path]) => [
    { calls: [["write_file", { path: "note.txt", content: "one\ntwo\nthree\n" }]] },
    { calls: [["edit_file", { path: "note.txt", old: "two", new: "zwei\n二" }]] },
    { calls: [["read_file", { path }]] },
    { calls: [["write_file", { path, content: "# You\n\nYou like short answers.\n" }]] },
    { text: "I changed both." },
  ] },
  { when: /xss/i, steps: (_, { hostile }) => [
    { thinking: hostile.join("\n\n"), calls: [["list_files", { path: "names" }], ["read_file", { path: "corpus.md" }], ["read_file", { path: "names/<img src=x onerror=alert(1)>.md" }], ["read_file", { path: "<svg/onload=alert(1)>" }]] },
    { calls: [["write_file", { path: "names/<b onclick=alert(1)>.md", content: hostile.join("\n") }]] },
    { calls: [["edit_file", { path: "names/<b onclick=alert(1)>.md", old: hostile[0], new: hostile[2] }], ["search_files", { pattern: "onerror" }], ["<script>alert(1)</script>", { "<img src=x onerror=alert(1)>": 1 }]] },
    { text: hostile.join("\n\n") },
  ] },
  { when: /./, steps: [{ text: "I heard you. 我听到了。" }] },
];

export function startModel(port = 0) {
  const state = { pace: WORD_MS, slowPace: SLOW_WORD_MS, failures: 0, requests: [], hostile: [] };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => { body += chunk; });
    request.on("end", () => {
      state.requests.push(body);
      if (state.failures > 0) {
        state.failures -= 1;
        response.writeHead(503, { "content-type": "application/json" }).end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
        return;
      }
      void answer(JSON.parse(body), response, state);
    });
  });
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => resolve({ url: `http://127.0.0.1:${server.address().port}`, state, close: () => server.close() }));
  });
}

/** The rule of the last message with words of a person, and how many answers came since. */
function stepOf(messages, state) {
  let nAnswers = 0;
  for (let i = messages.length - 1; i >= 0; i -= 1) {
    const { role, content } = messages[i];
    if (role === "assistant") { nAnswers += 1; continue; }
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (blocks.some((it) => it.type === "tool_result")) continue;
    const said = blocks.filter((it) => it.type === "text" && !it.text.includes("<system-reminder>")).map((it) => it.text).join(" ");
    const rule = RULES.find((it) => it.when.test(said));
    const steps = typeof rule.steps === "function" ? rule.steps(rule.when.exec(said), state) : rule.steps;
    return steps[Math.min(nAnswers, steps.length - 1)];
  }
  return RULES.at(-1).steps[0];
}

async function answer(request, response, state) {
  const step = stepOf(request.messages, state);
  const send = (data) => response.write(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  const inputTokens = Math.round(JSON.stringify(request.messages.slice(-2)).length / 4);
  const cached = Math.round(JSON.stringify(request).length / 4) - inputTokens;
  response.writeHead(200, { "content-type": "text/event-stream" });
  send({ type: "message_start", message: { id: "msg", type: "message", role: "assistant", model: request.model, content: [], stop_reason: null, usage: { input_tokens: inputTokens, cache_read_input_tokens: Math.max(0, cached), cache_creation_input_tokens: 0, output_tokens: 1 } } });
  let index = 0;
  const stream = async (kind, text) => {
    send({ type: "content_block_start", index, content_block: kind === "thinking" ? { type: "thinking", thinking: "", signature: "" } : { type: "text", text: "" } });
    for (const word of text.split(/(?<=\s)/)) {
      if (response.destroyed) return;
      send({ type: "content_block_delta", index, delta: kind === "thinking" ? { type: "thinking_delta", thinking: word } : { type: "text_delta", text: word } });
      await new Promise((resolve) => setTimeout(resolve, step.isSlow ? state.slowPace : state.pace));
    }
    if (kind === "thinking") send({ type: "content_block_delta", index, delta: { type: "signature_delta", signature: "EqQBCgIYAhIM" } });
    send({ type: "content_block_stop", index });
    index += 1;
  };
  if (step.thinking) await stream("thinking", step.thinking);
  if (step.text) await stream("text", step.text);
  for (const [name, input] of step.calls ?? []) {
    send({ type: "content_block_start", index, content_block: { type: "tool_use", id: `toolu_${index}_${Date.now()}`, name, input: {} } });
    send({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: JSON.stringify(input) } });
    send({ type: "content_block_stop", index });
    index += 1;
  }
  send({ type: "message_delta", delta: { stop_reason: step.calls ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 60 + (step.text ?? "").length / 4 | 0 } });
  send({ type: "message_stop" });
  response.end();
}
