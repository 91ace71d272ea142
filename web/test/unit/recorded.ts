// A recorded session: every item that a real host sent to a subscriber, in order.
import { readFileSync } from "node:fs";
import type { LogEvent, SubscriptionItem } from "../../src/wire/types";

const read = (path: string): string[] => readFileSync(new URL(path, import.meta.url), "utf8").trim().split("\n");

export const ITEMS = read("./fixtures/session-items.jsonl").map((line) => JSON.parse(line) as SubscriptionItem);
export const SESSION = "01a1ec07-0000-7000-8000-000000000001";

export const EVENTS: LogEvent[] = ITEMS.flatMap((item) => (typeof item !== "string" && "turn" in item && "event" in item.turn ? [item.turn.event] : []));

/** The log that the program's own tests keep for its first version: every kind of event there was then. */
export const WHOLE_LOG: LogEvent[] = read("../../../testdata/sessions/v1-whole.jsonl").slice(1).map((line) => JSON.parse(line) as LogEvent);
