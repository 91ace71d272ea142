// A conversation that has not begun. It is created by its first message, so one that nobody writes in leaves nothing.
import { useContext, useEffect, useMemo, useRef, useState } from "react";
import { agentOf, sessionBegunIn } from "../../house/house_store";
import { expectedModel } from "../../house/models";
import { placeName, projectOf } from "../../house/threads";
import { emptySession } from "../../log/state";
import { useApp, useHouse, useOutbox, usePreferences, useWords } from "../../parts/app_context";
import { type Command, useCommands } from "../../parts/commands";
import { DialogContext } from "../../parts/dialogs";
import { Icon } from "../../parts/icon";
import { OpenContext } from "../../parts/open_state";
import { hrefOf, replace } from "../../parts/route";
import { newId } from "../../wire/ids";
import type { Feed } from "../../wire/session_feed";
import { ConnectionBanner } from "./banners";
import { Composer, type ComposerHandle } from "./composer";
import { moveDraft, readPlace } from "./drafts";
import { FileDrop } from "./file_drop";
import { type Actions, type Conversation, ConversationContext } from "./session_context";
import { StatusLine } from "./status_line";
import { Stream, type StreamHandle } from "./stream";
import { streamRows } from "./stream_rows";
import { TurnsPanel } from "./turns_panel";

export function DraftView({ draftId }: { draftId: string }) {
  const { house, outbox, announcer } = useApp();
  const { t } = useWords();
  const known = useHouse();
  const { folder, agentId } = known;
  const place = useMemo(() => readPlace(draftId), [draftId]);
  const cwd = place?.cwd ?? folder ?? ".";
  const agent = place?.agentId ?? agentId;
  const { name, emoji } = agentOf(known, agent);
  const threadId = `web:room:${draftId}`;
  const begun = sessionBegunIn(known, threadId);
  useEffect(() => {
    if (begun === undefined) return;
    moveDraft(draftId, begun);
    replace({ view: "conversation", sessionId: begun, eventId: null });
  }, [begun, draftId]);

  const conversation = useMemo<Conversation>(() => {
    const session = { ...emptySession(draftId), isLoaded: true };
    const feed: Feed = { sessionId: draftId, current: () => session, subscribe: () => () => {}, refused: () => null, dismissResumed: () => {} };
    const send: Actions["send"] = (text, files) => {
      const model = house.usedModel();
      if (model === null) {
        announcer.tell(t("notLoaded"), "error");
        return false;
      }
      const to = { threadId, target: "current" as const, cwd, ...(agent === null ? {} : { agentId: agent }) };
      outbox.add({ clientMessageId: newId(), text, ...to, expects: expectedModel(model), ...(files.length === 0 ? {} : { attachments: [...files] }) }, draftId, Date.now());
      return true;
    };
    const nothing = (): void => {};
    const actions: Actions = { send, stop: nothing, retry: nothing, branch: async () => false, switchBranch: nothing, clone: nothing, sayAgain: async () => false, takeNext: nothing };
    return { sessionId: draftId, feed, row: undefined, agentName: name, agentEmoji: emoji, actions };
  }, [draftId, threadId, cwd, agent, name, emoji, house, outbox, announcer, t]);

  return (
    <ConversationContext value={conversation}>
      <OpenContext value={useMemo(() => new Map<string, boolean>(), [])}>
        <DraftBody conversation={conversation} cwd={cwd} />
      </OpenContext>
    </ConversationContext>
  );
}

function DraftBody({ conversation: { sessionId, feed, agentName }, cwd }: { conversation: Conversation; cwd: string }) {
  const { t } = useWords();
  const { preferences } = useApp();
  const { showsTurns } = usePreferences();
  const { projects } = useHouse();
  const project = projectOf(cwd, projects);
  const outbox = useOutbox();
  const composer = useRef<ComposerHandle>(null);
  const stream = useRef<StreamHandle>(null);
  const [, setIsAtEnd] = useState(true);
  const rows = useMemo(() => streamRows([], feed.current(), outbox.filter((it) => it.sessionId === sessionId)), [feed, outbox, sessionId]);
  useEffect(() => {
    // Not on a touch screen, where the focus brings up the keyboard.
    if (matchMedia("(pointer: fine)").matches) composer.current?.focus();
  }, [composer]);
  useCommands(useMemo<Command[]>(() => [{ id: "write", label: t("writeMessage"), icon: "compose", keys: ["r"], run: () => composer.current?.focus() }], [t]));
  return (
    <>
      <main className="main" id="conversation" data-session={sessionId}>
        <header className="head">
          <a className="tool only-phone" href={hrefOf({ view: "list" })} aria-label={t("allConversations")}><Icon name="left" /></a>
          <div className="titles"><h1 className="clip">{t("newConversation")}</h1><span className="from clip" title={cwd}>{placeName(cwd, project, projects)}</span></div>
        </header>
        <ConnectionBanner isTurnOpen={false} />
        <FileDrop composer={composer}>
          {rows.length === 0 ? <NotBegun agentName={agentName} cwd={cwd} /> : <Stream rows={rows} handle={stream} onAtEnd={setIsAtEnd} marked={null} />}
        </FileDrop>
        <div className="dock"><div className="dock-in"><div className="box"><Composer handle={composer} onSent={() => {}} /></div><StatusLine /></div></div>
      </main>
      {/* Where it will be when the conversation has begun, so that nothing shifts then. */}
      <div className={showsTurns ? "panel-place" : "panel-place hidden-wide"}><TurnsPanel onHide={() => preferences.change({ showsTurns: false })} onShow={() => {}} /></div>
    </>
  );
}

/** What an empty conversation says, and the ways to begin it. */
export function NotBegun({ agentName, cwd }: { agentName: string; cwd: string }) {
  const { t } = useWords();
  const dialogs = useContext(DialogContext);
  return (
    <div className="stream">
      <div className="empty">
        <h2>{t("saySomething", { agent: agentName })}</h2>
        <p>{t("startsWithFirst", { agent: agentName })}</p>
        <div className="ways">
          <button onClick={() => dialogs.open({ kind: "new", withScript: true })}><Icon name="save" /><span>{t("startWithScript")}</span><kbd>P</kbd></button>
          <button onClick={() => dialogs.open({ kind: "prompt", cwd })}><Icon name="folder" /><span>{t("seeWhatIsTold", { agent: agentName })}</span></button>
        </div>
      </div>
    </div>
  );
}
