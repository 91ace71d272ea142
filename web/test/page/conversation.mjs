import assert from "node:assert/strict";
import { call, loginUrl, openPage } from "./harness.mjs";
import { answered, answers, ask, begin, beginAndRest, events, holds, newConversation, noProblems, plain, rest, said, say, sessionOf, shows } from "./steps.mjs";

async function logIn({ browser, house }) {
  const url = await loginUrl(house);
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  await page.goto(house.url);
  await page.waitForSelector(".alone");
  assert.match(await page.textContent(".alone"), /kith up --open/);
  await page.goto(`${house.url}/#login=${"0".repeat(64)}`);
  await page.reload();
  await page.waitForSelector(".alone [role=alert]");
  await page.goto("about:blank");
  await page.goto(url);
  await page.waitForSelector(".app");
  assert.ok(!page.url().includes("login"), "the code stays neither in the address nor in the history");
  const cookies = await context.cookies();
  assert.ok(cookies.length === 1 && cookies[0].httpOnly && cookies[0].sameSite === "Strict");
  const other = await (await browser.newContext()).newPage();
  await other.goto(url);
  await other.waitForSelector(".alone [role=alert]");
}

async function sendAndStream({ browser, house }) {
  const page = await openPage(browser, house);
  // So slow that the caret is seen on any machine.
  house.model.state.pace = 150;
  const session = await begin(page, "Look around, please.");
  await page.waitForSelector(".answer .caret");
  house.model.state.pace = 5;
  await answered(page, "Look around");
  const log = await events(house, session);
  const last = log.findLast((event) => event.type === "assistant_message");
  const shown = await page.textContent(".answer:last-child .prose, .answer .prose >> nth=-1");
  assert.ok(shown.includes("This is an agent’s home"), shown);
  assert.ok(plain(last).includes("This is an agent’s home"));
  await page.waitForSelector(".code .cw");
  await page.waitForSelector(".maths .katex");
  assert.equal(await page.$$eval(".answer table tbody tr", (rows) => rows.length), 2);
  assert.match(await page.textContent(".fold"), /Thought/);
  await page.click("text=Read 3 files");
  await page.waitForSelector(".inner-calls li");
  assert.equal(await page.$$eval(".inner-calls > li", (rows) => rows.length), 3);
  await page.click(".inner-calls li >> nth=0 >> summary");
  await page.waitForSelector(".call-body .output");
  assert.match(await page.textContent(".thread .name"), /Look around/);
  assert.match(await page.title(), /Look around.* · Kith/);
  noProblems(page);
}

async function stop({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, "Say it slowly");
  await page.waitForSelector(".caret");
  await page.click(".live .btn:has-text('Stop')");
  await page.waitForSelector(".entry:has-text('Stopped.')");
  const log = await events(house, session);
  assert.equal(log.at(-1).reason, "cancelled");
  await page.click("text=Try again");
  await page.waitForSelector(".caret");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".live", { state: "detached" });
  noProblems(page);
}

const PUSH = "Run `git push --force-with-lease origin retry-after`";

async function approvals({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, PUSH);
  await page.waitForSelector(".ask");
  assert.match(await page.textContent(".ask pre"), /git push --force-with-lease origin retry-after/);
  assert.match(await page.textContent(".ask-head"), /Expires in/);
  assert.match(await page.textContent(".tree .turn"), /^Run git push/, "a turn is named without the marks of its code");
  await page.click(".ask .btn:has-text('Deny')");
  await page.waitForSelector("text=/Denied by/");
  await rest(page);
  let log = await events(house, session);
  assert.equal(log.find((event) => event.type === "approval_decided").decision, "deny");
  assert.equal(log.find((event) => event.type === "tool_result").outcome, "refused");
  await say(page, PUSH);
  await page.waitForSelector(".ask");
  await page.keyboard.press("Escape");
  await page.click(".live .jump");
  await page.waitForFunction(() => document.activeElement?.matches(".ask"));
  await page.waitForTimeout(700);
  await page.keyboard.press("y");
  await page.waitForSelector("text=/Allowed by/");
  await rest(page);
  log = await events(house, session);
  assert.deepEqual(log.filter((event) => event.type === "approval_decided").map((event) => event.decision), ["deny", "allow"]);
  noProblems(page);
}

