import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { call, openPage } from "./harness.mjs";
import { ask, events, newConversation, noProblems, sessionOf } from "./steps.mjs";

async function saveScript(page, name, isAgain) {
  await page.click("[aria-label='Save as priming script']");
  await page.fill("dialog .field input", name);
  await page.click("dialog .btn.primary");
  if (!isAgain) return;
  await page.waitForSelector("dialog [role=alert]");
  assert.match(await page.textContent("dialog [role=alert]"), /exists/);
  await page.click("dialog .btn.danger");
}

async function saving({ browser, house }) {
  const page = await openPage(browser, house);
  await newConversation(page);
  await ask(page, "Look around, please.");
  await saveScript(page, "place/around", false);
  await page.waitForSelector(".toast:has-text('place/around')");
  const { scripts } = await call(house, "list_scripts");
  const saved = scripts.find((script) => script.scriptRef?.endsWith("place/around"));
  const path = saved.path.startsWith("/") ? saved.path : join(house.folder, saved.path);
  const before = readFileSync(path, "utf8");
  assert.match(before, /### record/);
  await ask(page, "Hello");
  await saveScript(page, "place/around", true);
  await page.waitForSelector("dialog", { state: "detached" });
  assert.notEqual(readFileSync(path, "utf8"), before);
  noProblems(page);
}

async function starting({ browser, house }) {
  const page = await openPage(browser, house);
  await newConversation(page);
  await ask(page, "Look around, please.");
  await saveScript(page, "around", false);
  await page.waitForSelector("dialog", { state: "detached" });
  for (const isShown of [true, false]) {
    await page.click("button[aria-label='New conversation']");
    await page.waitForSelector("dialog .choice:has-text('around')");
    await page.click("dialog .choice:has-text('around')");
    await page.waitForSelector("dialog .records li");
    if (!isShown) await page.uncheck("dialog .tick input");
    const old = sessionOf(page);
    await page.click("dialog .btn.primary");
    await page.waitForFunction((id) => !location.hash.includes(id), old);
    if (isShown) await page.waitForSelector(".said:has-text('Look around')");
    else await page.waitForSelector(".empty");
    const primed = (await events(house, sessionOf(page))).filter((event) => event.sourceTag === "priming_script");
    assert.ok(primed.length > 3);
    await ask(page, "Hello");
    const n = await page.$$eval(".said", (all) => all.length);
    assert.equal(n, isShown ? 2 : 1);
  }
  noProblems(page);
}

export const scenarios = [
  ["save as priming script, confirm overwriting", saving],
  ["new conversation with a script, shown and hidden", starting],
];
