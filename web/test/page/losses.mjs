import assert from "node:assert/strict";
import { startFront } from "./front.mjs";
import { openPage, startDaemon, stopDaemon } from "./harness.mjs";
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
  ["the machine sleeps in mid-turn", slept],
  ["Kith is updated while the page is open", upgraded],
  ["the clock is changed", clockChanged],
];