async function grants({ browser, house }) {
  const page = await openPage(browser, house);
  await begin(page, "Run `git push origin main`");
  await page.waitForSelector(".ask");
  await page.click(".ask .long");
  assert.match(await page.textContent(".scope"), /without asking again/);
  await page.click(".scope >> text=Cancel");
  await page.click(".ask .long");
  assert.match(await page.textContent(".scope .grant"), /git push/);
  await page.click(".scope .btn >> nth=0");
  await rest(page);
  await page.waitForSelector(".panel .rows:has-text('git push')");
  assert.equal((await call(house, "list_grants")).grants.length, 1);
  await page.click(".panel .rows >> text=Revoke");
  await page.waitForFunction(() => document.querySelector(".panel .rows code") === null || !document.querySelector(".panel .rows").textContent.includes("git push"));
  assert.equal((await call(house, "list_grants")).grants.length, 0);
  noProblems(page);
}

async function diffs({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, "Edit the USER.md");
  await page.waitForSelector(".ask .diff .a");
  assert.match(await page.textContent(".ask .diff"), /You like short answers/);
  await page.click(".ask .btn:has-text('Allow') >> nth=0");
  await rest(page);
  const changed = (await events(house, session)).filter((event) => event.type === "tool_result" && event.outcome === "done" && /edit_file|write_file/.test(event.tool));
  assert.equal(changed.length, 3);
  await page.click(".fold:has-text('Edited') summary");
  await page.waitForSelector(".call-body .diff .a");
  assert.match(await page.textContent(".call-body .diff"), /zwei/);
  assert.match(await page.textContent(".fold:has-text('Edited')"), /\+2 −1/);
  await page.waitForSelector(".panel .rows:has-text('note.txt')");
  noProblems(page);
}

async function runningCommand({ browser, house }) {
  const page = await openPage(browser, house);
  await begin(page, "Run `for i in 1 2 3 4 5 6; do echo line$i; sleep 0.5; done`");
  // With a sandbox it runs at once, without one it is asked about.
  await page.waitForSelector(".ask, .tail");
  if (await page.$(".ask") !== null) await page.click(".ask .btn >> nth=0");
  await page.waitForSelector(".tail");
  await page.waitForSelector(".live:has-text('Running')");
  await rest(page);
  assert.match(await page.textContent(".fold:has-text('Ran')"), /exit 0, 6 lines/);
  noProblems(page);
}

async function twoAnswers({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, PUSH);
  await page.waitForSelector(".ask");
  const other = await openPage(browser, house);
  await other.goto(page.url());
  await other.waitForSelector(".ask");
  await other.click(".ask .btn:has-text('Deny')");
  await page.waitForSelector("text=/Denied by/");
  assert.equal(await page.$(".ask"), null);
  assert.equal((await events(house, session)).filter((event) => event.type === "approval_decided").length, 1);
}

async function steerAndQueue({ browser, house }) {
  const page = await openPage(browser, house);
  house.model.state.slowPace = 400;
  const session = await begin(page, "Say it slowly");
  await page.waitForSelector(".caret");
  // Enter queues, as in the terminal.
  for (const text of ["first", "second", "third"]) {
    await say(page, text);
    await page.waitForSelector(`.queue .words:has-text('${text}')`);
  }
  const queued = () => page.$$eval(".queue .words", (all) => all.map((it) => it.textContent));
  await page.hover(".queue li >> nth=1");
  await page.click(".queue li >> nth=1 >> [aria-label='Edit']");
  await page.fill(".queue-edit", "second, changed");
  await page.press(".queue-edit", "Enter");
  await page.waitForSelector(".queue .words:has-text('second, changed')");
  await page.click(".queue li >> nth=0 >> [aria-label='Delete']");
  await page.waitForFunction(() => document.querySelectorAll(".queue li").length === 2);
  await page.focus(".queue li >> nth=1 >> .grip");
  await page.keyboard.press("Alt+ArrowUp");
  await page.waitForFunction(() => document.querySelector(".queue .words").textContent === "third");
  assert.deepEqual(await queued(), ["third", "second, changed"]);
  await page.dragAndDrop(".queue li >> nth=1 >> .words", ".queue li >> nth=0 >> .words");
  await page.waitForFunction(() => document.querySelector(".queue .words").textContent === "second, changed");
  for (const [text, steer] of [["Cap it at 30 s.", () => page.press(".write textarea", "Control+s")], ["And be brief.", () => page.click(".send .steers")]]) {
    await page.fill(".write textarea", text);
    await steer();
    await page.waitForSelector(`.queue li:has-text('${text}'):has-text('read before the next step')`);
    // The field is empty once the host has the message.
    await holds(page, ".write textarea", "");
  }
  await page.click(".live .btn:has-text('Stop')");
  await page.waitForSelector("text=/wait because the last turn/");
  house.model.state.slowPace = 1;
  await page.click(".held .btn");
  await page.waitForSelector(".said:has-text('second, changed')");
  await answered(page, "third");
  const updates = (await events(house, session)).filter((event) => event.type === "queue_update");
  assert.ok(updates.length >= 6);
  noProblems(page);
}

