// Which model a message expects to be answered by. The host refuses a message that expects another one, so that words
// go only where their author thinks they go.
import type { ModelRow, SendMessage } from "../wire/calls";

/** Vendors whose key is taken from the environment, by the form of their requests. */
const VENDOR_OF_WIRE: Record<string, string> = { anthropic: "anthropic", openai_chat: "openai", openai_responses: "openai" };

export function expectedModel(row: ModelRow): SendMessage["expects"] {
  const provider = row.source === "builtin" ? "demo" : row.source === "settings" ? row.name : (VENDOR_OF_WIRE[row.wire ?? ""] ?? row.name);
  return { provider, model: row.model, ...(row.server === null ? {} : { server: row.server }) };
}
