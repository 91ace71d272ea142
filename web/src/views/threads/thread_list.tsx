// The list of conversations: search, groups, state and unread marks.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useContext, useEffect, useMemo, useRef, useState } from "react";
import { filterThreads, groupThreads, type GroupName, projectName, type ThreadView, unreadCount } from "../../house/threads";
import { AgentLabel, withEmoji } from "../../parts/agent_label";
import { useApp, useHouse, useIsOnline, useWords } from "../../parts/app_context";
import { DialogContext } from "../../parts/dialogs";
import { Icon } from "../../parts/icon";
import { Menu } from "../../parts/menu";
import { useMedia } from "../../parts/media_query";
import { hrefOf, type Route } from "../../parts/route";
import { languageOf } from "../../log/text";
import { listTime } from "../../words/format";
import type { WordKey } from "../../words/words";
import { platformIcon, platformKey } from "./platforms";

const SEARCH_MS = 200;
const HITS_MAX = 20;
const NO_HITS: readonly Hit[] = [];

type ListRow = { kind: "group"; name: GroupName | "inMessages" } | { kind: "thread"; thread: ThreadView } | { kind: "hit"; hit: Hit };
interface Hit { sessionId: string; eventId: string; text: string; ts: string }

export function ThreadList({ route, searchField }: { route: Route; searchField: RefObject<HTMLInputElement | null> }) {
  const { t } = useWords();
  const dialogs = useContext(DialogContext);
  const isOnline = useIsOnline();
  const [query, setQuery] = useState("");
  // On a phone the list is a screen of its own, and so its main part.
  const isAlone = useMedia("(max-width: 767px)") && route.view === "list";
  const Side = isAlone ? "main" : "nav";
  return (
    <Side className="side" aria-label={t("threads")}>
      {isAlone ? <h1 className="vh">{t("allConversations")}</h1> : null}
      <div className="side-head">
        <AgentSwitch />
        <button className="tool" aria-label={t("newConversation")} title={`${t("newConversation")} (N)`} disabled={!isOnline} onClick={() => dialogs.open({ kind: "new", withScript: false })}><Icon name="compose" /></button>
      </div>
      <div className="find">
        <label className="field"><Icon name="search" /><input ref={searchField} type="search" value={query} placeholder={t("search")} aria-label={t("searchConversations")} onChange={(event) => setQuery(event.target.value)} onKeyDown={(event) => { if (event.key === "Escape") { setQuery(""); event.currentTarget.blur(); } }} /><kbd>/</kbd></label>
      </div>
      <ProjectSwitch />
      <Threads query={query} route={route} />
      <div className="nav"><a href={hrefOf({ view: "settings" })} aria-current={route.view === "settings" ? "page" : undefined}><Icon name="sliders" /><span>{t("settingsAndDoctor")}</span></a></div>
    </Side>
  );
}

function AgentSwitch() {
  const { t } = useWords();
  const { house } = useApp();
  const { agents, agentName, agentEmoji, agentId } = useHouse();
  const inside = <>{agentEmoji === null ? <Icon name="kith" className="kith" /> : null}<span className="clip"><AgentLabel name={agentName === "" ? "Kith" : agentName} emoji={agentEmoji} /></span></>;
  if (agents.length < 2) return <span className="agent">{inside}</span>;
  const items = agents.map((agent) => ({ label: withEmoji(agent), isCurrent: agent.agentId === agentId || (agentId === null && agent.name === agentName), onChoose: () => house.chooseAgent(agent.agentId) }));
  return <Menu label={t("agentSwitch", { agent: agentName })} className="agent" items={items}>{inside}<Icon name="updown" small /></Menu>;
}

/** Narrows the list to one project; not shown while there is only one. */
function ProjectSwitch() {
  const { t } = useWords();
  const { house } = useApp();
  const { projects, project } = useHouse();
  if (projects.length < 2) return null;
  const name = project === null ? t("allProjects") : projectName(project, projects);
  const items = [
    { label: t("allProjects"), isCurrent: project === null, onChoose: () => house.chooseProject(null) },
    ...projects.map((it) => ({ label: projectName(it.path, projects), isCurrent: it.path === project, onChoose: () => house.chooseProject(it.path) })),
  ];
  return <div className="project-switch"><Menu label={t("projectSwitch", { project: name })} className="btn plain compact" items={items}><Icon name="folder" small /><span className="clip">{name}</span><Icon name="updown" small /></Menu></div>;
}

function Threads({ query, route }: { query: string; route: Route }) {
  const { t } = useWords();
  const { threads: all, error, project } = useHouse();
  const threads = useMemo(() => (project === null ? all : (all?.filter((it) => it.project === project) ?? null)), [all, project]);
  const { house } = useApp();
  const hits = useHits(query);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo<ListRow[]>(() => {
    const groups = groupThreads(filterThreads(threads ?? [], query), Date.now());
    const found: ListRow[] = groups.flatMap((group) => [{ kind: "group", name: group.name }, ...group.threads.map((thread): ListRow => ({ kind: "thread", thread }))]);
    return hits.length === 0 ? found : [...found, { kind: "group", name: "inMessages" }, ...hits.map((hit): ListRow => ({ kind: "hit", hit }))];
  }, [threads, query, hits]);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.kind === "group" ? 36 : 51),
    getItemKey: (index) => keyOf(rows[index], index),
    overscan: 6,
  });
  if (threads === null) {
    if (error === null) return <div className="threads" aria-busy="true"><div className="side-bones">{Array.from({ length: 8 }, (_, index) => <span key={index} />)}</div></div>;
    return <div className="threads"><p className="nothing bad">{t("failedCall", { reason: error })}</p><button className="btn compact" onClick={() => void house.refresh()}>{t("tryNow")}</button></div>;
  }
  if (rows.length === 0) return <div className="threads"><p className="nothing">{t(query !== "" ? "noMatches" : project === null ? "noConversations" : "noneInProject")}</p></div>;
  const items = list.getVirtualItems();
  return (
    <div className="threads" ref={scroller}>
      <ul style={{ paddingTop: items[0]?.start ?? 0, paddingBottom: Math.max(0, list.getTotalSize() - (items.at(-1)?.end ?? 0)) }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return <li key={item.key} data-index={item.index} ref={list.measureElement}><Row row={row} route={route} /></li>;
        })}
      </ul>
    </div>
  );
}

