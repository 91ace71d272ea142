// What belongs to the whole house: who the agent is, and all conversations.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, openPage } from "./harness.mjs";
import { barriers, beginAndRest, events, noProblems, shows } from "./steps.mjs";

/** N-28: the name and the emoji that IDENTITY.md gives the agent. */
async function identity({ browser, house }) {
  writeFileSync(join(house.folder, "IDENTITY.md"), "name: Magi\nemoji: 🎸\n");
  const page = await openPage(browser, house);
  await page.waitForSelector(".agent:has-text('🎸 Magi')");
  await beginAndRest(page, "Hello");
  await page.waitForSelector(".status dd:has-text('🎸 Magi')");
  assert.equal(await page.getAttribute(".write textarea", "placeholder"), "Message Magi");
  await page.click("button[aria-label='New conversation']");
  await page.waitForSelector("dialog option:has-text('🎸 Magi')", { state: "attached" });
  assert.deepEqual(await barriers(page, "identity"), []);
  noProblems(page);
}

/** U-02, U-03: found by a Chinese word of two characters; removed after a question that says what goes. */
async function foundAndRemoved({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "明天天气怎么样？");
  const other = await beginAndRest(page, "Hello");
  await page.fill("input[type=search]", "天气");
  await page.waitForSelector(".thread:has-text('天气')");
  await page.waitForSelector(".thread:has-text('Hello')", { state: "detached" });
  await page.click(".thread:has-text('天气')");
  await page.waitForFunction((id) => location.hash.includes(id), session);
  await page.fill("input[type=search]", "");
  await shows(page);
  const choose = async () => {
    await page.click(".head button[aria-label='More']");
    await page.click("[role=menuitem]:has-text('Delete conversation')");
    await page.waitForSelector("dialog .warn:has-text('removed for good')");
  };
  await choose();
  await page.click("dialog .btn:has-text('Cancel')");
  assert.ok((await events(house, session)).length > 0);
  await choose();
  await page.click("dialog .btn.danger:not(:disabled)");
  await page.waitForSelector(".thread:has-text('天气')", { state: "detached" });
  const { sessions } = await call(house, "list_sessions");
  assert.deepEqual(sessions.map((it) => it.sessionId), [other]);
  await assert.rejects(events(house, session));
}

export const scenarios = [
  ["the agent's name and emoji are shown", identity],
  ["a conversation is found by its words and removed after a question", foundAndRemoved],
];
