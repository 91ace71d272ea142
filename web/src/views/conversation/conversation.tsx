// The conversation: header, banners, log, dock, and the turns beside it.
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { pendingApprovals } from "../../log/activity";
import { entriesOf } from "../../log/entries";
import { lastSeq } from "../../log/state";
import { tipOf } from "../../log/tree";
import { useApp, useHouse, useIsOnline, useOutbox, usePreferences, useStore, useWords } from "../../parts/app_context";
import { DialogContext } from "../../parts/dialogs";
import { Icon } from "../../parts/icon";
import { OpenContext } from "../../parts/open_state";
import { readHeader } from "../../wire/header";
import type { UserMessage } from "../../wire/types";
import { ConnectionBanner, SessionBanners } from "./banners";
import { Composer, type ComposerHandle } from "./composer";
import { ConversationHead } from "./conversation_head";
import { EditContext, type EditState } from "./edit_context";
import { LiveLine } from "./live_line";
import { QueueStrip } from "./queue_strip";
import { ConversationContext, type Conversation, useActions, useConversation, useSession } from "./session_context";
import { StatusLine } from "./status_line";
import { Stream, type StreamHandle } from "./stream";
import { streamRows } from "./stream_rows";
import { TurnsPanel } from "./turns_panel";
import { useConversationKeys } from "./use_conversation_keys";
import { useTold } from "./use_told";

export function ConversationView({ sessionId, eventId }: { sessionId: string; eventId: string | null }) {
  const { feeds } = useApp();
  const house = useHouse();
  const feed = useMemo(() => feeds.of(sessionId), [feeds, sessionId]);
  const row = house.sessions.get(sessionId);
  const actions = useActions(feed, row);
  const agentName = house.agents.find((it) => it.agentId === row?.agentId)?.name ?? house.agentName;
  const conversation = useMemo<Conversation>(() => ({ sessionId, feed, row, agentName, actions }), [sessionId, feed, row, agentName, actions]);
  const open = useMemo(() => new Map<string, boolean>(), [sessionId]);
  const [edited, setEdited] = useState<UserMessage | null>(null);
  const edit = useMemo<EditState>(() => ({ event: edited, begin: setEdited, end: () => setEdited(null) }), [edited]);
  return (
    <ConversationContext value={conversation}>
      <OpenContext value={open}>
        <EditContext value={edit}><ConversationBody eventId={eventId} /></EditContext>
      </OpenContext>
    </ConversationContext>
  );
}

function ConversationBody({ eventId }: { eventId: string | null }) {
  const { sessionId } = useConversation();
  const { preferences } = useApp();
  const { showsTurns } = usePreferences();
  const [isOverlayOpen, setIsOverlayOpen] = useState(false);
  const stream = useRef<StreamHandle>(null);
  const composer = useRef<ComposerHandle>(null);
  const toggleTurns = useCallback(() => {
    // Beside the log on a wide page, above it on a narrow one.
    if (matchMedia("(min-width: 1280px)").matches) preferences.change({ showsTurns: !preferences.current().showsTurns });
    else setIsOverlayOpen((isOpen) => !isOpen);
  }, [preferences]);
  const hideTurns = useCallback(() => {
    setIsOverlayOpen(false);
    if (matchMedia("(min-width: 1280px)").matches) preferences.change({ showsTurns: false });
  }, [preferences]);
  useConversationKeys({ stream, composer, toggleTurns });
  useTold();
  return (
    <>
      <main className="main" id="conversation">
        <ConversationHead onTurns={toggleTurns} />
        <Banner />
        <Log key={sessionId} eventId={eventId} stream={stream} composer={composer} />
        <Dock key={`dock-${sessionId}`} stream={stream} composer={composer} />
      </main>
      <div className={`panel-place${showsTurns ? "" : " hidden-wide"}${isOverlayOpen ? " open" : ""}`}>
        <TurnsPanel onHide={hideTurns} onShow={(id) => { setIsOverlayOpen(false); stream.current?.scrollTo(id); }} />
      </div>
    </>
  );
}

function Banner() {
  const { log } = useSession();
  return <><ConnectionBanner isTurnOpen={log.isTurnOpen} /><SessionBanners /></>;
}

/** Whether the messages of a priming script are hidden, as the session's first line says. */
function useHidesPrimed(): boolean {
  const { connection } = useApp();
  const { sessionId } = useConversation();
  const isOnline = useIsOnline();
  const [hides, setHides] = useState<boolean | null>(null);
  useEffect(() => {
    if (!isOnline || hides !== null) return;
    readHeader(connection, sessionId).then((header) => setHides(header.meta.priming?.showInUi === false), () => {});
  }, [connection, sessionId, isOnline, hides]);
  return hides ?? true;
}

