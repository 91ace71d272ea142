// The whole page in a real Chromium against a real `kith up`. `node test/page/run.mjs [--short] [part of a name]`.
import { join } from "node:path";
import { closeHouse, openBrowser, openHouse, screensFolder } from "./harness.mjs";
import { scenarios as conversation } from "./conversation.mjs";
import { scenarios as hostile } from "./hostile.mjs";
import { scenarios as house } from "./house.mjs";
import { scenarios as losses } from "./losses.mjs";
import { scenarios as priming } from "./priming.mjs";
import { scenarios as projects } from "./projects.mjs";
import { scenarios as states } from "./states.mjs";
import { scenarios as views } from "./views.mjs";

const SCENARIO_MS_MAX = process.env.KITH_SLOW_TESTS === undefined ? 240_000 : 1_200_000;
/** The first words of the scenarios that every run of the tests includes. */
const SHORT = ["log in", "send and stream", "approval: denied", "steer, queue", "hostile", "a new conversation", "daemon killed", "page load"];

/** Those that print times. */
const MEASURED = ["page load", "a session of thousands"];
const LONGEST = "screens";

const args = process.argv.slice(2);
const isShort = args.includes("--short");
const part = args.find((arg) => !arg.startsWith("--")) ?? "";
const all = [...conversation, ...house, ...hostile, ...priming, ...projects, ...losses, ...states, ...views]
  .filter(([name]) => name.includes(part) && (!isShort || SHORT.some((it) => name.startsWith(it))));

const skipped = [];
const failed = [];
const began = Date.now();
// Most of a scenario is waiting, so two run at a time, each with a browser and a house of its own; times are taken alone.
const measured = all.filter(([name]) => MEASURED.some((it) => name.startsWith(it)));
const others = all.filter((it) => !measured.includes(it));
// The longest first, so that nothing waits for it alone.
const queue = [...others.filter(([name]) => name.startsWith(LONGEST)), ...others.filter(([name]) => !name.startsWith(LONGEST))];
await Promise.all([worker(queue), worker(queue)]);
await worker(measured);
const nPassed = all.length - failed.length - skipped.length;
console.log(`page: ${nPassed} scenarios passed, ${skipped.length} skipped, ${failed.length} failed, in ${Math.round((Date.now() - began) / 1000)} s`);
for (const it of skipped) console.log(`skipped: ${it}`);
for (const it of failed) console.log(`failed: ${it}`);
process.exit(failed.length === 0 && all.length > 0 ? 0 : 1);

async function worker(scenarios) {
  const browser = await openBrowser();
  for (let next = scenarios.shift(); next !== undefined; next = scenarios.shift()) await perform(browser, next);
  await browser.close();
}

async function perform(browser, [name, run]) {
  const house = await openHouse();
  const start = Date.now();
  try {
    const reason = await within(run({ browser, house }));
    if (typeof reason === "string") skipped.push(`${name} (${reason})`);
    console.log(`${typeof reason === "string" ? `skipped (${reason})` : "ok"}  ${name}  ${Date.now() - start} ms`);
  } catch (error) {
    failed.push(name);
    console.log(`FAILED  ${name}\n${error.stack ?? error}`);
    await explain(browser, failed.length);
  } finally {
    for (const context of browser.contexts()) await context.close();
    await closeHouse(house);
  }
}

async function within(work) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`took more than ${SCENARIO_MS_MAX / 1000} s`)), SCENARIO_MS_MAX); });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What the open pages show when a scenario has failed. */
async function explain(browser, n) {
  for (const [index, page] of browser.contexts().flatMap((context) => context.pages()).entries()) {
    const path = join(screensFolder(), `failed-${n}-${index}.png`);
    const shown = await page.evaluate(() => [...document.querySelectorAll(".toast, .banner, .live, .write textarea")].map((it) => it.value ?? it.textContent)).catch(() => []);
    await page.screenshot({ path }).catch(() => {});
    console.log(`   page ${page.url().split("#")[1] ?? ""} in ${path}; it says: ${JSON.stringify(shown)}; problems: ${JSON.stringify(page.problems ?? [])}`);
  }
}
