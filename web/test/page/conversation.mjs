import assert from "node:assert/strict";
import { call, loginUrl, openPage } from "./harness.mjs";
import { answers, ask, events, newConversation, noProblems, plain, rest, said, say, sessionOf } from "./steps.mjs";

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
  const session = await newConversation(page);
  await say(page, "Look around, please.");
  await page.waitForSelector(".answer .caret");
  await rest(page);
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
  const session = await newConversation(page);
  await say(page, "Say it slowly");
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
  const session = await newConversation(page);
  await say(page, PUSH);
  const card = await page.waitForSelector(".ask", { timeout: 10_000 }).catch(() => null);
  if (card === null) return "this kith asks about no call";
  assert.match(await page.textContent(".ask pre"), /git push --force-with-lease origin retry-after/);
  assert.match(await page.textContent(".ask-head"), /Expires in/);
  const timed = await page.$(".ask .long");
  if (timed !== null) {
    await timed.click();
    assert.match(await page.textContent(".scope"), /without asking again/);
    await page.click(".scope >> text=Cancel");
  }
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
  await newConversation(page);
  await say(page, "Run `git push origin main`");
  if (await page.waitForSelector(".ask", { timeout: 10_000 }).catch(() => null) === null) return "this kith asks about no call";
  const timed = await page.waitForSelector(".ask .long", { timeout: 3_000 }).catch(() => null);
  if (timed === null) return "only a single yes is safe here";
  await timed.click();
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
  const session = await newConversation(page);
  await say(page, "Edit the USER.md");
  const isAsked = await page.waitForSelector(".ask", { timeout: 10_000 }).catch(() => null) !== null;
  if (isAsked) {
    await page.waitForSelector(".ask .diff .a");
    assert.match(await page.textContent(".ask .diff"), /You like short answers/);
    await page.click(".ask .btn:has-text('Allow') >> nth=0");
  }
  await rest(page);
  const changed = (await events(house, session)).filter((event) => event.type === "tool_result" && event.outcome === "done" && /edit_file|write_file/.test(event.tool));
  if (changed.length === 0) return "this kith changes no files";
  await page.click(".fold:has-text('Edited') summary");
  await page.waitForSelector(".call-body .diff .a");
  assert.match(await page.textContent(".call-body .diff"), /zwei/);
  assert.match(await page.textContent(".fold:has-text('Edited')"), /\+2 −1/);
  await page.waitForSelector(".panel .rows:has-text('note.txt')");
  noProblems(page);
}

async function runningCommand({ browser, house }) {
  const page = await openPage(browser, house);
  await newConversation(page);
  await say(page, "Run `for i in 1 2 3 4 5 6; do echo line$i; sleep 0.5; done`");
  if (await page.waitForSelector(".ask", { timeout: 3_000 }).catch(() => null) !== null) await page.click(".ask .btn >> nth=0");
  const tail = await page.waitForSelector(".tail", { timeout: 10_000 }).catch(() => null);
  if (tail === null) return "this kith tells no lines of a running command";
  await page.waitForSelector(".live:has-text('Running')");
  await rest(page);
  assert.match(await page.textContent(".fold:has-text('Ran')"), /exit 0, 6 lines/);
  noProblems(page);
}

async function twoAnswers({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await newConversation(page);
  await say(page, PUSH);
  if (await page.waitForSelector(".ask", { timeout: 10_000 }).catch(() => null) === null) return "this kith asks about no call";
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
  const session = await newConversation(page);
  await say(page, "Say it slowly");
  await page.waitForSelector(".caret");
  await page.check(".send .seg label:has-text('Queue') input");
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
  await page.check(".send .seg label:has-text('Steer') input");
  await say(page, "Cap it at 30 s.");
  await page.waitForSelector(".queue li:has-text('Cap it')");
  await page.click(".live .btn:has-text('Stop')");
  await page.waitForSelector("text=/wait because the last turn/");
  await page.click(".held .btn");
  await page.waitForSelector(".said:has-text('second, changed')");
  await rest(page);
  const updates = (await events(house, session)).filter((event) => event.type === "queue_update");
  assert.ok(updates.length >= 6);
  noProblems(page);
}

async function branches({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await newConversation(page);
  await ask(page, "Hello");
  await ask(page, "Second");
  // The last message is changed as a branch.
  await page.hover(".said:has-text('Second')");
  await page.click(".said:has-text('Second') [aria-label='Edit as a new branch']");
  assert.equal(await page.inputValue(".write textarea"), "Second");
  await page.fill(".write textarea", "Second, changed");
  await page.press(".write textarea", "Enter");
  await page.waitForSelector(".fork");
  await rest(page);
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
  const session = await newConversation(page);
  for (let n = 0; n < 12; n += 1) await ask(page, `Message ${n}`);
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

async function files({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await newConversation(page);
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
  await ask(page, "What is this?");
  await page.waitForSelector(".said img.picture");
  const message = (await events(house, session)).find((event) => event.type === "user_message");
  assert.equal(message.message.content.find((it) => it.type === "image").name, "plan.png");
  noProblems(page);
}

async function hostileText({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await newConversation(page);
  await ask(page, "xss <img src=x onerror=window.hacked=1>");
  await call(house, "rename_session", { session, title: "<script>window.hacked=1</script>" });
  await page.waitForSelector(".thread .name:has-text('<script>')");
  await page.goto(`${house.url}/#/i/${session}`);
  await page.waitForSelector(".range");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.goto(`${house.url}/#/c/${session}`);
  await page.waitForSelector(".answer");
  assert.equal(await page.$$eval(".stream iframe, .stream script, .stream img[src^=http], .stream a[href^=javascript]", (all) => all.length), 0);
  noProblems(page);
}

async function retries({ browser, house }) {
  const page = await openPage(browser, house);
  await newConversation(page);
  house.model.state.failures = 1;
  await say(page, "Hello");
  await page.waitForSelector("text=/model server/");
  await rest(page);
  assert.ok((await answers(page)).some((text) => text.includes("I heard you")));
}

async function drafts({ browser, house }) {
  const page = await openPage(browser, house);
  const first = await newConversation(page);
  await newConversation(page);
  await page.fill(".write textarea", "half a thought");
  await page.evaluate((id) => { location.hash = `#/c/${id}`; }, first);
  await page.waitForFunction(() => document.querySelector(".write textarea")?.value === "");
  await page.goBack();
  await page.waitForFunction(() => document.querySelector(".write textarea")?.value === "half a thought");
}

async function unread({ browser, house }) {
  const page = await openPage(browser, house);
  const session = await newConversation(page);
  await ask(page, "Hello");
  await newConversation(page);
  await ask(page, "Other");
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
  ["branch, edit, ask again, clone", branches],
  ["jump to a message by link", link],
  ["files by choosing and pasting", files],
  ["hostile text runs nothing", hostileText],
  ["a failing model server is retried", retries],
  ["unread mark and search", unread],
  ["a draft stays with its conversation", drafts],
];
