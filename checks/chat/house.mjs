// A house with a running daemon, and a model server that says what the test tells it to.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const START_MS_MAX = 60_000;

/** A model server. Each request takes the next of the `scripts`: an async function that gets `say`. */
export async function startVendor() {
  const scripts = [];
  const server = createServer(async (request, response) => {
    request.resume();
    const script = scripts.shift();
    if (script === undefined) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "no such key" } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, finish = null) => {
      const choice = { index: 0, delta, finish_reason: finish };
      const chunk = { id: "x", object: "chat.completion.chunk", model: "fake", choices: [choice] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    await script((text) => send({ content: text }));
    send({}, "stop");
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, scripts, close: () => server.closeAllConnections() || server.close() };
}

export async function startHouse(kith, vendor) {
  const home = mkdtempSync(join(tmpdir(), "kith-chat-"));
  const dir = join(home, "agent");
  mkdirSync(dir);
  writeFileSync(join(dir, "Agent.md"), "Be kind.\n");
  writeFileSync(
    join(dir, "kith.toml"),
    `[models.fake]\nwire = "openai_chat"\nbaseUrl = "http://127.0.0.1:${vendor.port}/v1"\nmodel = "fake"\n`,
  );
  const env = { ...process.env, HOME: home, KITH_HOME: dir, NO_PROXY: "127.0.0.1" };
  const daemon = spawn(kith, ["up", "--port", "0"], { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const address = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`the daemon did not start: ${printed}`)), START_MS_MAX);
    for (const stream of [daemon.stdout, daemon.stderr]) {
      stream.on("data", (bytes) => {
        printed += bytes;
        const found = printed.match(/http:\/\/127\.0\.0\.1:\d+/);
        if (found) {
          clearTimeout(late);
          resolve(found[0]);
        }
      });
    }
    daemon.on("exit", (code) => reject(new Error(`the daemon ended with ${code}: ${printed}`)));
  });
  daemon.removeAllListeners("exit");
  const token = readFileSync(join(dir, ".kith/http-token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}` };
  const call = async (name, body) => {
    const response = await fetch(`${address}/api/${name}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  const stop = async () => {
    const ended = once(daemon, "exit");
    daemon.kill("SIGTERM");
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  return { dir, address, headers, call, stop };
}