/** Two pages change one queued message: the second is told, and keeps its text. */
async function queueConflict({ browser, house }) {
  const page = await openPage(browser, house);
  house.model.state.slowPace = 400;
  await begin(page, "Say it slowly");
  await say(page, "first");
  await page.waitForSelector(".queue .words:has-text('first')");
  const other = await openPage(browser, house);
  await other.goto(page.url());
  await other.waitForSelector(".queue .words:has-text('first')");
  for (const it of [page, other]) await it.click(".queue [aria-label='Edit']");
  await page.fill(".queue-edit", "of one page");
  await other.fill(".queue-edit", "of the other");
  await page.press(".queue-edit", "Enter");
  await page.waitForSelector(".queue .words:has-text('of one page')");
  await other.press(".queue-edit", "Enter");
  await other.waitForSelector(".toast:has-text('changed elsewhere')");
  await holds(other, ".queue-edit", "of the other");
  await other.press(".queue-edit", "Escape");
  await other.waitForSelector(".queue .words:has-text('of one page')");
}

/** S-42: a steer stands inside the turn as what it is, and is no message of its own. */
async function steerShown({ browser, house }) {
  const page = await openPage(browser, house);
  house.model.state.pace = 150;
  const session = await begin(page, "Look around, please.");
  await page.waitForSelector(".caret, .fold");
  await page.fill(".write textarea", "Only what is new.");
  await page.press(".write textarea", "Control+s");
  await page.waitForSelector(".queue li:has-text('Only what is new.')");
  house.model.state.pace = 2;
  await page.waitForSelector(".entry.steer:has-text('Only what is new.')");
  await answered(page, "Look around");
  assert.deepEqual(await said(page), ["Look around, please."]);
  const log = await events(house, session);
  assert.equal(log.filter((event) => event.type === "user_message").length, 1);
  assert.equal(log.filter((event) => event.type === "turn_ended").length, 1);
  await page.reload();
  await page.waitForSelector(".entry.steer:has-text('Only what is new.')");
  noProblems(page);
}

