// Long texts and files, which the log keeps apart and the page reads in pages.
import type { Connection } from "./connection";

type Reads = Pick<Connection, "call">;

async function readBlob(connection: Reads, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const page: { data: string; nextOffset?: number } = await connection.call("read_blob", { sha256, offset });
    parts.push(Uint8Array.from(atob(page.data), (char) => char.charCodeAt(0)));
    offset = page.nextOffset;
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export async function readBlobText(connection: Reads, sha256: string): Promise<string> {
  return new TextDecoder().decode(await readBlob(connection, sha256));
}

export async function readBlobBase64(connection: Reads, sha256: string): Promise<string> {
  return toBase64(await readBlob(connection, sha256));
}

export async function readBlobUrl(connection: Reads, sha256: string, mediaType: string): Promise<string> {
  return URL.createObjectURL(new Blob([await readBlob(connection, sha256)], { type: mediaType }));
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  // `apply` takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