function keyOf(row: ListRow | undefined, index: number): string | number {
  if (row === undefined) return index;
  return row.kind === "group" ? row.name : row.kind === "thread" ? row.thread.sessionId : `${row.hit.sessionId}-${row.hit.eventId}`;
}

function Row({ row, route }: { row: ListRow; route: Route }) {
  const { t } = useWords();
  if (row.kind === "group") return <h2>{t(row.name)}</h2>;
  return row.kind === "thread" ? <Thread thread={row.thread} route={route} /> : <HitRow hit={row.hit} />;
}

const STOPPED: Record<string, WordKey> = { steps: "endedSteps", repeats: "endedRepeats", wall: "endedWall", tokens: "endedTokens", cost: "endedCost" };

function Thread({ thread, route }: { thread: ThreadView; route: Route }) {
  const { t, language } = useWords();
  const { house } = useApp();
  const { tails, seen, projects, project, folder } = useHouse();
  const isOnline = useIsOnline();
  const tail = tails.get(thread.sessionId);
  useEffect(() => {
    if (isOnline) house.wantTail(thread);
  }, [house, thread, isOnline]);
  const isCurrent = (route.view === "conversation" || route.view === "inspector") && route.sessionId === thread.sessionId;
  const nUnread = isCurrent ? 0 : unreadCount(tail, seen[thread.sessionId]);
  const title = thread.title ?? t(tail !== undefined && tail.lastWords === "" ? "newConversation" : "untitled");
  const stopped = tail?.stopped ?? null;
  // The house is where most conversations are, and a chosen project is said above the list.
  const shownProject = thread.project === null || project !== null || thread.project === folder ? null : projectName(thread.project, projects);
  return (
    <a className={nUnread > 0 ? "thread unread" : "thread"} href={hrefOf({ view: "conversation", sessionId: thread.sessionId, eventId: null })} aria-current={isCurrent ? "page" : undefined}>
      <Icon name={platformIcon(thread.platform)} label={t(platformKey(thread.platform))} />
      <span title={thread.cwd ?? undefined}><span className="name clip" lang={languageOf(title)}>{title}</span><span className="num">{thread.updatedAt === 0 ? "" : listTime(thread.updatedAt, Date.now(), language)}</span></span>
      <span>
        {shownProject === null ? null : <span className="in-project">{shownProject}</span>}
        {thread.state === "readOnly" ? <span className="last clip bad">{t("readOnly")}</span> : stopped === null || thread.state === "running" ? <span className="last clip" lang={languageOf(tail?.lastWords ?? "")}>{tail?.lastWords || "\u00a0"}</span> : <span className="last clip bad">{t(STOPPED[stopped.bound ?? ""] ?? "endedFailed", { n: "" })}</span>}
        <span className="state">
          {thread.state === "waiting" ? <span className="waits">{t("approval")}</span> : null}
          {thread.state === "running" ? <span className="ring" role="img" aria-label={t("running")} /> : null}
          {nUnread > 0 ? <span className="count"><span aria-hidden="true">{nUnread}</span><span className="vh">{t("unreadCount", { n: nUnread })}</span></span> : null}
        </span>
      </span>
    </a>
  );
}

function HitRow({ hit }: { hit: Hit }) {
  const { t, language } = useWords();
  const { sessions } = useHouse();
  return (
    <a className="thread" href={hrefOf({ view: "conversation", sessionId: hit.sessionId, eventId: hit.eventId })}>
      <Icon name="search" />
      <span><span className="name clip">{sessions.get(hit.sessionId)?.title ?? t("untitled")}</span><span className="num">{listTime(Date.parse(hit.ts), Date.now(), language)}</span></span>
      <span><span className="last clip" lang={languageOf(hit.text)}>{hit.text}</span></span>
    </a>
  );
}

/** Messages that hold the words of the query. */
function useHits(query: string): readonly Hit[] {
  const { connection } = useApp();
  const [found, setFound] = useState<{ query: string; hits: readonly Hit[] }>({ query: "", hits: [] });
  const wanted = query.trim();
  useEffect(() => {
    if (wanted.length < 2) return undefined;
    const timer = setTimeout(() => {
      connection.call("search_sessions", { query: wanted, limit: HITS_MAX }).then((answer) => setFound({ query: wanted, hits: answer.hits }), () => {});
    }, SEARCH_MS);
    return () => clearTimeout(timer);
  }, [connection, wanted]);
  return found.query === wanted ? found.hits : NO_HITS;
}
