// The one connection to the host: a WebSocket that greets, asks, follows, and comes back by itself.
//
// A call that was under way when the connection broke fails with `ConnectionLost`; whoever made it decides whether it
// may be asked again. Nothing is queued here: what must survive a loss is kept by its owner (`outbox.ts`,
// `session_feed.ts`), which also knows how to resume.
import type { CallName, Calls, FollowName, Follows } from "./calls";
import { ConnectionLost, HostError } from "./errors";
import type { CallErrorBody } from "./types";

export const PROTOCOL = 3;
/** The host says `alive` every few seconds; a connection that is silent for longer is dead, as after a sleep. */
const SILENCE_MS_MAX = 20_000;
const RETRY_MS = [250, 500, 1_000, 2_000, 4_000, 8_000] as const;
/** After so many failures in a row the page says that it is offline rather than reconnecting. */
export const ATTEMPTS_UNTIL_OFFLINE = 4;

export type ConnectionState =
  | { kind: "connecting"; attempt: number }
  | { kind: "online" }
  | { kind: "waiting"; attempt: number; retryAt: number }
  /** The cookie is missing or no longer valid. */
  | { kind: "loggedOut" }
  /** The host speaks another version: the page must be loaded anew. */
  | { kind: "outdated"; message: string };

/** The parts of a WebSocket that are used, so that tests can stand in for it. */
export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
}

export interface ConnectionPorts {
  open: () => Socket;
  /** Asks over plain HTTP whether the page is still logged in; a failed WebSocket does not say why. */
  isLoggedIn: () => Promise<"yes" | "no" | "unknown">;
  now: () => number;
  /** Calls back later; the returned function cancels. */
  later: (ms: number, then: () => void) => () => void;
  language: () => string;
}

interface Reply<T> { data: T; notes: string[] }

interface Pending {
  onItem: ((item: never) => void) | null;
  resolve: (reply: Reply<never>) => void;
  reject: (error: Error) => void;
}

export interface Following<T> {
  done: Promise<Reply<T>>;
  /** Tells the host to stop it. */
  cancel: () => void;
}

type HostFrame =
  | { type: "hello"; protocol: number }
  | { type: "alive" }
  | { type: "response"; requestId: string; data: never; notes: string[] }
  | { type: "item"; requestId: string; item: never }
  | ({ type: "error"; requestId?: string } & CallErrorBody);

export class Connection {
  private state: ConnectionState = { kind: "connecting", attempt: 0 };
  private readonly listeners = new Set<() => void>();
  private readonly pending = new Map<string, Pending>();
  private socket: Socket | null = null;
  private nextRequest = 1;
  private stopWaiting: (() => void) | null = null;
  private stopSilence: (() => void) | null = null;
  private closed = false;

  constructor(private readonly ports: ConnectionPorts) {}

  readonly current = (): ConnectionState => this.state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  start(): void {
    this.connect(0);
  }

  /** Tries at once, whatever the wait still was. */
  readonly tryNow = (): void => {
    if (this.state.kind !== "waiting" && this.state.kind !== "loggedOut") return;
    this.connect(this.state.kind === "waiting" ? this.state.attempt : 0);
  };

  close(): void {
    this.closed = true;
    this.stopWaiting?.();
    this.drop();
  }

  async call<N extends CallName>(name: N, body: Calls[N]["body"]): Promise<Calls[N]["answer"]> {
    return (await this.ask<Calls[N]["answer"]>(name, body, null).done).data;
  }

  follow<N extends FollowName>(
    name: N,
    body: Follows[N]["body"],
    onItem: (item: Follows[N]["item"]) => void,
  ): Following<Follows[N]["answer"]> {
    return this.ask(name, body, onItem as (item: never) => void);
  }

