// Everything that can be done on the page, by name and by key. Views register their commands while they are shown.
import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import type { IconName } from "./icon";

export interface Command {
  id: string;
  label: string;
  icon: IconName;
  /** As `keyOf` writes it; two letters with a space are pressed one after the other. */
  keys?: readonly string[];
  isDisabled?: boolean;
  /** Keys only: it makes no sense in a list. */
  isHidden?: boolean;
  /** Returns false if the key should do what it usually does. */
  run: () => void | boolean;
}

const SEQUENCE_MS_MAX = 1_000;

export class CommandRegistry {
  private readonly groups = new Map<symbol, readonly Command[]>();
  private all: readonly Command[] = [];
  private readonly listeners = new Set<() => void>();
  private prefix = "";
  private prefixAt = 0;
  /** Whether single letters count. */
  takesLetters = true;

  readonly current = (): readonly Command[] => this.all;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  set(group: symbol, commands: readonly Command[] | null): void {
    if (commands === null) this.groups.delete(group);
    else this.groups.set(group, commands);
    // What was registered last is nearest to the person and comes first.
    this.all = [...this.groups.values()].reverse().flat();
    for (const listener of this.listeners) listener();
  }

  /** Runs the command of a key. True if there was one. */
  press(event: KeyboardEvent): boolean {
    if (event.isComposing || event.defaultPrevented) return false;
    const key = keyOf(event);
    const isPlain = !key.includes("+") || /^shift\+.$/.test(key);
    if (isPlain && key !== "escape" && isTextField(event.target)) return false;
    // A dialog has its own keys.
    if (document.querySelector("dialog[open]") !== null) return false;
    if (isPlain && /^(shift\+)?[a-z?/[\]]$/.test(key) && !this.takesLetters) return false;
    const sequence = Date.now() - this.prefixAt < SEQUENCE_MS_MAX && this.prefix !== "" ? `${this.prefix} ${key}` : key;
    this.prefix = "";
    for (const wanted of sequence === key ? [key] : [sequence, key]) {
      const command = this.all.find((it) => it.keys?.includes(wanted) && !it.isDisabled);
      if (command !== undefined && command.run() !== false) return true;
    }
    if (this.all.some((it) => it.keys?.some((keys) => keys.startsWith(`${key} `)))) {
      this.prefix = key;
      this.prefixAt = Date.now();
    }
    return false;
  }
}

export function keyOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const isSign = event.key.length === 1 && !/[a-z]/i.test(event.key);
  const parts = [
    event.ctrlKey || event.metaKey ? "mod" : "",
    event.altKey ? "alt" : "",
    // `?` and `[` are typed with other modifiers on other keyboards; only the sign counts.
    event.shiftKey && !isSign ? "shift" : "",
    event.key.toLowerCase(),
  ];
  return parts.filter((part) => part !== "").join("+");
}

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type));
}

const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
const SIGNS: Record<string, string> = {
  mod: isMac ? "⌘" : "Ctrl", alt: isMac ? "⌥" : "Alt", shift: isMac ? "⇧" : "Shift", arrowup: "↑", arrowdown: "↓", arrowleft: "←", arrowright: "→",
  enter: "↵", escape: "Esc", delete: "Del", end: "End",
};

/** A key as people read it: `Ctrl K`, `G A`. */
export function keyLabel(keys: string): string {
  const one = (part: string): string => part.split("+").map((it) => SIGNS[it] ?? it.toUpperCase()).join(isMac ? "" : " ");
  return keys.split(" ").map(one).join(" ");
}

export const CommandContext = createContext<CommandRegistry>(new CommandRegistry());

/** Registers commands for as long as the component is shown. */
export function useCommands(commands: readonly Command[]): void {
  const registry = useContext(CommandContext);
  const group = useRef(Symbol("commands"));
  useEffect(() => {
    registry.set(group.current, commands);
  }, [registry, commands]);
  useEffect(() => {
    const own = group.current;
    return () => registry.set(own, null);
  }, [registry]);
}

export function useAllCommands(): readonly Command[] {
  const registry = useContext(CommandContext);
  return useSyncExternalStore(registry.subscribe, registry.current);
}
