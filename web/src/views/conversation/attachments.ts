// Files that a person adds to a message. What the host would refuse is refused here, with the same reason.
import { toBase64 } from "../../wire/blobs";
import type { SentFile } from "./session_context";

export const ATTACHMENT_BYTES_MAX = 20 * 1024 * 1024;
const TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]);

export interface PickedFile { id: number; name: string; type: string; bytes: number; data: string; url: string | null }

let lastId = 0;

export const isTaken = (file: File): boolean => TYPES.has(file.type);

export async function pick(file: File): Promise<PickedFile> {
  const content = new Uint8Array(await file.arrayBuffer());
  const url = file.type.startsWith("image/") ? URL.createObjectURL(file) : null;
  lastId += 1;
  return { id: lastId, name: nameOf(file), type: file.type, bytes: content.length, data: toBase64(content), url };
}

/** A pasted image has no name of its own, and a name must have no folders. */
function nameOf(file: File): string {
  const name = file.name.split(/[/\\]/).at(-1) ?? "";
  return name === "" ? `image.${file.type.split("/")[1] ?? "png"}` : name;
}

export const toSent = (files: readonly PickedFile[]): SentFile[] => files.map(({ name, data }) => ({ name, data }));

export const totalBytes = (files: readonly PickedFile[]): number => files.reduce((sum, file) => sum + file.bytes, 0);
