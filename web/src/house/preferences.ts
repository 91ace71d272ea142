// What a person has chosen for this browser: language, theme, letter keys. Nothing of it leaves the browser.
import type { Language } from "../words/words";

export interface Preferences {
  language: "auto" | Language;
  theme: "auto" | "light" | "dark";
  letterKeys: boolean;
  showsTurns: boolean;
}

const KEY = "kith.preferences";
const DEFAULTS: Preferences = { language: "auto", theme: "auto", letterKeys: true, showsTurns: true };

export class PreferenceStore {
  private preferences: Preferences = read();
  private readonly listeners = new Set<() => void>();

  readonly current = (): Preferences => this.preferences;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  change(change: Partial<Preferences>): void {
    this.preferences = { ...this.preferences, ...change };
    try {
      localStorage.setItem(KEY, JSON.stringify(this.preferences));
    } catch {
      // It holds until the page is closed.
    }
    for (const listener of this.listeners) listener();
  }
}

export function languageOf(preferences: Preferences): Language {
  if (preferences.language !== "auto") return preferences.language;
  return navigator.languages.some((it) => it.startsWith("zh")) && navigator.language.startsWith("zh") ? "zh" : "en";
}

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Preferences>) };
  } catch {
    return DEFAULTS;
  }
}
