// Messages that were written here and are not in a log yet.
//
// A message keeps its id until its event has been seen. The host answers a repeated id with the first answer, so after
// a loss everything that is still here is simply sent again.
import type { Connection } from "./connection";
import type { MessageReply, SendMessage } from "./calls";
import { ConnectionLost, messageOf } from "./errors";
import type { LogEvent, SessionId } from "./types";

export interface OutboxMessage {
  message: SendMessage;
  /** The conversation it was written in. */
  sessionId: SessionId;
  writtenAt: number;
  /** The host refused it, and why. It stays until the person sends it again or drops it. */
  refused: string | null;
}

export interface OutboxStore {
  read: () => OutboxMessage[];
  write: (messages: readonly OutboxMessage[]) => void;
}

export class Outbox {
  private messages: readonly OutboxMessage[];
  private readonly underWay = new Set<string>();
  private readonly listeners = new Set<() => void>();
  onNotes: (notes: string[]) => void = () => {};
  onReply: (message: OutboxMessage, reply: MessageReply) => void = () => {};

  constructor(
    private readonly connection: Pick<Connection, "follow" | "current" | "subscribe">,
    private readonly store: OutboxStore,
  ) {
    this.messages = store.read();
    connection.subscribe(() => this.sendAll());
  }

  readonly current = (): readonly OutboxMessage[] => this.messages;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  add(message: SendMessage, sessionId: SessionId, now: number): void {
    this.set([...this.messages, { message, sessionId, writtenAt: now, refused: null }]);
    this.sendAll();
  }

  retry(clientMessageId: string): void {
    this.change(clientMessageId, (it) => ({ ...it, refused: null }));
    this.sendAll();
  }

  drop(clientMessageId: string): void {
    this.set(this.messages.filter((it) => it.message.clientMessageId !== clientMessageId));
  }

  /** Drops every message that these events show to be in the log. */
  seen(events: readonly LogEvent[]): void {
    if (this.messages.length === 0) return;
    const ids = new Set(events.flatMap(messageIdsOf));
    const left = this.messages.filter((it) => !ids.has(it.message.clientMessageId));
    if (left.length !== this.messages.length) this.set(left);
  }

  private sendAll(): void {
    if (this.connection.current().kind !== "online") return;
    for (const entry of this.messages) if (entry.refused === null) this.send(entry);
  }

  private send(entry: OutboxMessage): void {
    const id = entry.message.clientMessageId;
    if (this.underWay.has(id)) return;
    this.underWay.add(id);
    this.connection.follow("send_message", entry.message, () => {}).done.then(
      ({ data, notes }) => {
        this.underWay.delete(id);
        this.drop(id);
        if (notes.length > 0) this.onNotes(notes);
        this.onReply(entry, data);
      },
      (error: unknown) => {
        this.underWay.delete(id);
        if (error instanceof ConnectionLost) return;
        this.change(id, (it) => ({ ...it, refused: messageOf(error) }));
      },
    );
  }

  private change(id: string, change: (entry: OutboxMessage) => OutboxMessage): void {
    this.set(this.messages.map((it) => (it.message.clientMessageId === id ? change(it) : it)));
  }

  private set(messages: readonly OutboxMessage[]): void {
    this.messages = messages;
    this.store.write(messages);
    for (const listener of this.listeners) listener();
  }
}

function messageIdsOf(event: LogEvent): string[] {
  if (event.type === "queue_update") {
    return event.items.flatMap((item) => [item.id, item.ingress?.messageId ?? "", lastPart(item.ingressKey)]);
  }
  const ingress = event.type === "user_message" ? event.ingress?.messageId : undefined;
  return [ingress ?? "", lastPart(event.ingressKey)];
}

/** An inbox key is `platform:account:id`. */
function lastPart(key: string | undefined): string {
  return key === undefined ? "" : key.slice(key.lastIndexOf(":") + 1);
}

const STORE_KEY = "kith.outbox";

/** Keeps the messages in the browser. Attachments may be too large for it; they are then only in memory. */
export function browserStore(): OutboxStore {
  return {
    read: () => {
      try {
        return JSON.parse(localStorage.getItem(STORE_KEY) ?? "[]") as OutboxMessage[];
      } catch {
        return [];
      }
    },
    write: (messages) => {
      try {
        localStorage.setItem(STORE_KEY, JSON.stringify(messages));
      } catch {
        // Over the browser's limit: the message is still sent from memory.
      }
    },
  };
}
