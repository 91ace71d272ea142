// The hash of the page's sources, recorded in `dist/source-hash` when the page is built. How it is computed stands in
// README.md, because a test of the program computes it again.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FILES = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];
const FOLDERS = ["public", "src"];
const PLACE = join(ROOT, "dist", "source-hash");

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

export function sourceHash() {
  const paths = [...FILES.map((name) => join(ROOT, name)), ...FOLDERS.flatMap((name) => filesIn(join(ROOT, name)))];
  const named = paths.map((path) => [relative(ROOT, path).split(sep).join("/"), path]);
  // By bytes, as every language sorts them alike; these names are ASCII.
  named.sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash("sha256");
  for (const [name, path] of named) {
    const content = readFileSync(path);
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

if (process.argv[2] === "--write") {
  writeFileSync(PLACE, `${sourceHash()}\n`);
} else if (process.argv[2] === "--check") {
  const recorded = readFileSync(PLACE, "utf8").trim();
  if (recorded !== sourceHash()) {
    process.stderr.write("web/dist is not built from these sources: run `npm run build` in web/\n");
    process.exit(1);
  }
}
