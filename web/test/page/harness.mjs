// A house of its own with a model server, `kith up` and a browser, for tests of the whole page.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { startFront } from "./front.mjs";
import { startModel } from "./model.mjs";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** Far more than anything takes, so that a busy machine fails no test. */
const WAIT_MS_MAX = 60_000;
const ENVIRONMENT = { PATH: process.env.PATH, HOME: "", LANG: "C.UTF-8" };

/** The program under test. */
export function kithPath() {
  const path = process.env.KITH;
  if (path === undefined || !existsSync(path)) throw new Error("set KITH to the program `kith`");
  return path;
}

export async function openHouse() {
  const kith = kithPath();
  const root = mkdtempSync(join(tmpdir(), "kith-page-"));
  const folder = join(root, "house");
  const env = { ...ENVIRONMENT, HOME: root, TEST_KEY: "test" };
  const model = await startModel();
  execFileSync(kith, ["init", folder], { env, stdio: "ignore" });
  const settings = `[models]\nuse = "sonata"\n\n[models.sonata]\nwire = "anthropic"\nbaseUrl = "${model.url}"\napiKey = "\${TEST_KEY}"\nmodel = "sonata-large"\ncontextWindow = 200000\nprice.input = 3\nprice.output = 15\nprice.cacheRead = 0.3\n`;
  writeFileSync(join(folder, "kith.toml"), settings);
  // Not in one step: the model server is in this process.
  const run = (...args) => new Promise((resolve, reject) => {
    const child = spawn(kith, args, { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
    let told = "";
    child.stderr.on("data", (chunk) => { told += chunk; });
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`kith ${args[0]} ended with ${code}: ${told}`))));
  });
  const house = { folder, root, model, env, kith, run, daemon: null, port: 0, url: "", front: null };
  await startDaemon(house);
  return house;
}

export async function startDaemon(house, ...more) {
  const daemon = spawn(house.kith, ["up", "--port", String(house.port), ...more], { cwd: house.folder, env: house.env });
  house.daemon = daemon;
  let told = "";
  const address = await new Promise((resolve, reject) => {
    const hear = (chunk) => {
      told += chunk;
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(told);
      if (found) resolve(found);
    };
    daemon.stdout.on("data", hear);
    daemon.stderr.on("data", hear);
    daemon.on("exit", () => reject(new Error(`kith up ended: ${told}`)));
  });
  house.port = Number(address[1]);
  house.host = new URL(address[0]);
  house.token = readFileSync(join(house.folder, ".kith/http-token"), "utf8").trim();
  if (house.front === null && process.env.KITH_PAGE_EMBEDDED !== "1") house.front = await startFront(house.host);
  house.url = house.front === null ? address[0] : house.front.url;
}

export async function stopDaemon(house, signal = "SIGTERM") {
  if (house.daemon.exitCode !== null || house.daemon.signalCode !== null) return;
  const ended = new Promise((resolve) => house.daemon.on("exit", resolve));
  house.daemon.kill(signal);
  await ended;
}

export async function closeHouse(house) {
  await stopDaemon(house, "SIGKILL");
  house.front?.close();
  house.model.close();
  rmSync(house.root, { recursive: true, force: true });
}

/** Calls the host as a program does. */
export async function call(house, name, body = {}) {
  const response = await fetch(`${house.host.origin}/api/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${house.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!answer.ok) throw new Error(`${name}: ${answer.error.message}`);
  return answer.data;
}

export async function loginUrl(house) {
  const made = await call(house, "create_login");
  const code = /#login=(.+)$/.exec(made.url ?? made.loginUrl ?? "")?.[1] ?? made.code;
  return `${house.url}/#login=${code}`;
}

export async function openBrowser() {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"] });
}

/** A page that is logged in. What it logs as an error is kept. */
export async function openPage(browser, house, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB", ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: house.url });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  page.problems = [];
  page.on("console", (message) => { if (message.type() === "error") page.problems.push(message.text()); });
  page.on("pageerror", (error) => page.problems.push(String(error)));
  await page.goto(await loginUrl(house));
  await page.waitForSelector(".app");
  return page;
}

export function screensFolder() {
  const folder = process.env.KITH_SCREENS ?? new URL("../../../target/screens/", import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  return folder;
}
