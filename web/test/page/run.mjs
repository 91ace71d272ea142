// The whole page in a real Chromium against a real `kith up`. `node test/page/run.mjs [part of a name]`.
import { closeHouse, openBrowser, openHouse } from "./harness.mjs";
import { scenarios as conversation } from "./conversation.mjs";
import { scenarios as losses } from "./losses.mjs";
import { scenarios as priming } from "./priming.mjs";
import { scenarios as views } from "./views.mjs";

const wanted = process.argv[2] ?? "";
const all = [...conversation, ...priming, ...losses, ...views].filter(([name]) => name.includes(wanted));
const browser = await openBrowser();
let nFailed = 0;
for (const [name, run] of all) {
  const house = await openHouse();
  const began = Date.now();
  try {
    const skipped = await run({ browser, house });
    console.log(`${typeof skipped === "string" ? `skipped (${skipped})` : "ok"}  ${name}  ${Date.now() - began} ms`);
  } catch (error) {
    nFailed += 1;
    console.log(`FAILED  ${name}\n${error.stack ?? error}`);
  } finally {
    for (const context of browser.contexts()) await context.close();
    await closeHouse(house);
  }
}
await browser.close();
console.log(`${all.length - nFailed} of ${all.length} passed`);
process.exit(nFailed === 0 ? 0 : 1);
