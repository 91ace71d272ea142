// How a call is told in one line: icon, verb, what it was about, what came of it. Pure.
import type { IconName } from "../parts/icon";
import type { WordKey, Params } from "../words/words";
import { compareTexts, countChanges, type DiffRow, parseUnified } from "./diff";
import type { CallState } from "./state";
import { countLines, firstLine, plainText } from "./text";

export interface CallLine {
  icon: IconName;
  verb: WordKey;
  target: string;
  gave: { key: WordKey; params?: Params } | { text: string } | null;
  changes: { added: number; removed: number } | null;
  isBad: boolean;
  /** How long it ran, if that is known. */
  ms: number | null;
}

interface ToolForm { icon: IconName; verb: WordKey; target: (input: Record<string, unknown>) => unknown }

const FORMS: Record<string, ToolForm> = {
  read_file: { icon: "file", verb: "read", target: (input) => input["path"] },
  list_files: { icon: "folder", verb: "listed", target: (input) => input["path"] ?? "." },
  search_files: { icon: "search", verb: "searched", target: (input) => input["pattern"] },
  exec_shell: { icon: "terminal", verb: "ran", target: (input) => input["command"] },
  exec_output: { icon: "terminal", verb: "read", target: (input) => input["id"] },
  exec_stop: { icon: "stop", verb: "called", target: (input) => input["id"] },
  write_file: { icon: "pencil", verb: "wrote", target: (input) => input["path"] },
  edit_file: { icon: "pencil", verb: "edited", target: (input) => input["path"] },
  fetch_url: { icon: "globe", verb: "fetched", target: (input) => input["url"] },
  web_fetch: { icon: "globe", verb: "fetched", target: (input) => input["url"] },
  todo_write: { icon: "list", verb: "planned", target: (input) => tasks(input) },
  skill: { icon: "save", verb: "usedSkill", target: (input) => input["name"] },
};

function tasks(input: Record<string, unknown>): string {
  const all = Array.isArray(input["tasks"]) ? (input["tasks"] as { text?: unknown; state?: unknown }[]) : [];
  const doing = all.find((task) => task.state === "doing") ?? all.find((task) => task.state === "open");
  return String(doing?.text ?? "");
}

/** The tool and input that a call means; `use_tool` names another tool. */
export function toolOf({ block }: CallState): { tool: string; input: Record<string, unknown> } {
  const input = block.input ?? {};
  if (block.tool === "use_tool" && typeof input["name"] === "string") {
    const inner = input["input"];
    return { tool: input["name"], input: typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>) : {} };
  }
  return { tool: block.tool, input };
}

export function callLine(call: CallState): CallLine {
  const { tool, input } = toolOf(call);
  const form = FORMS[tool];
  const summary = typeof call.judged?.facts["summary"] === "string" ? call.judged.facts["summary"] : "";
  const target = form === undefined ? summary.replace(`${tool} `, "") : String(form.target(input) ?? "");
  const outcome = call.result?.outcome;
  const isBad = outcome === "failed" || outcome === "interrupted" || outcome === "refused";
  return {
    icon: form?.icon ?? "spark",
    verb: verbOf(call, form),
    target: firstLine(form === undefined ? `${tool} ${target}`.trim() : target),
    gave: gaveOf(call, tool),
    changes: outcome === "done" ? changesOf(call) : null,
    isBad,
    ms: durationOf(call),
  };
}

function verbOf(call: CallState, form: ToolForm | undefined): WordKey {
  switch (call.result?.outcome) {
    case "refused": return "callRefused";
    case "failed": return "callFailed";
    case "cancelled": return "callCancelled";
    case "interrupted":
    case "done": return form?.verb ?? "called";
    default:
  }
  if (call.started !== undefined) return "callRunning";
  return call.approvalId === undefined ? (form?.verb ?? "called") : "callWaits";
}

function durationOf({ judged, started, result }: CallState): number | null {
  const from = started ?? judged;
  return from === undefined || result === undefined ? null : Math.max(0, result.ts - from.ts);
}

function gaveOf(call: CallState, tool: string): CallLine["gave"] {
  const { result } = call;
  if (result === undefined) return call.started !== undefined && call.judged !== undefined && call.judged.sandbox !== "none" ? { key: "inTheSandbox" } : null;
  const text = plainText(result.content);
  if (result.outcome === "interrupted") return { key: "outcomeUnknown" };
  if (result.outcome !== "done") return { text: firstLine(text) };
  if (text.trim() === "") return { key: "noOutput" };
  if (tool === "exec_shell") return shellResult(text);
  if (tool === "search_files") return searchResult(text);
  if (tool === "edit_file" || tool === "write_file" || tool === "todo_write") return null;
  return { key: "lines", params: { n: countLines(text) } };
}

function shellResult(text: string): CallLine["gave"] {
  const exit = /exit code (-?\d+)/.exec(text);
  const n = countLines(text) - (exit === null ? 0 : 1);
  return exit === null ? { key: "lines", params: { n } } : { key: "exitLines", params: { code: exit[1]!, n: Math.max(0, n) } };
}

function searchResult(text: string): CallLine["gave"] {
  const found = /^\D{0,12}?([\d,]+) match(?:es)? in ([\d,]+) files?/.exec(text);
  if (found === null) return { text: firstLine(text, 60) };
  return { key: "hitsInFiles", params: { n: number(found[1]!), m: number(found[2]!) } };
}

const number = (text: string): number => Number(text.replaceAll(",", ""));

/** The lines that a call has changed, or would change. */
export function diffOf(call: CallState): DiffRow[] | null {
  const { tool, input } = toolOf(call);
  if (tool !== "edit_file" && tool !== "write_file") return null;
  const fromResult = call.result === undefined ? null : parseUnified(plainText(call.result.content));
  if (fromResult !== null) return fromResult;
  if (tool === "edit_file" && typeof input["old"] === "string" && typeof input["new"] === "string") {
    return compareTexts(input["old"], input["new"]);
  }
  return typeof input["content"] === "string" ? compareTexts("", input["content"]) : null;
}

export function changesOf(call: CallState): { added: number; removed: number } | null {
  const rows = diffOf(call);
  return rows === null ? null : countChanges(rows);
}
