import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { call, openPage } from "./harness.mjs";
import { ask, beginAndRest, events, noProblems, sessionOf, shows } from "./steps.mjs";

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
  await beginAndRest(page, "Look around, please.");
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
  await beginAndRest(page, "Look around, please.");
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
    await shows(page);
    if (isShown) await page.waitForSelector(".said:has-text('Look around')");
    else await page.waitForSelector(".empty");
    if (!isShown) {
      // Hidden in the conversation, and all the same in what the model reads.
      assert.equal(await page.$(".said"), null);
      await page.reload();
      await page.waitForSelector(".empty");
    }
    const primed = (await events(house, sessionOf(page))).filter((event) => event.sourceTag === "priming_script");
    assert.ok(primed.length > 3);
    await ask(page, "Hello");
    const n = await page.$$eval(".said", (all) => all.length);
    assert.equal(n, isShown ? 2 : 1);
    const request = house.model.state.requests.at(-1);
    assert.ok(request.includes("Look around, please."), "the model reads the script's messages either way");
    await page.goto(`${house.url}/#/i/${sessionOf(page)}`);
    await page.waitForSelector(".range:has-text('Look around, please.')");
    await page.goBack();
    await shows(page);
  }
  noProblems(page);
}

/** P-20 to P-23: what the dialog offers comes from the backend each time, and what is chosen is what is sent. */
async function choosing({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Look around, please.");
  for (const slug of ["one", "two", "other/three"]) await call(house, "save_script", { session, slug, title: `Script ${slug}` });
  const use = (ref) => house.run("new", "--prime", ref);
  const open = async () => {
    await page.click("button[aria-label='New conversation']");
    await page.waitForSelector("dialog .choice:has-text('Script')");
  };
  const refs = () => page.$$eval("dialog .choice small", (all) => all.map((it) => it.textContent));
  await use("individual/main/one");
  await use("individual/main/two");
  await open();
  assert.deepEqual((await refs()).slice(0, 2), ["individual/main/two", "individual/main/one"], "the newest use first");
  assert.ok(await page.isChecked("dialog .choice:has-text('<none>') input"), "none is chosen unless one is");
  assert.ok(await page.isDisabled("dialog .tick input"));
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  // Used from the command line since: seen without loading the page anew.
  await use("individual/main/one");
  await open();
  assert.equal((await refs())[0], "individual/main/one");
  // A script that was saved a moment ago is found by typing, by slug, ref and title, and stays in the list.
  await call(house, "save_script", { session, slug: "fresh/bread", title: "Sourdough" });
  for (const query of ["sourd", "fresh/b", "individual/main/fresh"]) {
    await page.fill("dialog input[type=search]", query);
    await page.waitForFunction(() => { const all = [...document.querySelectorAll("dialog .choice small")]; return all.length === 1 && all[0].textContent === "individual/main/fresh/bread"; });
  }
  await page.click("dialog .choice:has-text('Sourdough')");
  await page.fill("dialog input[type=search]", "");
  await page.waitForFunction(() => document.querySelectorAll("dialog .choice small").length > 2);
  assert.ok(await page.isChecked("dialog .choice:has-text('Sourdough') input"));
  await page.click("dialog .btn.primary");
  await page.waitForFunction((id) => location.hash.startsWith("#/c/") && !location.hash.includes(id), session);
  await shows(page);
  await page.waitForSelector(".said:has-text('Look around')");
  // The path follows what is typed, and a name that leads elsewhere is refused.
  await page.click("[aria-label='Save as priming script']");
  await page.fill("dialog .field input", "a/new-one");
  assert.equal(await page.textContent("dialog code"), ".minds/priming/individual/main/a/new-one.md");
  await page.fill("dialog .field input", "../../outside");
  await page.click("dialog .btn.primary");
  await page.waitForSelector("dialog .warn.bad");
  noProblems(page);
}

/** P-21, P-23 and P-27 name these words. */
async function wordsInChinese({ browser, house }) {
  const page = await openPage(browser, house, { locale: "zh-CN" });
  await page.click("button[aria-label='新对话']");
  await page.waitForSelector("dialog .choice:has-text('<无> 启动脚本')");
  assert.ok((await page.getAttribute("dialog input[type=search]", "placeholder")).startsWith("更多……"));
  assert.match(await page.textContent("dialog .tick"), /^UI 展示/);
  await page.click("dialog .btn.primary");
  await shows(page);
  await page.fill(".write textarea", "你好");
  await page.press(".write textarea", "Enter");
  await page.waitForSelector("[aria-label='保存启动脚本']");
  noProblems(page);
}

export const scenarios = [
  ["priming scripts are offered as the backend knows them", choosing],
  ["priming in Chinese", wordsInChinese],
  ["save as priming script, confirm overwriting", saving],
  ["new conversation with a script, shown and hidden", starting],
];