  private ask<T>(name: string, body: unknown, onItem: ((item: never) => void) | null): Following<T> {
    const requestId = String(this.nextRequest);
    this.nextRequest += 1;
    const socket = this.socket;
    if (socket === null || this.state.kind !== "online") {
      return { done: Promise.reject(new ConnectionLost()), cancel: () => {} };
    }
    const done = new Promise<Reply<T>>((resolve, reject) => {
      this.pending.set(requestId, { onItem, resolve: resolve as (reply: Reply<never>) => void, reject });
    });
    socket.send(JSON.stringify({ type: name, requestId, body }));
    const cancel = (): void => {
      const pending = this.pending.get(requestId);
      if (pending === undefined || this.socket !== socket) return;
      this.pending.set(requestId, { ...pending, onItem: null });
      socket.send(JSON.stringify({ type: "cancel", requestId }));
    };
    return { done, cancel };
  }

  private set(state: ConnectionState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }

  private connect(attempt: number): void {
    this.stopWaiting?.();
    this.stopWaiting = null;
    this.drop();
    if (this.closed) return;
    this.set({ kind: "connecting", attempt });
    const socket = this.ports.open();
    this.socket = socket;
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: "hello", protocol: PROTOCOL, clientId: "page", language: this.ports.language() }));
      this.heard();
    };
    socket.onmessage = (event) => {
      if (this.socket !== socket || typeof event.data !== "string") return;
      this.heard();
      // A frame ends with a line break where the host sends it as it would on its Unix socket.
      for (const line of event.data.split("\n")) if (line !== "") this.read(JSON.parse(line) as HostFrame);
    };
    socket.onclose = () => {
      if (this.socket === socket) this.lost(attempt);
    };
    this.heard();
  }

  private read(frame: HostFrame): void {
    if (frame.type === "hello") {
      if (frame.protocol === PROTOCOL) this.set({ kind: "online" });
      else this.outdated(`protocol ${frame.protocol}`);
      return;
    }
    if (frame.type === "alive") return;
    if (frame.type === "error" && frame.requestId === undefined) {
      if (frame.code === "protocol_mismatch") this.outdated(frame.message);
      return;
    }
    const pending = this.pending.get(frame.requestId!);
    if (pending === undefined) return;
    if (frame.type === "item") {
      pending.onItem?.(frame.item);
      return;
    }
    this.pending.delete(frame.requestId!);
    if (frame.type === "error") pending.reject(new HostError(frame));
    else pending.resolve({ data: frame.data, notes: frame.notes });
  }

  /** Gives up: only a page that is loaded anew can go on. */
  outdated(message: string): void {
    this.closed = true;
    this.drop();
    this.set({ kind: "outdated", message });
  }

  private heard(): void {
    this.stopSilence?.();
    this.stopSilence = this.ports.later(SILENCE_MS_MAX, () => {
      const socket = this.socket;
      this.drop();
      if (socket !== null) this.lost(0);
    });
  }

  /** Forgets the socket. Nothing that still comes from it is heard, and what waited for it fails. */
  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    this.stopSilence?.();
    this.stopSilence = null;
    if (socket !== null) {
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
    const pending = [...this.pending.values()];
    this.pending.clear();
    for (const { reject } of pending) reject(new ConnectionLost());
  }

  private lost(attempt: number): void {
    const wasOnline = this.state.kind === "online";
    this.drop();
    if (this.closed) return;
    const next = wasOnline ? 1 : attempt + 1;
    this.wait(next);
    if (wasOnline) return;
    void this.ports.isLoggedIn().then((answer) => {
      if (answer !== "no" || this.state.kind !== "waiting") return;
      this.stopWaiting?.();
      this.set({ kind: "loggedOut" });
    });
  }

  private wait(attempt: number): void {
    const ms = RETRY_MS[Math.min(attempt, RETRY_MS.length) - 1] ?? RETRY_MS[0];
    // Pages that lost the same host must not all come back in the same moment.
    const jittered = Math.round(ms * (0.8 + 0.4 * Math.random()));
    this.set({ kind: "waiting", attempt, retryAt: this.ports.now() + jittered });
    this.stopWaiting = this.ports.later(jittered, () => this.connect(attempt));
  }
}
