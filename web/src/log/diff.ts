// Differences of texts, as rows of a table. Pure.

export interface DiffRow {
  kind: "same" | "added" | "removed" | "gap";
  /** Line numbers, from 1. */
  before?: number;
  after?: number;
  text: string;
}

/** Longer texts are not compared line by line; they are shown as removed and added as a whole. */
const COMPARED_LINES_MAX = 2_000;
const CONTEXT_LINES = 3;

/** The rows of a unified difference inside a text; `null` if there is none. */
export function parseUnified(text: string): DiffRow[] | null {
  const rows: DiffRow[] = [];
  let [before, after, isInside] = [0, 0, false];
  for (const line of text.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk !== null) {
      if (isInside || Number(hunk[1]) > 1) rows.push({ kind: "gap", text: "" });
      [before, after, isInside] = [Number(hunk[1]), Number(hunk[2]), true];
    } else if (!isInside || line.startsWith("\\")) continue;
    else if (line.startsWith("+")) rows.push({ kind: "added", after: after++, text: line.slice(1) });
    else if (line.startsWith("-")) rows.push({ kind: "removed", before: before++, text: line.slice(1) });
    else if (line.startsWith(" ")) rows.push({ kind: "same", before: before++, after: after++, text: line.slice(1) });
    else isInside = false;
  }
  return rows.some((row) => row.kind === "added" || row.kind === "removed") ? rows : null;
}

/** The rows by which two texts differ, with a few lines around each change. */
export function compareTexts(old: string, now: string): DiffRow[] {
  const [a, b] = [linesOf(old), linesOf(now)];
  const rows = a.length + b.length > COMPARED_LINES_MAX ? replaced(a, b) : compared(a, b);
  return withContext(rows);
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function replaced(a: readonly string[], b: readonly string[]): DiffRow[] {
  return [
    ...a.map((text, index): DiffRow => ({ kind: "removed", before: index + 1, text })),
    ...b.map((text, index): DiffRow => ({ kind: "added", after: index + 1, text })),
  ];
}

/** By the longest common subsequence. */
function compared(a: readonly string[], b: readonly string[]): DiffRow[] {
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        a[i] === b[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const rows: DiffRow[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      rows.push({ kind: "same", before: ++i, after: ++j, text: a[i - 1]! });
    } else if (j >= b.length || (i < a.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) {
      rows.push({ kind: "removed", before: ++i, text: a[i - 1]! });
    } else {
      rows.push({ kind: "added", after: ++j, text: b[j - 1]! });
    }
  }
  return rows;
}

function withContext(rows: readonly DiffRow[]): DiffRow[] {
  const isNear = rows.map(() => false);
  rows.forEach((row, index) => {
    if (row.kind === "same") return;
    for (let at = Math.max(0, index - CONTEXT_LINES); at <= Math.min(rows.length - 1, index + CONTEXT_LINES); at += 1) isNear[at] = true;
  });
  const shown: DiffRow[] = [];
  rows.forEach((row, index) => {
    if (isNear[index]) shown.push(row);
    else if (shown.at(-1)?.kind !== "gap") shown.push({ kind: "gap", text: "" });
  });
  return shown.every((row) => row.kind === "gap") ? [] : shown;
}

export function countChanges(rows: readonly DiffRow[]): { added: number; removed: number } {
  return { added: rows.filter((row) => row.kind === "added").length, removed: rows.filter((row) => row.kind === "removed").length };
}
