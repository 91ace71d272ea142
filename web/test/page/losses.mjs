import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { startFront } from "./front.mjs";
import { Program } from "./program.mjs";
import { call, openPage, startDaemon, stopDaemon } from "./harness.mjs";
import { answered, begin, beginAndRest, events, plain, rest, said, say, shows } from "./steps.mjs";

/** What is shown is what the log holds: nothing missing, nothing doubled. */
async function sameAsLog(page, house, session) {
  const log = await events(house, session);
  const spoken = log.filter((event) => event.type === "user_message").map(plain);
  assert.deepEqual(await said(page), spoken);
  const last = log.findLast((event) => event.type === "assistant_message");
  const shown = await page.$$eval(".answer .prose", (all) => all.at(-1)?.textContent ?? "");
  assert.equal(shown.replace(/\s+/g, " ").trim(), plain(last).replace(/\s+/g, " ").trim());
}

async function reload({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, "Say it slowly");
  await page.waitForFunction(() => document.querySelector(".answer .prose")?.textContent.includes("word20"));
  await page.reload();
  await page.waitForSelector(".caret");
  const text = await page.textContent(".answer .prose");
  assert.match(text, /^word0 word1 /, "what was said before the reload is shown again");
  await rest(page);
  await sameAsLog(page, house, session);
}

async function network({ browser, house }) {
  const front = house.front ?? await startFront(house.host, { isEmbedded: true });
  house.url = front.url;
  const page = await openPage(browser, house);
  const session = await begin(page, "Say it slowly");
  for (let n = 1; n <= 4; n += 1) {
    await page.waitForFunction((word) => document.querySelector(".answer .prose")?.textContent.includes(word), `word${n * 60}`);
    front.cut();
    await page.waitForSelector(".banner");
    front.mend();
    await page.waitForSelector(".banner >> text=/lost/", { state: "detached" });
  }
  await rest(page);
  await sameAsLog(page, house, session);
  front.close();
}

async function offline({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Hello");
  await stopDaemon(house);
  await page.waitForSelector(".banner");
  await say(page, "Written while away");
  await page.waitForSelector(".pending >> text=not sent");
  await page.waitForSelector("text=/Offline/");
  // The page is closed before Kith is back. What was written is in the browser.
  const again = await page.context().newPage();
  await page.close();
  await startDaemon(house);
  await again.goto(`${house.url}/#/c/${session}`);
  await answered(again, "Written while away");
  await sameAsLog(again, house, session);
}

async function restart({ browser, house }, signal) {
  const page = await openPage(browser, house);
  const session = await begin(page, "Say it slowly");
  await page.waitForFunction(() => document.querySelector(".answer .prose")?.textContent.includes("word30"));
  await stopDaemon(house, signal);
  await page.waitForSelector(".banner");
  await startDaemon(house);
  await page.waitForSelector(".banner >> text=/lost|Offline/", { state: "detached" });
  await rest(page);
  const log = await events(house, session);
  assert.equal(log.filter((event) => event.type === "user_message").length, 1);
  assert.deepEqual(await said(page), ["Say it slowly"]);
  if (log.at(-1).reason === "done") await sameAsLog(page, house, session);
}

/** `kith up --replace`, as after an upgrade: the old daemon ends its turn, the page goes on with the new one. */
async function replaced({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, "Say it slowly");
  await page.waitForFunction(() => document.querySelector(".answer .prose")?.textContent.includes("word30"));
  await page.fill(".write textarea", "Written meanwhile");
  const { pid } = await call(house, "get_status");
  const old = house.daemon;
  const isOver = new Promise((resolve) => { old.on("exit", resolve); });
  await startDaemon(house, "--replace");
  assert.equal(await isOver, 0, "the old one ended in order");
  assert.notEqual((await call(house, "get_status")).pid, pid);
  await page.waitForSelector(".shell[data-state=online]");
  await rest(page);
  await sameAsLog(page, house, session);
  assert.equal(await page.inputValue(".write textarea"), "Written meanwhile");
  await page.press(".write textarea", "Enter");
  await answered(page, "Written meanwhile");
  const log = await events(house, session);
  assert.deepEqual(log.filter((event) => event.type === "turn_ended").map((event) => event.reason), ["done", "done"]);
}

/** A laptop that sleeps: nothing is closed, nothing answers, and then all goes on. */
async function slept({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, "Say it slowly");
  await page.waitForFunction(() => document.querySelector(".answer .prose")?.textContent.includes("word30"));
  house.daemon.kill("SIGSTOP");
  await page.waitForSelector(".banner >> text=/lost|Offline/");
  await say(page, "Written while it slept");
  house.daemon.kill("SIGCONT");
  await page.waitForSelector(".banner >> text=/lost|Offline/", { state: "detached" });
  await answered(page, "Written while it slept");
  await sameAsLog(page, house, session);
}

const KILLS = process.env.KITH_SLOW_TESTS === undefined ? 40 : 200;

/** Two pages, a program and a terminal on one session. Each is killed again and again, and none misses or doubles anything. */
async function killed({ browser, house }) {
  house.model.state.pace = 2;
  const first = await openPage(browser, house);
  const session = await beginAndRest(first, "Message 0");
  const context = first.context();
  const [address, pages] = [first.url(), [first, await context.newPage()]];
  await pages[1].goto(address);
  const program = new Program(house, session);
  let [nKills, nMessages, isOver] = [0, 0, false];
  let terminal = null;
  const speaking = (async () => {
    while (!isOver) {
      nMessages += 1;
      terminal = spawn(house.kith, ["ask", "--session", session, `Message ${nMessages}`], { cwd: house.folder, env: house.env, stdio: "ignore" });
      await once(terminal, "exit");
    }
  })();
  const draw = draws(20_261_118);
  for (; nKills < KILLS; nKills += 1) {
    await Promise.all([program.moved(1 + draw(4)), new Promise((resolve) => { setTimeout(resolve, draw(150)); })]);
    const which = draw(4);
    if (which === 0) program.kill();
    else if (which === 1) terminal.kill("SIGKILL");
    else {
      await pages[which - 2].close();
      pages[which - 2] = await context.newPage();
      await pages[which - 2].goto(address);
    }
  }
  isOver = true;
  await speaking;
  for (const page of pages) {
    await page.waitForFunction(() => document.querySelector(".shell[data-state=online]") !== null);
    await rest(page);
  }
  const log = await allEvents(house, session);
  const spoken = log.filter((event) => event.type === "user_message").map(plain);
  assert.equal(new Set(spoken).size, spoken.length, "a message is said once");
  for (const page of pages) {
    await page.waitForFunction((n) => document.querySelectorAll(".tree .turn").length === n && document.querySelector(".live, .pending") === null, spoken.length);
    assert.deepEqual(await page.$$eval(".tree .turn .clip", (all) => all.map((it) => it.textContent)), spoken);
  }
  await program.reached(log.at(-1).seq);
  program.end();
  assert.deepEqual(program.events, log.map(({ seq, id }) => ({ seq, id })));
  console.log(`   ${nKills} kills of two pages, a terminal and a program, ${log.length} events: 0 missing, 0 doubled; ${JSON.stringify(program.modes)}`);
}

async function allEvents(house, session) {
  const found = [];
  for (let after = 0; after !== undefined;) {
    const page = await call(house, "read_events", { session, after, limit: 500 });
    found.push(...page.events);
    after = page.nextAfter;
  }
  return found;
}

/** Numbers that look random and are the same in every run. */
function draws(seed) {
  let state = BigInt(seed);
  return (n) => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffff_ffff_ffff_ffffn;
    return Number(state >> 33n) % n;
  };
}

