// What a person does on the page, in words, for the scenarios.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { call } from "./harness.mjs";

const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** Opens the field of a new conversation. There is no session before its first message. */
export async function newConversation(page) {
  const before = page.url();
  await page.click('button[aria-label="New conversation"]');
  await page.waitForSelector("dialog[open]");
  await page.click("dialog .btn.primary");
  await page.waitForFunction((url) => location.href !== url && document.querySelector("dialog[open]") === null, before);
  await shows(page);
}

/** Waits until the page shows what its address names, so that nothing is typed into the view that is going away. */
export async function shows(page) {
  await page.waitForFunction(() => {
    const id = /#\/(?:c|new)\/([0-9a-f-]{36})/.exec(location.hash)?.[1];
    return id !== undefined && document.querySelector("main")?.dataset.session === id && document.querySelector(".write textarea") !== null;
  });
}

/** Begins a conversation with a message, and gives its session. */
export async function begin(page, text) {
  await newConversation(page);
  await say(page, text);
  await page.waitForFunction(() => location.hash.startsWith("#/c/"));
  await shows(page);
  await page.waitForSelector(".said .words:not(.pending)");
  return sessionOf(page);
}

/** The same, until the turn is over. */
export async function beginAndRest(page, text) {
  const session = await begin(page, text);
  await answered(page, text);
  return session;
}

export const sessionOf = (page) => /#\/[ci]\/([0-9a-f-]{36})/.exec(page.url())[1];

export async function say(page, text) {
  await page.fill(".write textarea", text);
  await page.press(".write textarea", "Enter");
}

/** Waits until a field holds this text. */
export const holds = (page, field, text) => page.waitForFunction(([field, text]) => document.querySelector(field)?.value === text, [field, text]);

/** Waits until the turn is over. */
export async function rest(page) {
  await page.waitForSelector(".live", { state: "detached" });
}

/** Waits until the conversation ends with the turn of this message, and that turn is over. */
export async function answered(page, text) {
  await page.waitForFunction((words) => {
    const isLast = document.querySelector(".turn[aria-current=true]")?.textContent.includes(words);
    return isLast && document.querySelector(".pending, .live") === null;
  }, text);
}

export async function ask(page, text) {
  await say(page, text);
  await answered(page, text);
}

export const events = async (house, session) => (await call(house, "read_events", { session, limit: 500 })).events;

export const said = (page) => page.$$eval(".said .words .prose", (all) => all.map((it) => it.textContent));
export const answers = (page) => page.$$eval(".answer .prose", (all) => all.map((it) => it.textContent));

/** The barriers that axe-core finds, each in a line; and whether the whole page could be scrolled away, which only its parts may be. */
export async function barriers(page, what) {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map((it) => `${it.impact} ${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 140)).join(" | ")}`);
  });
  const [down, aside] = await page.evaluate(() => [document.documentElement.scrollHeight - innerHeight, document.documentElement.scrollWidth - innerWidth]);
  if (down > 0 || aside > 0) found.push(`the page can be scrolled by ${down} px down and ${aside} px aside`);
  return found.map((it) => `${what}: ${it}`);
}

export function noProblems(page) {
  assert.deepEqual(page.problems, []);
}

export const plain = (event) => event.message.content.filter((it) => it.type === "text").map((it) => it.text).join("");
