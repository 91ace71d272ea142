// The states that a conversation in good health does not show: empty, running, failing, lost, unknown.
import assert from "node:assert/strict";
import { join } from "node:path";
import { call, openPage, screensFolder, startDaemon, stopDaemon } from "./harness.mjs";
import { barriers, begin, beginAndRest, noProblems, say } from "./steps.mjs";

const LOOKS = [["light", { colorScheme: "light" }], ["dark-zh", { colorScheme: "dark", locale: "zh-CN" }], ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }]];

async function states({ browser, house }) {
  const found = [];
  const pages = [];
  for (const [look, options] of LOOKS) pages.push([look, await openPage(browser, house, options)]);
  const keep = async (state, hash, ready) => {
    for (const [look, page] of pages) {
      if (hash !== null) await page.goto(`${house.url}/#${hash}`);
      await page.waitForSelector(ready);
      await page.screenshot({ path: join(screensFolder(), `${state}-${look}.png`) });
      found.push(...(await barriers(page, `${state}, ${look}`)));
    }
  };
  await keep("empty", "/", ".nothing");
  await keep("draft", "/new/01a1ec07-0000-7000-8000-0000000000bb", ".empty");
  await keep("unknown", "/c/01a1ec07-0000-7000-8000-0000000000cc", ".banner");

  const first = pages[0][1];
  house.model.state.slowPace = 1_000;
  const session = await begin(first, "Say it slowly");
  await say(first, "Then write the tests.");
  await first.waitForSelector(".queue li");
  await say(first, "And the changelog.");
  await first.waitForFunction(() => document.querySelectorAll(".queue li").length === 2);
  await first.fill(".write textarea", "Only the tests of the queue, please.");
  await first.click(".send .steers");
  await first.waitForFunction(() => document.querySelectorAll(".queue li").length === 3);
  await first.fill(".write textarea", "One more thing");
  await keep("running", `/c/${session}`, ".queue li >> nth=2");

  house.model.state.failures = 1_000;
  const failing = await begin(first, "Hello");
  await keep("failing", `/c/${failing}`, ".error-line");
  house.model.state.failures = 0;

  await stopDaemon(house, "SIGKILL");
  await keep("reconnecting", null, ".banner:has(.ring), .banner:has(.i)");
  for (const [, page] of pages) await page.waitForSelector(".banner:not(:has(.ring))");
  await keep("offline", null, ".banner");
  await startDaemon(house);
  for (const [, page] of pages) await page.waitForSelector(".shell[data-state=online]");
  assert.deepEqual(found, []);
}

async function dialogs({ browser, house }) {
  const found = [];
  for (const [look, options] of LOOKS) {
    const page = await openPage(browser, house, options);
    if (look === "light") {
      const session = await beginAndRest(page, "Look around, please.");
      await call(house, "save_script", { session, slug: "around" });
    }
    await page.goto(`${house.url}/#/`);
    await page.click(".thread");
    await page.waitForSelector(".answer");
    for (const [name, item] of [["save-script", 1], ["rename", 0], ["remove", -1]]) {
      await page.click("header .menu-root > .tool");
      await page.click(`.menu [role=menuitem] >> nth=${item}`);
      await page.waitForSelector("dialog[open]");
      if (name === "save-script") {
        await page.fill("dialog .field input", "around");
        await page.click("dialog .btn.primary");
        await page.waitForSelector("dialog [role=alert]");
      }
      await page.screenshot({ path: join(screensFolder(), `${name}-${look}.png`) });
      found.push(...(await barriers(page, `${name}, ${look}`)));
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog", { state: "detached" });
    }
    await page.click("[aria-label='Show turns'], [aria-label='显示回合']");
    await page.screenshot({ path: join(screensFolder(), `turns-${look}.png`) });
    noProblems(page);
    await page.context().clearCookies();
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await page.waitForSelector(".alone");
    await page.screenshot({ path: join(screensFolder(), `login-${look}.png`) });
    found.push(...(await barriers(page, `login, ${look}`)));
    await page.context().close();
  }
  assert.deepEqual(found, []);
}

export const scenarios = [["states: empty, running, failing, reconnecting, offline", states], ["dialogs and login", dialogs]];
