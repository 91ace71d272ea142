import { expect, test } from "vitest";
import { Connection, type ConnectionPorts, PROTOCOL, type Socket } from "../../src/wire/connection";
import { ConnectionLost, HostError } from "../../src/wire/errors";

class TestSocket implements Socket {
  sent: { type: string; requestId?: string }[] = [];
  isClosed = false;
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text) as { type: string });
  }
  close(): void {
    this.isClosed = true;
  }
  hear(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

/** Time that passes only when a test says so. */
function setUp(isLoggedIn: "yes" | "no" | "unknown" = "yes") {
  const sockets: TestSocket[] = [];
  const timers: { at: number; then: () => void; isOver: boolean }[] = [];
  let now = 0;
  const ports: ConnectionPorts = {
    open: () => {
      sockets.push(new TestSocket());
      return sockets.at(-1)!;
    },
    isLoggedIn: async () => isLoggedIn,
    now: () => now,
    later: (ms, then) => {
      const timer = { at: now + ms, then, isOver: false };
      timers.push(timer);
      return () => {
        timer.isOver = true;
      };
    },
    language: () => "en",
  };
  const pass = (ms: number): void => {
    now += ms;
    for (const timer of timers.filter((it) => !it.isOver && it.at <= now)) {
      timer.isOver = true;
      timer.then();
    }
  };
  const connection = new Connection(ports);
  connection.start();
  const greet = (): void => {
    sockets.at(-1)!.onopen?.();
    sockets.at(-1)!.hear({ type: "hello", protocol: PROTOCOL });
  };
  return { connection, sockets, pass, greet };
}

test("it greets first and is online when the host has greeted back", () => {
  const { connection, sockets, greet } = setUp();
  greet();
  expect(sockets[0]!.sent[0]).toEqual({ type: "hello", protocol: PROTOCOL, clientId: "page", language: "en" });
  expect(connection.current()).toEqual({ kind: "online" });
});

test("answers and errors find their requests, items their followers", async () => {
  const { connection, sockets, greet } = setUp();
  greet();
  const items: unknown[] = [];
  const threads = connection.call("list_threads", {});
  const house = connection.follow("follow_house", {}, (item) => items.push(item));
  const failing = connection.call("list_grants", {});
  sockets[0]!.hear({ type: "item", requestId: "2", item: { someMissed: true, threads: [] } });
  sockets[0]!.hear({ type: "error", requestId: "3", ok: false, code: "conflict", message: "no", hints: [] });
  sockets[0]!.hear({ type: "response", requestId: "1", ok: true, data: { threads: [] }, notes: [] });
  expect(await threads).toEqual({ threads: [] });
  await expect(failing).rejects.toBeInstanceOf(HostError);
  expect(items).toHaveLength(1);
  house.cancel();
  expect(sockets[0]!.sent.at(-1)).toEqual({ type: "cancel", requestId: "2" });
});

test("a loss fails what was under way and comes back after a wait", async () => {
  const { connection, sockets, pass, greet } = setUp();
  greet();
  const open = connection.call("list_threads", {});
  sockets[0]!.onclose?.();
  await expect(open).rejects.toBeInstanceOf(ConnectionLost);
  expect(connection.current()).toMatchObject({ kind: "waiting", attempt: 1 });
  pass(400);
  expect(sockets).toHaveLength(2);
  greet();
  expect(connection.current().kind).toBe("online");
});

test("waits grow, and nothing is asked while there is no connection", async () => {
  const { connection, sockets, pass } = setUp();
  for (const wait of [300, 600, 1_200, 2_400, 4_800, 9_600, 9_600]) {
    sockets.at(-1)!.onclose?.();
    const before = sockets.length;
    pass(wait * 0.6);
    expect(sockets.length).toBe(before);
    pass(wait * 0.4);
    expect(sockets.length).toBe(before + 1);
  }
  await expect(connection.call("list_threads", {})).rejects.toBeInstanceOf(ConnectionLost);
});

test("a connection that falls silent, as after a sleep, is given up", () => {
  const { connection, sockets, pass, greet } = setUp();
  greet();
  pass(15_000);
  sockets[0]!.hear({ type: "alive" });
  pass(15_000);
  expect(connection.current().kind).toBe("online");
  pass(6_000);
  expect(sockets[0]!.isClosed).toBe(true);
  expect(connection.current().kind).toBe("waiting");
});

test("without a valid cookie the page says so and stops trying", async () => {
  const { connection, sockets, pass } = setUp("no");
  sockets[0]!.onclose?.();
  await Promise.resolve();
  expect(connection.current().kind).toBe("loggedOut");
  pass(60_000);
  expect(sockets).toHaveLength(1);
});

test("a host of another protocol makes the page reload, not guess", () => {
  const { connection, sockets } = setUp();
  sockets[0]!.onopen?.();
  sockets[0]!.hear({ type: "error", ok: false, code: "protocol_mismatch", message: "this kith speaks 4", hints: [] });
  expect(connection.current().kind).toBe("outdated");
});

test("nothing of an old socket is heard any more", () => {
  const { connection, sockets, greet } = setUp();
  greet();
  const old = sockets[0]!;
  const hear = old.onmessage!;
  old.onclose?.();
  hear({ data: JSON.stringify({ type: "hello", protocol: PROTOCOL }) });
  expect(connection.current().kind).toBe("waiting");
});
