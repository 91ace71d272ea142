// Small questions about texts and blocks.
import type { Block, MediaBlock, Text } from "../wire/types";

/** The text, or as much of a long one as stands in the log. */
export function shown(text: Text): string {
  return typeof text === "string" ? text : text.preview;
}

export function plainText(blocks: readonly Block[]): string {
  return blocks.map((block) => (block.type === "text" ? shown(block.text) : "")).join("");
}

export function mediaOf(blocks: readonly Block[]): MediaBlock[] {
  return blocks.filter((block): block is MediaBlock => block.type === "image" || block.type === "audio" || block.type === "file");
}

/** A title is often the beginning of a message; its code is shown without the marks. */
export const plainTitle = (title: string): string => title.replace(/`([^`]+)`/g, "$1");

export function firstLine(text: string, charsMax = 160): string {
  const line = text.trimStart().split("\n", 1)[0] ?? "";
  return line.length > charsMax ? `${line.slice(0, charsMax)}…` : line;
}

export function countLines(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}

/** The language tag of a text, for voice, quotation marks and line height: Chinese if most of its letters are. */
export function languageOf(text: string): "zh-CN" | "en" {
  const sample = text.slice(0, 600);
  const han = sample.match(/\p{Script=Han}/gu)?.length ?? 0;
  const latin = sample.match(/\p{Script=Latin}/gu)?.length ?? 0;
  // A Chinese word has two characters where a Latin one has five or six letters.
  return han * 2.5 > latin && han > 0 ? "zh-CN" : "en";
}
