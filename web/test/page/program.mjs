// A program that follows a session by server-sent events, and comes back with its resume point when it was killed.

export class Program {
  constructor(house, session) {
    this.house = house;
    this.session = session;
    this.events = [];
    /** How its subscriptions went on. */
    this.modes = {};
    this.from = { persistentLastSeq: 0 };
    this.nItems = 0;
    this.wakers = new Set();
    this.start();
  }

  start() {
    this.abort = new AbortController();
    this.running = this.follow(this.abort.signal).catch((error) => { if (!this.isKilled(error)) this.failure = error; });
  }

  isKilled(error) {
    return error.name === "AbortError" || error.message === "terminated";
  }

  /** Closes the connection in the middle of whatever it is, and comes back. */
  kill() {
    this.abort.abort();
    this.start();
  }

  /** Closes it for good. */
  end() {
    this.abort.abort();
  }

  async follow(signal) {
    const response = await fetch(`${this.house.host.origin}/api/subscribe`, {
      method: "POST",
      signal,
      headers: { authorization: `Bearer ${this.house.token}`, "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ to: { session: this.session }, from: this.from }),
    });
    if (!response.ok) throw new Error(`subscribe: ${response.status}`);
    let begun = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      if (signal.aborted) return;
      const lines = (begun + piece).split("\n");
      begun = lines.pop();
      for (const line of lines) if (line.startsWith("data:")) this.take(JSON.parse(line.slice(5)));
    }
  }

  take(frame) {
    if (frame.type === "error") throw new Error(JSON.stringify(frame));
    const { item } = frame;
    if (item === undefined) return;
    if (item.started !== undefined) this.begin(item.started);
    else if (item.turn?.event !== undefined) {
      const { seq, id } = item.turn.event;
      this.events.push({ seq, id });
      this.from.persistentLastSeq = seq;
    } else if (item.turn?.delta !== undefined) this.from.streamLastSeq = item.turn.delta.streamSeq;
    else if (item.turn?.running?.length > 0) this.from.streamLastSeq = item.turn.running.at(-1).streamSeq;
    this.nItems += 1;
    for (const wake of this.wakers) wake();
  }

  begin({ mode, sessionId, afterSeq, epoch }) {
    this.modes[mode] = (this.modes[mode] ?? 0) + 1;
    // Loaded anew: what was seen is forgotten.
    this.events = this.events.filter((event) => event.seq <= afterSeq);
    const streamLastSeq = mode === "stream_resume" ? this.from.streamLastSeq : undefined;
    this.from = { sessionId, persistentLastSeq: afterSeq, epoch, ...(streamLastSeq === undefined ? {} : { streamLastSeq }) };
  }

  /** Waits for so many more items. */
  moved(n) {
    const until = this.nItems + n;
    return this.holds(() => this.nItems >= until);
  }

  reached(seq) {
    return this.holds(() => this.from.persistentLastSeq >= seq);
  }

  holds(condition) {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.failure !== undefined) reject(this.failure);
        else if (condition()) resolve();
        else return;
        this.wakers.delete(look);
      };
      this.wakers.add(look);
      look();
    });
  }
}
