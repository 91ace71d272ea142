// The connection's ports in a browser, and logging in.
import type { ConnectionPorts, Socket } from "./connection";

export function browserPorts(language: () => string): ConnectionPorts {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return {
    open: () => new WebSocket(`${scheme}//${location.host}/api/socket`, protocols()) as unknown as Socket,
    isLoggedIn,
    now: Date.now,
    later: (ms, then) => {
      const timer = setTimeout(then, ms);
      return () => clearTimeout(timer);
    },
    language,
  };
}

// A cookie goes to every port of this machine; this key stays with the page's own address, and the host wants both.
const PAGE_KEY = "kith.pageKey";

function pageKey(): string {
  try {
    return localStorage.getItem(PAGE_KEY) ?? "";
  } catch {
    return "";
  }
}

/** A WebSocket has no headers of its own, so the key travels as the name of a protocol. */
const protocols = (): string[] => ["kith", `kith.${pageKey()}`];

async function isLoggedIn(): Promise<"yes" | "no" | "unknown"> {
  try {
    const response = await fetch("/api/list_grants", { method: "POST", headers: { "content-type": "application/json", "x-kith-page": pageKey() }, body: "{}" });
    if (response.status === 401) return "no";
    return response.ok ? "yes" : "unknown";
  } catch {
    return "unknown";
  }
}

export type LoginResult = "ok" | "refused" | "unreachable";

/** Exchanges a single-use code for the cookie and the key of the page. */
export async function logIn(code: string): Promise<LoginResult> {
  try {
    const response = await fetch("/api/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    if (!response.ok) return "refused";
    const { pageKey: key } = (await response.json()) as { pageKey: string };
    localStorage.setItem(PAGE_KEY, key);
    return "ok";
  } catch {
    return "unreachable";
  }
}

/** Takes the login code out of the address, so that it is neither kept in the history nor copied with a link. */
export function takeLoginCode(): string | null {
  const match = /^#login=(.+)$/.exec(location.hash);
  if (match === null) return null;
  history.replaceState(null, "", location.pathname);
  return decodeURIComponent(match[1]!);
}
