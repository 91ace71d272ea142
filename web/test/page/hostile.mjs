import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, loginUrl, openPage } from "./harness.mjs";
import { answered, begin, beginAndRest, events, sessionOf, shows } from "./steps.mjs";

const CORPUS = JSON.parse(readFileSync(new URL("../xss.json", import.meta.url), "utf8"));
const IMAGE = "<img src=x onerror=alert(1)>";
/** What a file system allows of the corpus, as names of files. */
const FILE_NAMES = [`${IMAGE}.md`, "\"><svg onload=alert(1)>.txt", "[x](javascript:alert(1)).md", "'-alert(1)-'.js", "\u202egnp.exe"];

/** A page that notes every script, dialog, request and violation of the CSP that a text could cause. */
async function watchedPage(browser, house) {
  const page = await openPage(browser, house);
  page.outside = [];
  page.on("dialog", (dialog) => { page.outside.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(?:blob|data):/.test(request.url()) && !request.url().startsWith(house.url)) page.outside.push(request.url()); });
  await page.addInitScript(() => {
    window.hacks = [];
    for (const name of ["alert", "confirm", "prompt", "open", "msgbox"]) window[name] = () => window.hacks.push(name);
    addEventListener("securitypolicyviolation", (event) => window.hacks.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.reload();
  await page.waitForSelector(".app");
  return page;
}

async function unharmed(page, what) {
  const found = await page.evaluate(() => ({
    hacks: window.hacks,
    elements: [...document.querySelectorAll("#root iframe, #root script, #root object, #root embed, #root base, #root form:not(dialog form), #root style, #root link, #root meta, #root video, #root math:not(.katex math), #root img:not([src^='blob:']):not([src^='data:image/']), #root svg script, #root [onerror], #root [onload], #root [onclick], #root [onfocus], #root [ontoggle]")].map((it) => it.outerHTML.slice(0, 120)),
    addresses: [...document.querySelectorAll("#root a")].map((it) => it.getAttribute("href")).filter((it) => !/^(?:https?:|mailto:|#)/.test(it)),
  }));
  assert.deepEqual(found, { hacks: [], elements: [], addresses: [] }, what);
  assert.deepEqual(page.outside, [], what);
}

/** Opens everything that can be opened in the log, then clicks every link. */
async function openAll(page) {
  for (let n = 0; n < 60; n += 1) {
    const fold = await page.$(".log details:not([open]) > summary");
    if (fold === null) break;
    await fold.click();
  }
  await page.evaluate(() => { for (const link of document.querySelectorAll(".log a[href]")) { link.dispatchEvent(new MouseEvent("mouseover", { bubbles: true })); if (!/^https?:|^mailto:/.test(link.href)) link.click(); } });
}

async function hostileText({ browser, house }) {
  writeFileSync(join(house.folder, "corpus.md"), CORPUS.join("\n"));
  mkdirSync(join(house.folder, "names"));
  for (const name of FILE_NAMES) writeFileSync(join(house.folder, "names", name), "1\n");
  house.model.state.hostile = CORPUS;
  house.model.state.pace = 0;
  const page = await watchedPage(browser, house);
  // Answers, thinking, calls, outputs and a person's own words, while they are streamed and after.
  const session = await beginAndRest(page, `xss ${IMAGE}`);
  assert.ok((await events(house, session)).some((event) => JSON.stringify(event).includes("</script>")));
  await page.waitForSelector(".answer");
  await openAll(page);
  await unharmed(page, "conversation");
  const nShown = await page.evaluate(() => document.querySelector(".log").textContent.includes("<script>alert(1)</script>"));
  assert.ok(nShown, "the texts are shown, as texts");
  // Raw events, the inspector with every range open, and the turns.
  await page.hover(".answer >> nth=-1");
  await page.click(".answer >> nth=-1 >> [aria-label='Raw event']");
  await page.waitForSelector("dialog .json");
  await unharmed(page, "raw event");
  await page.keyboard.press("Escape");
  await page.goto(`${house.url}/#/i/${session}`);
  await page.waitForSelector(".range");
  for (let n = 0; n < 80; n += 1) {
    const range = await page.$(".range.folded .raw");
    if (range === null) break;
    await range.click();
  }
  await page.click(".seg >> text=Readable");
  await page.click(".range .raw >> nth=-1");
  await unharmed(page, "inspector");
  // Titles, in the list, the header, the palette and the search.
  for (const title of [CORPUS[0], IMAGE, "[x](javascript:alert(1))"]) {
    await call(house, "rename_session", { session, title });
    await page.goto(`${house.url}/#/c/${session}`);
    await page.waitForFunction((text) => document.querySelector(".thread .name")?.textContent === text && document.querySelector("h1")?.textContent === text, title);
    await unharmed(page, `title ${title}`);
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("javascript");
  await page.waitForSelector(".palette li");
  await unharmed(page, "palette");
  await page.keyboard.press("Escape");
  await page.fill("input[type=search]", "onerror");
  await page.waitForSelector(".thread:has-text('onerror')");
  await unharmed(page, "search");
  await page.fill("input[type=search]", "");
  // A script's title and text, in the dialog and in the conversation it begins.
  await call(house, "save_script", { session, slug: "hostile", title: IMAGE });
  await page.keyboard.press("Escape");
  await page.click("button[aria-label='New conversation']");
  await page.click("dialog .choice:has-text('hostile')");
  await page.waitForSelector("dialog .records li");
  await unharmed(page, "script");
  await page.click("dialog .btn.primary");
  await page.waitForFunction((id) => location.hash.startsWith("#/c/") && !location.hash.includes(id), session);
  await shows(page);
  await page.waitForSelector(".answer");
  await unharmed(page, "primed conversation");
  // The question about a command, and what came of it.
  await begin(page, `Run \`git push '${IMAGE}'\``);
  await page.waitForSelector(".ask");
  await unharmed(page, "approval");
  await page.click(".ask .btn:has-text('Deny')");
  await answered(page, "Run");
  await unharmed(page, "denied");
  // A hostile address, and a code that is none.
  await page.goto(`${house.url}/#/c/${sessionOf(page)}/"><img src=x onerror=alert(1)>`);
  await unharmed(page, "address");
  const { origin } = new URL(await loginUrl(house));
  await page.goto(`${origin}/#login=<script>alert(1)</script>`);
  await page.reload();
  await page.waitForSelector(".app, .alone");
  await unharmed(page, "login");
}

export const scenarios = [["hostile text in answers, files, titles and outputs runs nothing", hostileText]];
