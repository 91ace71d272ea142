import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, openPage, screensFolder } from "./harness.mjs";
import { answered, barriers, beginAndRest, noProblems, say, sessionOf, shows } from "./steps.mjs";

/** S-56: a folder is found by browsing, registered, used for a conversation, and removed; nothing of it is lost. */
async function projects({ browser, house }) {
  const { app, server } = makeFolders(house);
  const page = await openPage(browser, house);
  await beginAndRest(page, "Hello");
  const inHouse = sessionOf(page);
  assert.equal(await page.$(".project-switch"), null, "one project is no choice");
  await register(page, house, app);

  // A conversation in the project that was just added.
  await page.click("button[aria-label='New conversation']");
  await page.waitForSelector("dialog .pair option:has-text('app')", { state: "attached" });
  await page.selectOption("dialog label:has-text('Project') select", app);
  await page.click("dialog .btn.primary");
  await shows(page);
  assert.match(await page.textContent(".head .from"), /^app$/);
  await say(page, "What is here?");
  await page.waitForFunction(() => location.hash.startsWith("#/c/"));
  await answered(page, "What is here?");
  const inApp = sessionOf(page);
  await page.waitForSelector(".head .from:has-text('Web page · app')");
  assert.deepEqual(await projectOf(house, inApp), [app, app]);
  assert.deepEqual(await projectOf(house, inHouse), [house.folder, house.folder]);

  // One in a folder of it, found by going there; it belongs to the same project.
  await page.click("button[aria-label='New conversation']");
  await page.selectOption("dialog label:has-text('Project') select", "*");
  await page.fill("dialog .folders input", app);
  await listed(page, app);
  await page.click("dialog .folder-list button:has-text('server')");
  await listed(page, server);
  await page.click("dialog .btn.primary");
  await shows(page);
  await say(page, "And here?");
  await page.waitForFunction(() => location.hash.startsWith("#/c/"));
  await answered(page, "And here?");
  const inServer = sessionOf(page);
  await page.waitForSelector(".head .from:has-text('app/server')");
  assert.deepEqual(await projectOf(house, inServer), [app, server]);
  await page.waitForSelector(".thread .in-project:has-text('app')");
  await narrowed(page);
  await pictures(browser, house, `/c/${inServer}`);

  // Removed, its conversations are where they were; each folder is a project by itself.
  await page.goto(`${house.url}/#/settings`);
  await page.click(".projects li:has-text('work/app') button");
  await page.waitForSelector(".toast:has-text('Removed')");
  assert.deepEqual(await projectOf(house, inServer), [server, server]);
  await page.waitForSelector(".projects li:has-text('server') button:has-text('Add')");
  noProblems(page);
}

function makeFolders(house) {
  const app = join(house.root, "work", "app");
  const server = join(app, "server");
  mkdirSync(server, { recursive: true });
  mkdirSync(join(app, ".git"));
  mkdirSync(join(house.root, "work", "notes"));
  writeFileSync(join(app, "README.md"), "# App\n");
  return { app, server };
}

/** Settings, Add a project, and from the home of the user to the folder. */
async function register(page, house, app) {
  await page.goto(`${house.url}/#/settings`);
  await page.click("button:has-text('Add a project')");
  await page.click("dialog .folder-list button:has-text('work')");
  await page.click("dialog .folder-list button:has-text('app')");
  await listed(page, app);
  await page.fill("dialog .folders input", `${app}/nowhere`);
  await page.click("dialog .btn.primary");
  await page.waitForSelector("dialog [role=alert]");
  await page.click("dialog .folder-list button:has-text('Parent folder')");
  await page.waitForSelector("dialog .folder-list button:has-text('app'):has-text('repository')");
  await page.click("dialog .folder-list button:has-text('app')");
  await listed(page, app);
  await page.click("dialog .btn.primary");
  await page.waitForSelector(".projects li:has-text('work/app')");
  const { projects: all } = await call(house, "list_projects");
  assert.deepEqual(all.map((it) => [it.kind, it.path]), [["house", house.folder], ["registered", app]]);
}

/** Waits until the folder is chosen and its folders are listed. */
async function listed(page, folder) {
  await page.waitForFunction((path) => document.querySelector("dialog .folders input")?.value === path && document.querySelector("dialog .folder-list")?.getAttribute("aria-label").endsWith(path), folder);
}

/** The list shows the conversations of the chosen project only. */
async function narrowed(page) {
  assert.equal(await page.$$eval(".thread", (all) => all.length), 3);
  await page.click(".project-switch button");
  await page.click(".project-switch [role=menuitem]:has-text('app')");
  await page.waitForFunction(() => document.querySelectorAll(".thread").length === 2);
  await page.click(".project-switch button");
  await page.click(".project-switch [role=menuitem]:has-text('All projects')");
  await page.waitForFunction(() => document.querySelectorAll(".thread").length === 3);
}

async function projectOf(house, session) {
  const { sessions } = await call(house, "list_sessions");
  const row = sessions.find((it) => it.sessionId === session);
  return [row.project, row.cwd];
}

async function pictures(browser, house, hash) {
  const found = [];
  for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark", locale: "zh-CN" }], ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }]]) {
    const page = await openPage(browser, house, options);
    const zh = options.locale !== undefined;
    const take = async (view) => {
      await page.waitForTimeout(250);
      await page.screenshot({ path: join(screensFolder(), `projects-${view}-${name}.png`) });
      found.push(...(await barriers(page, `${view}, ${name}`)));
    };
    await page.goto(`${house.url}/#${name === "phone" ? "/" : hash}`);
    await page.waitForSelector(".thread .in-project");
    await take("list");
    await page.goto(`${house.url}/#/settings`);
    await page.waitForSelector(".checks-table");
    await page.waitForSelector(".projects li >> nth=1");
    await page.$eval(".projects", (it) => it.scrollIntoView({ block: "center" }));
    await take("settings");
    await page.click(`button:has-text('${zh ? "添加项目" : "Add a project"}')`);
    await page.waitForSelector("dialog .folder-list li");
    await take("add");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.keyboard.press("n");
    await page.selectOption(`dialog label:has-text('${zh ? "项目" : "Project"}') select`, "*");
    await page.waitForSelector("dialog .folder-list li");
    await take("new");
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `${name}: the page scrolls sideways by ${width} px`);
    noProblems(page);
    await page.context().close();
  }
  assert.deepEqual(found, []);
}

export const scenarios = [["projects: added by browsing, chosen for a conversation, narrowed to, removed", projects]];
