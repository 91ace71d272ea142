// What was written and not sent, by conversation. It outlives the page.
const KEY = "kith.draft.";
const PLACE_KEY = "kith.draft-place.";

/** Where a conversation that has not begun will be held. */
export interface DraftPlace { cwd: string; agentId: string | null }

/** What stands in the fields right now; the store follows a moment later. */
const typed = new Map<string, string>();
/** Drafts whose conversation has begun. */
const moved = new Set<string>();
let focusedNext: string | null = null;

export function readDraft(id: string): string {
  return typed.get(id) ?? read(KEY + id) ?? "";
}

export function noteTyped(id: string, text: string): void {
  typed.set(id, text);
}

export function writeDraft(id: string, text: string): void {
  if (moved.has(id)) return;
  typed.delete(id);
  write(KEY + id, text === "" ? null : text);
}

/** A conversation has begun: what was typed since its first message goes along, and so does the focus. */
export function moveDraft(draftId: string, sessionId: string): void {
  const text = readDraft(draftId);
  if (text !== "") writeDraft(sessionId, text);
  writeDraft(draftId, "");
  write(PLACE_KEY + draftId, null);
  moved.add(draftId);
  if (document.activeElement?.matches(".write textarea")) focusedNext = sessionId;
}

/** Whether the field of this conversation takes the focus from the one it follows. Asked once. */
export function takesFocus(sessionId: string): boolean {
  const takes = focusedNext === sessionId;
  if (takes) focusedNext = null;
  return takes;
}

export function readPlace(draftId: string): DraftPlace | null {
  try {
    return JSON.parse(read(PLACE_KEY + draftId) ?? "null") as DraftPlace | null;
  } catch {
    return null;
  }
}

export const writePlace = (draftId: string, place: DraftPlace): void => write(PLACE_KEY + draftId, JSON.stringify(place));

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // The text is still in the field.
  }
}
