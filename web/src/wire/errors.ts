// What a call can fail with, and which failures are worth asking again.
import type { CallErrorBody } from "./types";

/** The host refused the call and says why. Asking again gets the same answer. */
export class HostError extends Error {
  readonly code: string;
  readonly hints: readonly string[];
  readonly causes: readonly string[];

  constructor(body: CallErrorBody) {
    super(body.message);
    this.name = "HostError";
    this.code = body.code;
    this.hints = body.hints ?? [];
    this.causes = body.causes ?? [];
  }
}

/** The connection went away before the answer came: nobody knows whether the host has done it. */
export class ConnectionLost extends Error {
  constructor() {
    super("the connection to the host was lost");
    this.name = "ConnectionLost";
  }
}

/** The error in one line, with its nearest cause. */
export function messageOf(error: unknown): string {
  if (error instanceof HostError) return [error.message, ...error.causes.slice(0, 1)].join(": ");
  return error instanceof Error ? error.message : String(error);
}
