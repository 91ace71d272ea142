import assert from "node:assert/strict";
import { startFront } from "./front.mjs";
import { openPage, startDaemon, stopDaemon } from "./harness.mjs";
import { answered, begin, beginAndRest, events, plain, rest, said, say } from "./steps.mjs";

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

export const scenarios = [
  ["reload in mid-turn", reload],
  ["lost network in mid-turn", network],
  ["offline: written here, sent when back", offline],
  ["daemon stopped and started in mid-turn", (it) => restart(it, "SIGTERM")],
  ["daemon killed in mid-turn", (it) => restart(it, "SIGKILL")],
];
