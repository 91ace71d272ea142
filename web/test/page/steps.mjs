// What a person does on the page, in words, for the scenarios.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { call } from "./harness.mjs";

const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

export async function newConversation(page) {
  const before = page.url();
  await page.click('button[aria-label="New conversation"]');
  await page.waitForSelector("dialog[open]");
  await page.click("dialog .btn.primary");
  await page.waitForFunction((url) => location.href !== url && document.querySelector("dialog[open]") === null, before);
  await page.waitForSelector(".write textarea");
  return sessionOf(page);
}

export const sessionOf = (page) => /#\/[ci]\/([0-9a-f-]{36})/.exec(page.url())[1];

export async function say(page, text) {
  await page.fill(".write textarea", text);
  await page.press(".write textarea", "Enter");
}

/** Waits until the turn is over. */
export async function rest(page, timeout = 20_000) {
  await page.waitForSelector(".live", { state: "detached", timeout });
}

export async function ask(page, text) {
  await say(page, text);
  await page.waitForSelector(".live", { timeout: 5_000 }).catch(() => {});
  await rest(page);
}

export const events = async (house, session) => (await call(house, "read_events", { session, limit: 500 })).events;

export const said = (page) => page.$$eval(".said .words .prose", (all) => all.map((it) => it.textContent));
export const answers = (page) => page.$$eval(".answer .prose", (all) => all.map((it) => it.textContent));

/** The barriers that axe-core finds, each in a line. */
export async function barriers(page, what) {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map((it) => `${it.impact} ${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 140)).join(" | ")}`);
  });
  return found.map((it) => `${what}: ${it}`);
}

export function noProblems(page) {
  assert.deepEqual(page.problems, []);
}

export const plain = (event) => event.message.content.filter((it) => it.type === "text").map((it) => it.text).join("");