/** S-53: two pages and a terminal in one conversation, and each can stop it. */
async function manyClients({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await begin(page, "Say it slowly");
  const other = await openPage(browser, house, { locale: "zh-CN" });
  await other.goto(page.url());
  await other.waitForSelector(".caret");
  await other.click(".live .btn:has-text('停止')");
  await page.waitForSelector(".entry:has-text('Stopped.')");
  await house.run("ask", "--session", session, "From the terminal");
  for (const it of [page, other]) await answered(it, "From the terminal");
  const shown = await Promise.all([page, other].map((it) => it.$$eval(".entry[data-key]", (all) => all.map((entry) => entry.dataset.key))));
  assert.deepEqual(shown[0], shown[1]);
  assert.deepEqual(await said(page), ["Say it slowly", "From the terminal"]);
}

async function branches({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Hello");
  await ask(page, "Second");
  // The last message is changed as a branch.
  await page.hover(".said:has-text('Second')");
  await page.click(".said:has-text('Second') [aria-label='Edit as a new branch']");
  await holds(page, ".write textarea", "Second");
  await page.fill(".write textarea", "Second, changed");
  await page.press(".write textarea", "Enter");
  await page.waitForSelector(".fork");
  await answered(page, "Second, changed");
  assert.deepEqual(await said(page), ["Hello", "Second, changed"]);
  await page.click("[aria-label='Previous branch']");
  await page.waitForSelector(".said:has-text('Second') >> text=/^Second$/");
  assert.deepEqual(await said(page), ["Hello", "Second"]);
  // Asked again.
  await page.hover(".said:has-text('Second')");
  await page.click(".said:has-text('Second') [aria-label='Ask again as a new branch']");
  await page.waitForSelector(".fork:has-text('3 branches')");
  await rest(page);
  assert.equal(await page.$$eval(".tree .turn", (rows) => rows.length), 4);
  // From an answer, and a clone.
  await page.hover(".answer >> nth=0");
  await page.click(".answer >> nth=0 >> [aria-label='Branch from here']");
  await page.waitForFunction(() => document.querySelectorAll(".said").length === 1);
  await page.click(".answer >> nth=0 >> [aria-label='Clone up to here']");
  await page.waitForFunction((before) => !location.hash.includes(before), session);
  await shows(page);
  await page.waitForSelector(".said:has-text('Hello')");
  const copy = await events(house, sessionOf(page));
  assert.ok(copy.filter((event) => event.sourceTag === "clone").length >= 2);
  await ask(page, "Third");
  await page.waitForSelector(".said:has-text('Third')");
  assert.deepEqual(await said(page), ["Hello", "Third"]);
  noProblems(page);
}

async function link({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Message 0");
  for (let n = 1; n < 12; n += 1) await ask(page, `Message ${n}`);
  const first = (await events(house, session)).find((event) => event.type === "user_message");
  await page.goto(`${house.url}/#/c/${session}/${first.id}`);
  await page.reload();
  await page.waitForSelector(".said:has-text('Message 0')");
  await page.waitForFunction((id) => document.querySelector(`[data-key="${id}"]`)?.classList.contains("marked"), first.id);
  const box = await (await page.$(`[data-key="${first.id}"]`)).boundingBox();
  assert.ok(box.y > 0 && box.y < 500, JSON.stringify(box));
  await page.click(".to-end");
  await page.waitForSelector(".said:has-text('Message 11')");
}

/** S-57: new text is followed only while the end is in view, and calls are folded. */
async function following({ browser, house }) {
  const page = await openPage(browser, house, { viewport: { width: 1440, height: 500 } });
  await beginAndRest(page, "Look around, please.");
  assert.equal(await page.$(".log details[open]"), null, "calls and thinking are folded");
  house.model.state.slowPace = 20;
  await say(page, "Say it slowly");
  await page.waitForSelector(".caret");
  const fromEnd = () => page.$eval(".stream", (it) => it.scrollHeight - it.scrollTop - it.clientHeight);
  await page.waitForFunction(() => document.querySelector(".caret") !== null && document.querySelector(".log").textContent.includes("word60"));
  assert.ok(await fromEnd() < 60, "the end is followed");
  await page.hover(".stream");
  await page.mouse.wheel(0, -2_000);
  await page.waitForSelector(".to-end");
  const before = await page.$eval(".stream", (it) => it.scrollTop);
  await answered(page, "Say it slowly");
  assert.ok(Math.abs(await page.$eval(".stream", (it) => it.scrollTop) - before) < 5, "what is being read does not move");
  await page.click(".to-end");
  await page.waitForFunction(() => document.querySelector(".log").textContent.includes("word399"));
  await page.waitForSelector(".to-end", { state: "detached" });
  assert.ok(await fromEnd() < 60);
  noProblems(page);
}

async function files({ browser, house }) {
  const page = await openPage(browser, house);
  await newConversation(page);
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC", "base64");
  await page.setInputFiles("input[type=file]", [{ name: "plan.png", mimeType: "image/png", buffer: png }, { name: "notes.exe", mimeType: "application/x-msdownload", buffer: png }]);
  await page.waitForSelector(".chips .file-chip");
  assert.equal(await page.$$eval(".chips li", (all) => all.length), 1);
  assert.match(await page.textContent(".toast"), /notes\.exe/);
  // Pasted.
  await page.evaluate(async (data) => {
    const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
    document.querySelector(".write textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
  }, png.toString("base64"));
  await page.waitForFunction(() => document.querySelectorAll(".chips li").length === 2);
  await page.click(".chips li >> nth=1 >> .tool");
  // Dropped.
  await page.evaluate(async (data) => {
    const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
    const place = document.querySelector(".log-place");
    for (const type of ["dragover", "drop"]) place.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, png.toString("base64"));
  await page.waitForSelector(".chips li:has-text('dropped.png')");
  assert.equal(await page.$(".drop"), null);
  await say(page, "What is this?");
  await page.waitForFunction(() => location.hash.startsWith("#/c/"));
  await answered(page, "What is this?");
  const session = sessionOf(page);
  await page.waitForSelector(".said img.picture");
  const message = (await events(house, session)).find((event) => event.type === "user_message");
  assert.deepEqual(message.message.content.filter((it) => it.type === "image").map((it) => it.name), ["plan.png", "dropped.png"]);
  // One that is too large is refused before anything is sent.
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(21 * 1024 * 1024)], "large.png", { type: "image/png" }));
    document.querySelector(".write textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
  });
  await page.waitForSelector(".toast:has-text('together')");
  assert.equal(await page.$(".chips li"), null);
  noProblems(page);
}

async function retries({ browser, house }) {
  const page = await openPage(browser, house);
  house.model.state.failures = 1;
  await begin(page, "Hello");
  await page.waitForSelector("text=/model server/");
  await answered(page, "Hello");
  assert.ok((await answers(page)).some((text) => text.includes("I heard you")));
}

async function drafts({ browser, house }) {
  const page = await openPage(browser, house);
  const first = await beginAndRest(page, "Hello");
  await beginAndRest(page, "Other");
  await page.fill(".write textarea", "half a thought");
  await page.evaluate((id) => { location.hash = `#/c/${id}`; }, first);
  await page.waitForFunction(() => document.querySelector(".write textarea")?.value === "");
  await page.goBack();
  await page.waitForFunction(() => document.querySelector(".write textarea")?.value === "half a thought");
}

/** S-57: a conversation that nobody writes in leaves nothing behind. */
async function firstMessage({ browser, house }) {
  const page = await openPage(browser, house);
  const count = async () => (await call(house, "list_sessions")).sessions.length;
  await page.keyboard.press("n");
  await page.waitForSelector("dialog[open]");
  assert.ok(await page.evaluate(() => document.activeElement?.matches("dialog input[type=radio]")), "the focus is on the choice, not on Close");
  await page.keyboard.press("Enter");
  await shows(page);
  assert.ok(await page.evaluate(() => document.activeElement?.matches(".write textarea")));
  const draft = page.url();
  await page.keyboard.type("half a thought");
  await page.reload();
  await shows(page);
  await page.waitForFunction(() => document.querySelector(".write textarea").value === "half a thought");
  assert.equal(await count(), 0);
  // What is typed while the conversation begins goes along.
  house.model.state.slowPace = 100;
  await page.fill(".write textarea", "Say it slowly");
  await page.focus(".write textarea");
  await page.keyboard.press("Enter");
  await page.keyboard.type("and then");
  await page.waitForFunction(() => location.hash.startsWith("#/c/"));
  await shows(page);
  await page.waitForFunction(() => document.querySelector(".write textarea").value === "and then" && document.activeElement?.matches(".write textarea"));
  await page.waitForSelector(".caret");
  house.model.state.slowPace = 1;
  await answered(page, "Say it slowly");
  assert.equal(await count(), 1);
  assert.equal(await page.$$eval(".thread", (all) => all.length), 1);
  assert.notEqual(page.url(), draft);
  noProblems(page);
}

/** Sessions that a terminal began in one folder, one after the other. */
async function earlierSessions({ browser, house }) {
  await house.run("ask", "The first of this folder");
  await house.run("ask", "--new", "The second of this folder");
  const page = await openPage(browser, house);
  await page.waitForSelector(".thread:has-text('The second')");
  await page.click(".thread:has-text('The first')");
  await page.waitForSelector(".said:has-text('The first of this folder')");
  assert.equal(await page.$(".thread.unread"), null);
  await ask(page, "Go on");
  assert.deepEqual(await said(page), ["The first of this folder", "Go on"]);
  noProblems(page);
}

async function unread({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Hello");
  await beginAndRest(page, "Other");
  await house.run("ask", "--session", session, "From the terminal");
  await page.waitForSelector(".thread.unread .count");
  await page.click(".thread.unread");
  await page.waitForSelector(".said:has-text('From the terminal')");
  await page.waitForSelector(".thread.unread", { state: "detached" });
  await page.fill("input[type=search]", "terminal");
  await page.waitForSelector(".thread:has-text('From the terminal')");
}

export const scenarios = [
  ["log in by code, once", logIn],
  ["send and stream: Markdown, code, maths, table, thinking, calls", sendAndStream],
  ["stop and try again", stop],
  ["approval: denied, allowed by key", approvals],
  ["approval answered on another page", twoAnswers],
  ["allowed for a time, and revoked", grants],
  ["differences of files, also before they are allowed", diffs],
  ["a running command shows its last lines", runningCommand],
  ["steer, queue: edit, delete, move, drag, held", steerAndQueue],
  ["two pages edit one queue", queueConflict],
  ["a steer is shown as a steer", steerShown],
  ["two pages and a terminal see the same", manyClients],
  ["branch, edit, ask again, clone", branches],
  ["jump to a message by link", link],
  ["the end is followed unless one reads above it", following],
  ["files by choosing, pasting and dropping", files],
  ["a failing model server is retried", retries],
  ["unread mark and search", unread],
  ["a draft stays with its conversation", drafts],
  ["a new conversation begins with its first message", firstMessage],
  ["earlier sessions of a folder are in the list", earlierSessions],
];
