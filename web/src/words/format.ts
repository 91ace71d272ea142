// Times, sizes and amounts as the page writes them. Units stay `ms`, `s`, `k` in both languages.
import type { Language } from "./words";

const LOCALES: Record<Language, string> = { en: "en-GB", zh: "zh-CN" };

export function clockTime(ts: number): string {
  const date = new Date(ts);
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}

export function clockTimeWithSeconds(ts: number): string {
  return `${clockTime(ts)}:${String(new Date(ts).getSeconds()).padStart(2, "0")}`;
}

const startOfDay = (ts: number): number => new Date(ts).setHours(0, 0, 0, 0);
const DAY_MS = 86_400_000;

/** The time of something on this day, else its weekday or date. */
export function listTime(ts: number, now: number, language: Language): string {
  const days = Math.round((startOfDay(now) - startOfDay(ts)) / DAY_MS);
  if (days <= 0) return clockTime(ts);
  if (days < 7) return new Intl.DateTimeFormat(LOCALES[language], { weekday: "short" }).format(ts);
  return shortDate(ts, now, language);
}

export function shortDate(ts: number, now: number, language: Language): string {
  const isThisYear = new Date(ts).getFullYear() === new Date(now).getFullYear();
  const form = { day: "numeric", month: "short", ...(isThisYear ? {} : { year: "numeric" as const }) } as const;
  return new Intl.DateTimeFormat(LOCALES[language], form).format(ts);
}

/** How long ago a day was: today, yesterday, or earlier. */
export function dayGroup(ts: number, now: number): "today" | "yesterday" | "earlier" {
  const days = Math.round((startOfDay(now) - startOfDay(ts)) / DAY_MS);
  if (days <= 0) return "today";
  return days === 1 ? "yesterday" : "earlier";
}

/** Facts beside one another, as each language divides them. */
export const listed = (language: Language, ...facts: string[]): string => facts.filter((it) => it !== "").join(language === "zh" ? "，" : ", ");

/** Sentences behind one another: Chinese ones have no space between them. */
export const sentences = (language: Language, ...all: string[]): string => all.filter((it) => it !== "").join(language === "zh" ? "" : " ");

/** `8 ms`, `0.3 s`, `38 s`, `2 min`. */
export function duration(ms: number): string {
  if (ms < 100) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** `0:38`, `9:41`, `1:02:03`. */
export function stopwatch(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const tail = `${h > 0 ? String(m).padStart(2, "0") : m}:${String(s).padStart(2, "0")}`;
  return h > 0 ? `${h}:${tail}` : tail;
}

/** `950`, `1.7k`, `61.4k`, `200k`, `1.2M`. */
export function short(n: number): string {
  if (n < 1000) return String(n);
  if (n < 999_500) return `${trim((n / 1000).toFixed(n < 99_950 ? 1 : 0))}k`;
  return `${trim((n / 1_000_000).toFixed(1))}M`;
}

const trim = (text: string): string => text.replace(/\.0$/, "");

export const grouped = (n: number): string => n.toLocaleString("en-US");

/** Micro-USD as `$0.13`; small amounts keep two digits that mean something. */
export function money(micros: number): string {
  const usd = micros / 1_000_000;
  if (usd === 0) return "$0.00";
  if (usd < 0.001) return "<$0.001";
  if (usd < 0.1) return `$${usd.toFixed(3)}`;
  return `$${usd.toFixed(2)}`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${trim((n / 1024).toFixed(1))} KB`;
  return `${trim((n / 1024 / 1024).toFixed(1))} MB`;
}

/** A share as `95.5%`; whole above 99.95 and at 0. */
export function percent(share: number): string {
  return `${trim((share * 100).toFixed(1))}%`;
}

/** The last folder of a path. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) || path;
}
