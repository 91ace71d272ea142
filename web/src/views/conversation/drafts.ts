// What was written and not sent, by conversation. It outlives the page.
const KEY = "kith.draft.";

export function readDraft(sessionId: string): string {
  try {
    return localStorage.getItem(KEY + sessionId) ?? "";
  } catch {
    return "";
  }
}

export function writeDraft(sessionId: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(KEY + sessionId);
    else localStorage.setItem(KEY + sessionId, text);
  } catch {
    // The text is still in the field.
  }
}