interface Handles {
  stream: React.RefObject<StreamHandle | null>;
  composer: React.RefObject<ComposerHandle | null>;
}

function Log({ eventId, stream, composer }: Handles & { eventId: string | null }) {
  const { t } = useWords();
  const { house } = useApp();
  const { feed, sessionId } = useConversation();
  const session = useStore(feed);
  const hidesPrimed = useHidesPrimed();
  const outbox = useOutbox();
  const entries = useMemo(() => entriesOf(session.log, { hidesPrimed }), [session.log, hidesPrimed]);
  const rows = useMemo(() => streamRows(entries, session, outbox.filter((it) => it.sessionId === sessionId)), [entries, session, outbox, sessionId]);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const [isDropping, setIsDropping] = useState(false);

  const seq = lastSeq(session);
  useEffect(() => {
    if (isAtEnd && document.visibilityState === "visible") house.markSeen(sessionId, seq);
  }, [house, sessionId, seq, isAtEnd]);

  const isEmpty = session.isLoaded && rows.length === 0;
  useEffect(() => {
    // Not on a touch screen, where the focus brings up the keyboard.
    if (isEmpty && matchMedia("(pointer: fine)").matches) composer.current?.focus();
  }, [isEmpty, composer]);

  const jumped = useRef<string | null>(null);
  useEffect(() => {
    if (eventId === null || !session.isLoaded || jumped.current === eventId) return;
    if (stream.current?.scrollTo(eventId)) jumped.current = eventId;
  }, [eventId, session.isLoaded, rows, stream]);

  const isElsewhere = eventId !== null && session.isLoaded && session.log.byId.has(eventId) && !rows.some((row) => row.key === eventId || row.key.startsWith(eventId));
  return (
    <div
      className="log-place"
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setIsDropping(true);
      }}
      onDragLeave={(event) => {
        if (event.currentTarget === event.target) setIsDropping(false);
      }}
      onDrop={(event) => {
        setIsDropping(false);
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        composer.current?.addFiles([...event.dataTransfer.files]);
      }}
    >
      {isElsewhere ? <Elsewhere eventId={eventId} /> : null}
      {!session.isLoaded ? <Bones /> : rows.length === 0 ? <EmptyConversation /> : <Stream rows={rows} handle={stream} onAtEnd={setIsAtEnd} marked={eventId} />}
      {isDropping ? <div className="drop" onDragLeave={() => setIsDropping(false)}>{t("dropFiles")}</div> : null}
    </div>
  );
}

function Elsewhere({ eventId }: { eventId: string }) {
  const { t } = useWords();
  const { actions, feed } = useConversation();
  return (
    <div className="banner calm" role="status"><Icon name="branch" /><span>{t("onOtherBranch")}</span><button className="btn compact" onClick={() => void actions.branch(tipOf(feed.current().log, eventId))}>{t("switchToIt")}</button></div>
  );
}

/** Shown after a moment, so that a quick answer does not flicker. */
function Bones() {
  const { t } = useWords();
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  if (!isLate) return <div className="stream" />;
  return <div className="stream"><div className="bones" role="img" aria-label={t("loading")}>{["b1", "b2", "b3", "b4", "b5", "b3", "b1", "b2"].map((name, index) => <span key={index} className={name} />)}</div></div>;
}

function EmptyConversation() {
  const { t } = useWords();
  const { agentName, row } = useConversation();
  const dialogs = useContext(DialogContext);
  const { folder } = useHouse();
  return (
    <div className="stream">
      <div className="empty">
        <h2>{t("saySomething", { agent: agentName })}</h2>
        <p>{t("startsWithFirst", { agent: agentName })}</p>
        <div className="ways">
          <button onClick={() => dialogs.open({ kind: "new", withScript: true })}><Icon name="save" /><span>{t("startWithScript")}</span><kbd>P</kbd></button>
          <button onClick={() => dialogs.open({ kind: "prompt", cwd: row?.cwd ?? folder ?? "." })}><Icon name="folder" /><span>{t("seeWhatIsTold", { agent: agentName })}</span></button>
        </div>
      </div>
    </div>
  );
}

function Dock({ stream, composer }: Handles) {
  const { feed } = useConversation();
  const jump = useCallback((approvalId: string) => {
    const approval = pendingApprovals(feed.current().log).find((it) => it.asked.approvalId === approvalId);
    if (approval === undefined) return;
    stream.current?.scrollTo(approval.asked.id);
    requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-approval="${approvalId}"]`)?.focus()));
  }, [feed, stream]);
  const onSent = useCallback(() => stream.current?.toEnd(), [stream]);
  return (
    <div className="dock">
      <div className="dock-in">
        <div className="box"><LiveLine onJump={jump} /><QueueStrip /><Composer handle={composer} onSent={onSent} /></div>
        <StatusLine />
      </div>
    </div>
  );
}
