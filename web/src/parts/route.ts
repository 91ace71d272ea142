// Where the page is. The address is the state: a link to a message opens it, and Back goes back.
import { useSyncExternalStore } from "react";

export type Route =
  | { view: "list" }
  /** A conversation that begins with its first message; until then nothing of it exists but this id. */
  | { view: "new"; draftId: string }
  | { view: "conversation"; sessionId: string; eventId: string | null }
  | { view: "inspector"; sessionId: string; requestId: string | null }
  | { view: "settings" };

const ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const CONVERSATION = new RegExp(`^#/c/(${ID})(?:/(${ID}))?$`);
const NEW = new RegExp(`^#/new/(${ID})$`);
const INSPECTOR = new RegExp(`^#/i/(${ID})(?:/(${ID}))?$`);

export function parseRoute(hash: string): Route {
  const conversation = CONVERSATION.exec(hash);
  if (conversation !== null) return { view: "conversation", sessionId: conversation[1]!, eventId: conversation[2] ?? null };
  const draft = NEW.exec(hash);
  if (draft !== null) return { view: "new", draftId: draft[1]! };
  const inspector = INSPECTOR.exec(hash);
  if (inspector !== null) return { view: "inspector", sessionId: inspector[1]!, requestId: inspector[2] ?? null };
  return hash === "#/settings" ? { view: "settings" } : { view: "list" };
}

export function hrefOf(route: Route): string {
  switch (route.view) {
    case "list": return "#/";
    case "settings": return "#/settings";
    case "new": return `#/new/${route.draftId}`;
    case "conversation": return `#/c/${route.sessionId}${route.eventId === null ? "" : `/${route.eventId}`}`;
    case "inspector": return `#/i/${route.sessionId}${route.requestId === null ? "" : `/${route.requestId}`}`;
  }
}

export function go(route: Route): void {
  location.hash = hrefOf(route);
}

/** Changes the address without a step in the history. */
export function replace(route: Route): void {
  history.replaceState(null, "", hrefOf(route));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

const subscribe = (listener: () => void): (() => void) => {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
};

let known: { hash: string; route: Route } | null = null;
const current = (): Route => {
  if (known?.hash !== location.hash) known = { hash: location.hash, route: parseRoute(location.hash) };
  return known.route;
};

export const useRoute = (): Route => useSyncExternalStore(subscribe, current);