/** The program was replaced by another version while the page was open. */
async function upgraded({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Hello");
  await page.fill(".write textarea", "Not sent yet");
  await page.waitForFunction((id) => localStorage.getItem(`kith.draft.${id}`) === "Not sent yet", session);
  // A part of the page that the new version does not have any more.
  await page.route("**/assets/settings-*.js", (route) => route.fulfill({ status: 404 }));
  await page.click("a[href='#/settings']");
  await page.waitForSelector("h1:has-text('Kith was updated')");
  await page.unroute("**/assets/settings-*.js");
  await page.goto(`${house.url}/#/c/${session}`);
  await page.waitForSelector("h1:has-text('Kith was updated')");
  await page.click("button:has-text('Reload')");
  await shows(page);
  assert.equal(await page.inputValue(".write textarea"), "Not sent yet");
  // A new version with another protocol: said once, and not tried again and again.
  let nSockets = 0;
  await page.routeWebSocket("**/api/socket", (socket) => {
    nSockets += 1;
    const host = socket.connectToServer();
    host.onMessage((frame) => socket.send(String(frame).replace(/("type":"hello","protocol":)\d+/, "$1999")));
  });
  await page.reload();
  await page.waitForSelector("h1:has-text('Kith was updated')");
  assert.equal(nSockets, 1);
  const log = await events(house, session);
  assert.deepEqual(log.filter((event) => event.type === "user_message").map(plain), ["Hello"]);
}

/** The browser's clock is a day off in either direction, as after a change by hand. */
async function clockChanged({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Hello");
  for (const [days, text] of [[1, "A day later"], [-1, "A day earlier"], [0, "Today again"]]) {
    await page.clock.setFixedTime(Date.now() + days * 86_400_000);
    await say(page, text);
    await answered(page, text);
    await sameAsLog(page, house, session);
  }
}

export const scenarios = [
  ["reload in mid-turn", reload],
  ["lost network in mid-turn", network],
  ["offline: written here, sent when back", offline],
  ["daemon stopped and started in mid-turn", (it) => restart(it, "SIGTERM")],
  ["daemon killed in mid-turn", (it) => restart(it, "SIGKILL")],
  ["daemon replaced by another in mid-turn", replaced],
  ["clients killed at random", killed],
  ["the machine sleeps in mid-turn", slept],
  ["Kith is updated while the page is open", upgraded],
  ["the clock is changed", clockChanged],
];
