import { expect, test } from "vitest";
import type { SendMessage } from "../../src/wire/calls";
import type { Connection, ConnectionState } from "../../src/wire/connection";
import { ConnectionLost, HostError } from "../../src/wire/errors";
import { Outbox, type OutboxMessage } from "../../src/wire/outbox";
import type { LogEvent } from "../../src/wire/types";

type Settle = { resolve: (value: unknown) => void; reject: (error: Error) => void };

function setUp(kept: OutboxMessage[] = []) {
  let state: ConnectionState = { kind: "online" };
  let listener = (): void => {};
  const sent: { message: SendMessage; settle: Settle }[] = [];
  const written: OutboxMessage[][] = [];
  const connection = {
    current: () => state,
    subscribe: (it: () => void) => {
      listener = it;
      return () => {};
    },
    follow: (_: string, message: SendMessage) => {
      let settle!: Settle;
      const done = new Promise((resolve, reject) => {
        settle = { resolve, reject };
      });
      sent.push({ message, settle });
      return { done, cancel: () => {} };
    },
  } as unknown as Pick<Connection, "follow" | "current" | "subscribe">;
  const outbox = new Outbox(connection, { read: () => kept, write: (messages) => written.push([...messages]) });
  const set = (next: ConnectionState): void => {
    state = next;
    listener();
  };
  return { outbox, sent, written, set };
}

const message = (id: string): SendMessage => ({ clientMessageId: id, text: "hi", threadId: "web:room:1", target: "current", cwd: ".", expects: { provider: "demo", model: "demo" } });
const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
};

test("a message whose fate is unknown is sent again with the same id", async () => {
  const { outbox, sent, set } = setUp();
  outbox.add(message("m1"), "s", 0);
  set({ kind: "waiting", attempt: 1, retryAt: 0 });
  sent[0]!.settle.reject(new ConnectionLost());
  await settled();
  expect(outbox.current()).toHaveLength(1);
  set({ kind: "online" });
  expect(sent.map((it) => it.message.clientMessageId)).toEqual(["m1", "m1"]);
});

test("what is under way is not sent twice", () => {
  const { outbox, sent, set } = setUp();
  outbox.add(message("m1"), "s", 0);
  set({ kind: "online" });
  expect(sent).toHaveLength(1);
});

test("a message leaves when its event is seen", () => {
  const { outbox, written } = setUp();
  outbox.add(message("m1"), "s", 0);
  outbox.seen([{ type: "user_message", ingressKey: "cli:local:m1" } as LogEvent]);
  expect(outbox.current()).toEqual([]);
  expect(written.at(-1)).toEqual([]);
});

test("a refused message stays, with the reason, until the person decides", async () => {
  const { outbox, sent } = setUp();
  outbox.add(message("m1"), "s", 0);
  sent[0]!.settle.reject(new HostError({ code: "conflict", message: "another model" }));
  await settled();
  expect(outbox.current()[0]!.refused).toBe("another model");
  outbox.retry("m1");
  expect(sent).toHaveLength(2);
  outbox.drop("m1");
  expect(outbox.current()).toEqual([]);
});

test("messages of an earlier page are sent when the host is back", () => {
  const { sent, set } = setUp([{ message: message("old"), sessionId: "s", writtenAt: 0, refused: null }]);
  set({ kind: "online" });
  expect(sent.map((it) => it.message.clientMessageId)).toEqual(["old"]);
});
