// The conversation that is shown: its state, and what can be done with it.
import { createContext, useContext, useMemo, useSyncExternalStore } from "react";
import { newId } from "../../wire/ids";
import { expectedModel } from "../../house/models";
import { isTreeEvent } from "../../log/fold_events";
import type { Log, Session } from "../../log/state";
import { mediaOf, plainText } from "../../log/text";
import { tipOf } from "../../log/tree";
import { useApp, useStore, useWords } from "../../parts/app_context";
import { go } from "../../parts/route";
import type { SendMessage, SessionRow } from "../../wire/calls";
import { HostError } from "../../wire/errors";
import type { EventId, QueueName, UserMessage } from "../../wire/types";
import { readBlobBase64 } from "../../wire/blobs";
import type { Feed } from "../../wire/session_feed";

export interface SentFile { name: string; data: string }

export interface Conversation {
  sessionId: string;
  feed: Feed;
  row: SessionRow | undefined;
  agentName: string;
  agentEmoji: string | null;
  actions: Actions;
}

export interface Actions {
  send: (text: string, files: readonly SentFile[], behavior: QueueName) => boolean;
  stop: () => void;
  retry: () => void;
  branch: (to: EventId | null) => Promise<boolean>;
  switchBranch: (child: EventId) => void;
  clone: (at: EventId) => void;
  /** Says the message again, or something else in its place, on a new branch. */
  sayAgain: (event: UserMessage, text: string, files: readonly SentFile[]) => Promise<boolean>;
  takeNext: () => void;
}

export const ConversationContext = createContext<Conversation | null>(null);

export function useConversation(): Conversation {
  const conversation = useContext(ConversationContext);
  if (conversation === null) throw new Error("no conversation is shown");
  return conversation;
}

export const useSession = (): Session => useStore(useConversation().feed);

/** Why the host does not show this session, if it does not. */
export function useRefusal(): string | null {
  const { feed } = useConversation();
  return useSyncExternalStore(feed.subscribe, feed.refused);
}

/** A part of the session. Whoever reads only a part is not drawn again with every word of an answer. */
export function useSessionPart<T>(select: (session: Session) => T): T {
  const { feed } = useConversation();
  return useSyncExternalStore(feed.subscribe, () => select(feed.current()));
}

export const useIsTurnOpen = (): boolean => useSessionPart((session) => session.log.isTurnOpen);
export const useLog = (): Log => useSessionPart((session) => session.log);

export function useActions(feed: Feed, row: SessionRow | undefined): Actions {
  const { connection, house, outbox, announcer } = useApp();
  const { t } = useWords();
  const { sessionId } = feed;
  return useMemo(() => {
    const fail = (error: unknown): false => {
      const isConflict = error instanceof HostError && error.code === "conflict";
      announcer.tell(isConflict ? t("movedOn") : t("failedCall", { reason: error instanceof Error ? error.message : String(error) }), "error");
      return false;
    };
    const quietly = (promise: Promise<unknown>): void => {
      promise.catch(fail);
    };
    const message = (text: string, files: readonly SentFile[], more: Partial<SendMessage>): SendMessage | null => {
      const model = house.usedModel();
      if (model === null || row?.threadId == null) return null;
      return {
        clientMessageId: newId(),
        text,
        threadId: row.threadId,
        target: { session: sessionId },
        cwd: row.cwd ?? house.current().folder ?? ".",
        expects: expectedModel(model),
        ...(files.length === 0 ? {} : { attachments: [...files] }),
        ...more,
      };
    };
    const send = (text: string, files: readonly SentFile[], more: Partial<SendMessage>): boolean => {
      const made = message(text, files, more);
      if (made === null) {
        announcer.tell(t("notLoaded"), "error");
        return false;
      }
      outbox.add(made, sessionId, Date.now());
      return true;
    };
    const leafOf = (): string => feed.current().log.leaf ?? "start";
    const branch = async (to: EventId | null): Promise<boolean> => {
      try {
        await connection.call("branch_session", { session: sessionId, to: to ?? "start", expectedLeaf: leafOf(), branchId: newId() });
        return true;
      } catch (error) {
        return fail(error);
      }
    };
    return {
      branch,
      send: (text, files, runningBehavior) => send(text, files, { runningBehavior }),
      stop: () => quietly(connection.call("cancel_turn", { session: sessionId, cancelId: newId() })),
      retry: () => quietly(connection.follow("retry_turn", { session: sessionId, retryId: newId() }, () => {}).done),
      takeNext: () => quietly(connection.call("take_next", { session: sessionId, takeId: newId() })),
      switchBranch: (child) => void branch(tipOf(feed.current().log, child)),
      clone: (at) => {
        connection.call("clone_session", { session: sessionId, at, cloneId: newId() }).then((place) => {
          announcer.tell(t("cloned"));
          go({ view: "conversation", sessionId: place.sessionId, eventId: null });
        }, fail);
      },
      sayAgain: async (event, text, files) => {
        const { log } = feed.current();
        const known = log.byId.get(event.id);
        const parent = known !== undefined && isTreeEvent(known) ? (known.parentId ?? null) : null;
        try {
          const kept = await Promise.all(
            mediaOf(event.message.content).map(async (media) => ({ name: media.name ?? media.blob.slice(0, 8), data: await readBlobBase64(connection, media.blob) })),
          );
          if (!(await branch(parent))) return false;
          return send(text === "" ? plainText(event.message.content) : text, [...kept, ...files], { expectedLeaf: parent ?? "start" });
        } catch (error) {
          return fail(error);
        }
      },
    };
  }, [announcer, connection, feed, house, outbox, row, sessionId, t]);
}
