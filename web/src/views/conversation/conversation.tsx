// The conversation: header, banners, log, dock, and the turns beside it.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { agentOf } from "../../house/house_store";
import { pendingApprovals } from "../../log/activity";
import { entriesOf } from "../../log/entries";
import { lastSeq } from "../../log/state";
import { tipOf } from "../../log/tree";
import { useApp, useHouse, useIsOnline, useOutbox, usePreferences, useStore, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { OpenContext } from "../../parts/open_state";
import { readHeader } from "../../wire/header";
import type { UserMessage } from "../../wire/types";
import { ConnectionBanner, SessionBanners } from "./banners";
import { Composer, type ComposerHandle } from "./composer";
import { ConversationHead } from "./conversation_head";
import { NotBegun } from "./draft_view";
import { EditContext, type EditState } from "./edit_context";
import { FileDrop } from "./file_drop";
import { LiveLine } from "./live_line";
import { QueueStrip } from "./queue_strip";
import { ConversationContext, type Conversation, useActions, useConversation, useRefusal, useSession, useSessionPart } from "./session_context";
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
  const { name: agentName, emoji: agentEmoji } = agentOf(house, row?.agentId);
  const conversation = useMemo<Conversation>(() => ({ sessionId, feed, row, agentName, agentEmoji, actions }), [sessionId, feed, row, agentName, agentEmoji, actions]);
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
      <main className="main" id="conversation" data-session={sessionId}>
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
  const { house } = useApp();
  const { feed, sessionId } = useConversation();
  const session = useStore(feed);
  const refusal = useRefusal();
  const hidesPrimed = useHidesPrimed();
  const outbox = useOutbox();
  const entries = useMemo(() => entriesOf(session.log, { hidesPrimed }), [session.log, hidesPrimed]);
  const rows = useMemo(() => streamRows(entries, session, outbox.filter((it) => it.sessionId === sessionId)), [entries, session, outbox, sessionId]);
  const [isAtEnd, setIsAtEnd] = useState(true);

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
    <FileDrop composer={composer}>
      {isElsewhere ? <Elsewhere eventId={eventId} /> : null}
      {!session.isLoaded ? (refusal === null ? <Bones /> : <div className="stream" />) : rows.length === 0 ? <EmptyConversation /> : <Stream rows={rows} handle={stream} onAtEnd={setIsAtEnd} marked={eventId} />}
    </FileDrop>
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
  const { agentName, row } = useConversation();
  const { folder } = useHouse();
  return <NotBegun agentName={agentName} cwd={row?.cwd ?? folder ?? "."} />;
}

function Dock({ stream, composer }: Handles) {
  const { feed } = useConversation();
  const isLoaded = useSessionPart((session) => session.isLoaded);
  const refusal = useRefusal();
  const jump = useCallback((approvalId: string) => {
    const approval = pendingApprovals(feed.current().log).find((it) => it.asked.approvalId === approvalId);
    if (approval === undefined) return;
    stream.current?.scrollTo(approval.asked.id);
    requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-approval="${approvalId}"]`)?.focus()));
  }, [feed, stream]);
  const onSent = useCallback(() => stream.current?.toEnd(), [stream]);
  if (refusal !== null && !isLoaded) return null;
  return (
    <div className="dock">
      <div className="dock-in">
        <div className="box"><LiveLine onJump={jump} /><QueueStrip /><Composer handle={composer} onSent={onSent} /></div>
        <StatusLine />
      </div>
    </div>
  );
}
