// The first line of a session, which says how it began. It comes as the first item of an export; the rest is not taken.
import type { SessionHeader } from "./calls";
import type { Connection } from "./connection";

export function readHeader(connection: Pick<Connection, "follow">, session: string): Promise<SessionHeader> {
  return new Promise((resolve, reject) => {
    const following = connection.follow("export_session", { session }, (item) => {
      if (!("header" in item)) return;
      resolve(item.header.header);
      following.cancel();
    });
    following.done.catch(reject);
  });
}
