import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, openPage, screensFolder } from "./harness.mjs";
import { measureLoad } from "./load.mjs";
import { answered, ask, barriers, begin, beginAndRest, events, noProblems, rest, shows } from "./steps.mjs";

const JS_BYTES_MAX = 300 * 1024;

async function inspector({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Look around, please.");
  await ask(page, "看看这里");
  await page.click(".seg >> text=Inspector");
  await page.waitForSelector(".range");
  const requests = (await events(house, session)).filter((event) => event.type === "model_requested");
  assert.equal(await page.$$eval(".request", (all) => all.length), requests.length);
  for (const index of [0, requests.length - 1]) {
    await page.click(`.request >> nth=${index}`);
    await page.waitForSelector(`.bytes-title h2:has-text("Request ${index + 1}")`);
    await page.waitForSelector("text=matches the log");
    await page.click("[aria-label='Copy the body']");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, house.model.state.requests[index], "the bytes are those that the server got");
    assert.equal(createHash("sha256").update(copied).digest("hex"), requests[index].bodySha256);
    assert.equal(Buffer.byteLength(copied), requests[index].bodyBytes);
  }
  await page.waitForSelector(".first-diff");
  await page.waitForFunction(() => [...document.querySelectorAll(".request .num")].every((it, n) => n === 0 || it.textContent.endsWith("%")));
  await page.click(".range.s-person .raw >> nth=-1");
  await page.waitForSelector(".event-pane .json");
  assert.match(await page.textContent(".event-pane .json"), /user_message/);
  // Every byte that is shown, opened, is the body.
  for (let n = 0; n < 400; n += 1) {
    const button = await page.$(".range.folded .raw");
    if (button === null) break;
    await button.click();
  }
  const shown = await page.$$eval(".range:not(.folded) .raw", (all) => all.map((it) => it.textContent).join(""));
  assert.equal(shown.replaceAll("\n", ""), house.model.state.requests.at(-1).replaceAll("\n", ""));
  await page.keyboard.press("ArrowLeft");
  await page.waitForSelector(`.bytes-title h2:has-text("Request ${requests.length - 1}")`);
  noProblems(page);
}

async function keyboardOnly({ browser, house }) {
  const page = await openPage(browser, house);
  await page.keyboard.press("n");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Control+Enter");
  await shows(page);
  await page.waitForSelector("dialog", { state: "detached" });
  await page.waitForFunction(() => document.activeElement?.matches(".write textarea"));
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await page.keyboard.type("Look around, please.");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/c/"));
  await answered(page, "Look around");
  await page.keyboard.press("Escape");
  for (let n = 0; n < 2; n += 1) await page.keyboard.press("j");
  await page.waitForFunction(() => document.activeElement?.matches("[data-index='1']"));
  await page.keyboard.press("Enter");
  await page.waitForSelector(".fold[open] .thoughts");
  await page.keyboard.press("Control+k");
  await page.waitForSelector(".palette");
  await page.keyboard.type("inspect");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".app.inspect");
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.waitForSelector("text=Doctor");
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.keyboard.press("?");
  await page.waitForSelector(".key-map");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("/");
  assert.ok(await page.evaluate(() => document.activeElement?.matches("input[type=search]")));
  noProblems(page);
}

/** Every view in both themes, both languages and at phone width, looked at by axe and kept as a picture. */
async function screens({ browser, house }) {
  const folder = screensFolder();
  const found = [];
  const first = await openPage(browser, house);
  const session = await beginAndRest(first, "Look around, please.");
  await ask(first, "看看这里");
  await first.hover(".said:has-text('看看这里')");
  await first.click(".said:has-text('看看这里') [aria-label='Ask again as a new branch']");
  await first.waitForSelector(".fork");
  await rest(first);
  await call(house, "save_script", { session, slug: "around", title: "Know the place" });
  await begin(first, "Run `git push --force-with-lease origin retry-after`");
  await first.waitForSelector(".ask");
  const waiting = first.url().split("#")[1];
  const views = [
    ["conversation", `/c/${session}`, ".answer"],
    ["approval", waiting, ".ask"],
    ["inspector", `/i/${session}`, ".range"],
    ["settings", "/settings", ".checks-table"],
    ["list", "/", ".thread"],
  ];
  const dialogs = [["new-conversation", "n", "dialog .choice"], ["commands", "Control+k", ".palette li"], ["keys", "?", ".key-map"]];
  for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["zh", { locale: "zh-CN", colorScheme: "light" }], ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }], ["phone-dark", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "dark", locale: "zh-CN" }], ["tablet", { viewport: { width: 1024, height: 768 } }]]) {
    const page = await openPage(browser, house, options);
    for (const [view, hash, ready] of views) {
      await page.goto(`${house.url}/#${hash}`);
      await page.waitForSelector(ready);
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(folder, `${view}-${name}.png`) });
      found.push(...(await barriers(page, `${view}, ${name}`)));
    }
    await page.goto(`${house.url}/#/c/${session}`);
    await page.waitForSelector(".answer");
    for (const [view, key, ready] of dialogs) {
      if (name.startsWith("phone") && view !== "new-conversation") continue;
      await page.evaluate(() => document.activeElement?.blur());
      await page.keyboard.press(key);
      await page.waitForSelector(ready);
      if (view === "new-conversation") await page.click("dialog .choice >> nth=1");
      await page.waitForTimeout(250);
      await page.screenshot({ path: join(folder, `${view}-${name}.png`) });
      found.push(...(await barriers(page, `${view}, ${name}`)));
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog", { state: "detached" });
    }
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `${name}: the page scrolls sideways by ${width} px`);
    noProblems(page);
    await page.context().close();
  }
  assert.deepEqual(found, []);
  await pictures(browser, house, session, waiting);
}

