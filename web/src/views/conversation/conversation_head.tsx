// The header of a conversation: what it is, from where, its two views, and what can be done with the whole of it.
import { useContext, useEffect, useState } from "react";
import { placeName, platformOf } from "../../house/threads";
import { useApp, useHouse, useIsOnline, useWords } from "../../parts/app_context";
import { DialogContext } from "../../parts/dialogs";
import { Icon } from "../../parts/icon";
import { Menu, type MenuItem } from "../../parts/menu";
import { go, hrefOf } from "../../parts/route";
import { plainTitle } from "../../log/text";
import { newId } from "../../wire/ids";
import { shortDate } from "../../words/format";
import { platformKey } from "../threads/platforms";
import { useConversation, useRefusal, useSessionPart } from "./session_context";

export function ConversationHead({ onTurns }: { onTurns: () => void }) {
  const { t } = useWords();
  const { sessionId, row } = useConversation();
  const dialogs = useContext(DialogContext);
  const { projects } = useHouse();
  const title = useTitle();
  const place = row?.cwd ? placeName(row.cwd, row.project ?? null, projects) : null;
  const from = row?.threadId == null ? "" : t(platformKey(platformOf(row.threadId)));
  return (
    <header className="head">
      <a className="tool only-phone" href={hrefOf({ view: "list" })} aria-label={t("allConversations")}><Icon name="left" /></a>
      <div className="titles">
        <h1 className="clip">{title}</h1>
        <span className="from clip" title={row?.cwd ?? undefined}>{from}{place === null ? "" : ` · ${place}`}</span>
      </div>
      <ViewSwitch sessionId={sessionId} current="conversation" />
      <a className="tool only-phone" href={hrefOf({ view: "inspector", sessionId, requestId: null })} aria-label={t("inspector")}><Icon name="braces" /></a>
      <button className="tool no-phone" aria-label={t("saveAsScript")} title={t("saveAsScript")} onClick={() => dialogs.open({ kind: "saveScript", sessionId })}><Icon name="save" /></button>
      <button className="tool" aria-label={t("showPanel")} title={`${t("showPanel")} (T)`} onClick={onTurns}><Icon name="panel" /></button>
      <MoreMenu />
    </header>
  );
}

/** The title that the log or the list knows, else what the view is. */
export function useTitle(): string {
  const { t } = useWords();
  const { row } = useConversation();
  const [title, nEvents, isLoaded] = [useSessionPart((it) => it.log.title), useSessionPart((it) => it.log.turns.length), useSessionPart((it) => it.isLoaded)];
  const refusal = useRefusal();
  const named = title ?? row?.title ?? null;
  return named !== null ? plainTitle(named) : (refusal !== null ? t("untitled") : !isLoaded ? t("loading") : nEvents === 0 ? t("newConversation") : t("untitled"));
}

export function ViewSwitch({ sessionId, current }: { sessionId: string; current: "conversation" | "inspector" }) {
  const { t } = useWords();
  return (
    <div className="seg no-phone" role="group" aria-label={t("view")}>
      <a href={hrefOf({ view: "conversation", sessionId, eventId: null })} aria-current={current === "conversation" ? "page" : undefined}>{t("conversation")}</a>
      <a href={hrefOf({ view: "inspector", sessionId, requestId: null })} aria-current={current === "inspector" ? "page" : undefined}>{t("inspector")}</a>
    </div>
  );
}

function MoreMenu() {
  const { t } = useWords();
  const { connection, announcer } = useApp();
  const { sessionId } = useConversation();
  const dialogs = useContext(DialogContext);
  const isOnline = useIsOnline();
  const title = useTitle();
  const earlier = useEarlierSessions();
  const compact = (): void => {
    announcer.tell(t("compactStarted"));
    connection.follow("compact_session", { session: sessionId, compactId: newId() }, () => {}).done.catch((error: unknown) => announcer.fail(error));
  };
  const items: MenuItem[] = [
    { label: t("renameConversation"), icon: "pencil", isDisabled: !isOnline, onChoose: () => dialogs.open({ kind: "rename", sessionId, title }) },
    { label: t("saveAsScript"), icon: "save", isDisabled: !isOnline, onChoose: () => dialogs.open({ kind: "saveScript", sessionId }) },
    { label: t("compactConversation"), icon: "thought", isDisabled: !isOnline, onChoose: compact },
    ...earlier,
    { label: t("removeConversation"), icon: "trash", isDisabled: !isOnline, onChoose: () => dialogs.open({ kind: "remove", sessionId }) },
  ];
  return <Menu label={t("more")} className="tool" items={items}><Icon name="more" /></Menu>;
}

/** Other sessions of the same thread, the newest first. */
function useEarlierSessions(): MenuItem[] {
  const { t, language } = useWords();
  const { connection, house } = useApp();
  const { row, sessionId } = useConversation();
  const [ids, setIds] = useState<readonly string[]>([]);
  const threadId = row?.threadId ?? null;
  useEffect(() => {
    if (threadId === null) return;
    connection.call("list_thread_sessions", { thread: threadId, ...(row?.agentId == null ? {} : { agentId: row.agentId }) }).then((answer) => setIds(answer.sessions), () => {});
  }, [connection, threadId, row?.agentId]);
  if (ids.length < 2) return [];
  const sessions = house.current().sessions;
  return [...ids].reverse().slice(0, 8).map((id) => {
    const session = sessions.get(id);
    const date = shortDate(Date.parse(session?.createdAt ?? "") || 0, Date.now(), language);
    return { label: `${date} · ${session?.title ?? t("untitled")}`, icon: "clock", isCurrent: id === sessionId, onChoose: () => go({ view: "conversation", sessionId: id, eventId: null }) };
  });
}
