// Tells the person what has happened: in a line that goes away by itself, and to screen readers.
import { useEffect } from "react";
import { messageOf } from "../wire/errors";
import { useApp, useStore, useWords } from "./app_context";

const SHOWN_MS = 6_000;

export interface Announcement { id: number; text: string; kind: "info" | "error"; isShown: boolean }

export class Announcer {
  private last: Announcement = { id: 0, text: "", kind: "info", isShown: false };
  private readonly listeners = new Set<() => void>();

  readonly current = (): Announcement => this.last;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Shows a line and reads it out. */
  tell(text: string, kind: Announcement["kind"] = "info"): void {
    this.set({ id: this.last.id + 1, text, kind, isShown: true });
  }

  /** Reads it out only: the page shows it elsewhere. */
  readOut(text: string): void {
    this.set({ id: this.last.id + 1, text, kind: "info", isShown: false });
  }

  fail(error: unknown): void {
    this.tell(messageOf(error), "error");
  }

  hide(): void {
    this.set({ ...this.last, isShown: false });
  }

  private set(announcement: Announcement): void {
    this.last = announcement;
    for (const listener of this.listeners) listener();
  }
}

export function AnnouncementLine() {
  const { announcer } = useApp();
  const { t } = useWords();
  const { id, text, kind, isShown } = useStore(announcer);
  useEffect(() => {
    if (!isShown || kind === "error") return undefined;
    const timer = setTimeout(() => announcer.hide(), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [announcer, id, isShown, kind]);
  return (
    <>
      {/* The same sentence twice is read twice only if the text differs. */}
      <div className="vh" role="status" aria-live="polite">{text}{id % 2 === 0 ? "" : "\u00a0"}</div>
      {isShown ? (
        <div className={`toast ${kind}`}>
          <span aria-hidden="true">{text}</span>
          <button className="btn plain compact" onClick={() => announcer.hide()}>{t("close")}</button>
        </div>
      ) : null}
    </>
  );
}