/** The four pictures of the READMEs; `docs/screens/` has copies. */
async function pictures(browser, house, session, waiting) {
  const desk = { viewport: { width: 1280, height: 860 } };
  const phone = { viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true };
  for (const [name, hash, ready, options] of [
    ["conversation", `/c/${session}`, ".answer .katex", { ...desk, colorScheme: "light" }],
    ["approval", waiting, ".ask", { ...desk, colorScheme: "dark" }],
    ["inspector", `/i/${session}`, ".range", { ...desk, colorScheme: "light" }],
    ["phone", `/c/${session}`, ".answer", { ...phone, colorScheme: "dark", locale: "zh-CN" }],
  ]) {
    const page = await openPage(browser, house, options);
    await page.goto(`${house.url}/#${hash}`);
    await page.waitForSelector(ready);
    await page.evaluate(() => document.fonts.ready);
    if (name === "inspector") await page.click(".btn:has-text('Go to')");
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(screensFolder(), `readme-${name}.png`) });
    await page.context().close();
  }
}

async function languages({ browser, house }) {
  const page = await openPage(browser, house, { locale: "zh-CN" });
  await page.waitForSelector("text=设置与诊断");
  assert.equal(await page.getAttribute("html", "lang"), "zh-CN");
  await page.goto(`${house.url}/#/settings`);
  await page.click("text=English");
  await page.waitForSelector("text=Settings and doctor");
  await page.click(".choices >> text=Dark");
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  noProblems(page);
}

/** What the page costs before the first conversation shows, in bytes and in time. */
async function pageLoad({ browser, house }) {
  const { times, scripts } = await measureLoad(browser, house, 5);
  console.log(`   page load (median of 5): ${Object.entries(times).map(([name, ms]) => `${name} ${Math.round(ms)} ms`).join(", ")}`);
  console.log(`   JavaScript before the first conversation: ${(scripts.bytes / 1024).toFixed(0)} KB gzip in ${scripts.files} files`);
  assert.ok(scripts.bytes > 0 && scripts.bytes <= JS_BYTES_MAX);
}

/** A session of thousands of lines: shown at once, only what is in view is in the document, typing never waits. */
async function longSession({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Hello");
  const { text } = await call(house, "export_script", { session });
  const head = text.slice(0, text.indexOf("### record"));
  const records = text.slice(text.indexOf("### record")).trimEnd();
  mkdirSync(join(house.folder, ".minds/priming/individual/main"), { recursive: true });
  writeFileSync(join(house.folder, ".minds/priming/individual/main/long.md"), `${head}${Array.from({ length: 1000 }, () => records).join("\n\n")}\n`);
  const id = "01a1ec07-0000-7000-8000-0000000000aa";
  await call(house, "create_dialog", { sessionId: id, threadId: "web:room:long", cwd: house.folder, priming: { scriptRefs: ["individual/main/long"], showInUi: true } });
  // What the page itself works is in its long tasks; the rest is the host's.
  const times = await page.evaluate(async (hash) => {
    const began = performance.now();
    const observer = new PerformanceObserver(() => {});
    observer.observe({ entryTypes: ["longtask"] });
    location.hash = hash;
    while (!(Number(document.querySelector(".entry")?.getAttribute("aria-setsize")) > 1_000)) await new Promise(requestAnimationFrame);
    return { shown: Math.round(performance.now() - began), longTasks: observer.takeRecords().map((it) => Math.round(it.duration)) };
  }, `#/c/${id}`);
  console.log(`   a session of 2,000 messages is shown ${times.shown} ms after the click; long tasks of the page: ${times.longTasks.join(", ")} ms; ${await page.$$eval(".entry", (rows) => rows.length)} lines are in the document`);
  assert.ok((await page.$$eval(".entry", (rows) => rows.length)) < 80);
  const typed = await page.evaluate(async () => {
    const field = document.querySelector(".write textarea");
    field.focus();
    const began = performance.now();
    for (let n = 0; n < 50; n += 1) {
      document.execCommand("insertText", false, "a");
      await new Promise(requestAnimationFrame);
    }
    return (performance.now() - began) / 50;
  });
  console.log(`   a key and its frame take ${typed.toFixed(1)} ms in it`);
  await page.evaluate(() => document.querySelector(".stream").scrollTo(0, 0));
  await page.waitForFunction(() => document.querySelector('[data-index="0"]') !== null);
}

export const scenarios = [
  ["inspector: the exact bytes", inspector],
  ["keyboard only", keyboardOnly],
  ["Chinese and English, light and dark", languages],
  ["page load: time and size", pageLoad],
  ["a session of thousands of messages", longSession],
  ["screens and barriers", screens],
];
