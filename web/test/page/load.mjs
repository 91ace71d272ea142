// What the page takes until the first conversation is shown: times since the navigation, and the bytes of its scripts.
// `KITH=/path/to/kith node test/page/load.mjs` prints it as JSON; `cargo xtask bench --only page` starts it so.
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { closeHouse, openBrowser, openHouse, openPage } from "./harness.mjs";
import { beginAndRest, noProblems } from "./steps.mjs";

const RUNS = 20;

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** The medians of so many loads; the first of all fills the browser's cache and does not count. */
export async function measureLoad(browser, house, nRuns) {
  const page = await openPage(browser, house);
  const session = await beginAndRest(page, "Hello");
  const sizes = new Map();
  page.on("response", async (response) => { if (/\.js$/.test(response.url())) sizes.set(response.url(), gzipSync(await response.body()).length); });
  const all = { "first paint": [], "list of conversations": [], "conversation": [] };
  for (let n = 0; n < nRuns; n += 1) {
    await page.goto("about:blank");
    await page.goto(`${house.url}/#/c/${session}`);
    const shown = await page.evaluate(async () => {
      const at = {};
      while (at.thread === undefined || at.answer === undefined) {
        if (document.querySelector(".thread") !== null) at.thread ??= performance.now();
        if (document.querySelector(".answer") !== null) at.answer ??= performance.now();
        await new Promise(requestAnimationFrame);
      }
      return { ...at, paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0 };
    });
    all["first paint"].push(shown.paint);
    all["list of conversations"].push(shown.thread);
    all["conversation"].push(shown.answer);
  }
  noProblems(page);
  const times = Object.fromEntries(Object.entries(all).map(([name, numbers]) => [name, median(numbers)]));
  return { times, scripts: { bytes: [...sizes.values()].reduce((sum, it) => sum + it, 0), files: sizes.size } };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const house = await openHouse();
  const browser = await openBrowser();
  try {
    console.log(JSON.stringify({ runs: RUNS, ...(await measureLoad(browser, house, RUNS)) }));
  } finally {
    await browser.close();
    await closeHouse(house);
  }
}
