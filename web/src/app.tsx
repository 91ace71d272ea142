// The page: the list beside the view that the address names, and the dialogs above them.
import { lazy, Suspense, useContext, useEffect, useMemo, useRef, useState } from "react";
import { groupThreads } from "./house/threads";
import { AnnouncementLine } from "./parts/announcer";
import { useApp, useConnectionState, useHouse, useIsOnline, usePreferences, useWords } from "./parts/app_context";
import { type Command, CommandContext, useCommands } from "./parts/commands";
import { DialogContext, type Dialogs, type OpenDialog } from "./parts/dialogs";
import { Icon, Sprite } from "./parts/icon";
import { go, type Route, useRoute } from "./parts/route";
import { ConversationView } from "./views/conversation/conversation";
import { DraftView } from "./views/conversation/draft_view";
import { ConnectionBanner } from "./views/conversation/banners";
import { LoginView, OutdatedView } from "./views/login";
import { ThreadList } from "./views/threads/thread_list";
import type { LoginResult } from "./wire/browser_ports";

const InspectorView = lazy(() => import("./views/inspector/inspector").then((it) => ({ default: it.InspectorView })));
const SettingsView = lazy(() => import("./views/settings/settings").then((it) => ({ default: it.SettingsView })));
const OpenedDialog = lazy(() => import("./views/dialogs/opened_dialog").then((it) => ({ default: it.OpenedDialog })));

export function Page({ login }: { login: LoginResult | null }) {
  const state = useConnectionState();
  const preferences = usePreferences();
  const { language } = useWords();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const dialogs = useMemo<Dialogs>(() => ({ open: setDialog, close: () => setDialog(null) }), []);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    if (preferences.theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = preferences.theme;
  }, [language, preferences.theme]);
  return (
    <DialogContext value={dialogs}>
      <Sprite />
      {state.kind === "loggedOut" ? <LoginView refused={login} /> : state.kind === "outdated" ? <OutdatedView /> : <Shell />}
      {dialog === null ? null : <Suspense><OpenedDialog dialog={dialog} onClose={dialogs.close} /></Suspense>}
      <AnnouncementLine />
    </DialogContext>
  );
}

function Shell() {
  const { t } = useWords();
  const route = useRoute();
  const searchField = useRef<HTMLInputElement>(null);
  const isOnline = useIsOnline();
  usePageKeys(route, searchField);
  usePageTitle(route);
  if (route.view === "inspector") {
    return <div className="shell" data-state={isOnline ? "online" : "offline"}><a className="skip" href="#bytes" onClick={skipTo("bytes")}>{t("skipToBytes")}</a><Suspense fallback={<div className="app inspect" />}><InspectorView key={route.sessionId} sessionId={route.sessionId} requestId={route.requestId} /></Suspense></div>;
  }
  return (
    <div className="shell" data-state={isOnline ? "online" : "offline"} data-pane={route.view === "list" ? "list" : "main"}>
      <a className="skip" href="#conversation" onClick={skipTo("conversation")}>{t("skipToConversation")}</a>
      <div className={route.view === "conversation" || route.view === "new" ? "app" : "app two"}>
        <ThreadList route={route} searchField={searchField} />
        {route.view === "conversation" ? <ConversationView key={route.sessionId} sessionId={route.sessionId} eventId={route.eventId} /> : route.view === "new" ? <DraftView key={route.draftId} draftId={route.draftId} /> : route.view === "settings" ? <Suspense fallback={<main className="main" />}><SettingsView /></Suspense> : <NothingChosen />}
      </div>
    </div>
  );
}

/** The address is the page's state, so a skip link moves the focus and leaves it alone. */
const skipTo = (id: string) => (event: React.MouseEvent): void => {
  event.preventDefault();
  const target = document.getElementById(id);
  target?.setAttribute("tabindex", "-1");
  target?.focus();
};

function NothingChosen() {
  const { t } = useWords();
  const dialogs = useContext(DialogContext);
  const { agentName, threads } = useHouse();
  const isOnline = useIsOnline();
  const agent = agentName === "" ? "Kith" : agentName;
  return (
    <main className="main" id="conversation">
      <ConnectionBanner isTurnOpen={false} />
      {threads === null ? null : (
        <div className="empty">
          <h1>{t("saySomething", { agent })}</h1>
          <p>{threads.length === 0 ? t("startsWithFirst", { agent }) : t("chooseConversation")}</p>
          <div className="ways">
            <button disabled={!isOnline} onClick={() => dialogs.open({ kind: "new", withScript: false })}><Icon name="compose" /><span>{t("newConversation")}</span><kbd>N</kbd></button>
            <button disabled={!isOnline} onClick={() => dialogs.open({ kind: "new", withScript: true })}><Icon name="save" /><span>{t("startWithScript")}</span><kbd>P</kbd></button>
          </div>
        </div>
      )}
    </main>
  );
}

function usePageTitle(route: Route): void {
  const { t } = useWords();
  const { sessions } = useHouse();
  const sessionId = route.view === "conversation" || route.view === "inspector" ? route.sessionId : null;
  const title = sessionId === null ? (route.view === "settings" ? t("settingsAndDoctor") : route.view === "new" ? t("newConversation") : null) : (sessions.get(sessionId)?.title ?? t("newConversation"));
  useEffect(() => {
    document.title = title === null ? "Kith" : `${title} · Kith`;
  }, [title]);
}

function usePageKeys(route: Route, searchField: React.RefObject<HTMLInputElement | null>): void {
  const { t } = useWords();
  const { house } = useApp();
  const preferences = usePreferences();
  const dialogs = useContext(DialogContext);
  const registry = useContext(CommandContext);
  const isOnline = useIsOnline();
  useEffect(() => {
    registry.takesLetters = preferences.letterKeys;
    const onKey = (event: KeyboardEvent): void => {
      if (registry.press(event)) event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [registry, preferences.letterKeys]);
  const commands = useMemo<Command[]>(() => {
    const step = (by: number) => (): void => {
      const threads = groupThreads(house.current().threads ?? [], Date.now()).flatMap((group) => group.threads);
      const at = threads.findIndex((it) => route.view === "conversation" && it.sessionId === route.sessionId);
      const next = threads[at < 0 ? 0 : at + by];
      if (next !== undefined) go({ view: "conversation", sessionId: next.sessionId, eventId: null });
    };
    return [
      { id: "palette", label: t("commands"), icon: "search", keys: ["mod+k"], isHidden: true, run: () => dialogs.open({ kind: "palette" }) },
      { id: "new", label: t("newConversation"), icon: "compose", keys: ["n"], isDisabled: !isOnline, run: () => dialogs.open({ kind: "new", withScript: false }) },
      { id: "script", label: t("startWithScript"), icon: "save", keys: ["p"], isDisabled: !isOnline, run: () => dialogs.open({ kind: "new", withScript: true }) },
      { id: "search", label: t("searchConversations"), icon: "search", keys: ["/"], run: () => searchField.current?.focus() },
      { id: "previous", label: t("previousConversation"), icon: "updown", keys: ["alt+arrowup"], run: step(-1) },
      { id: "next", label: t("nextConversation"), icon: "updown", keys: ["alt+arrowdown"], run: step(1) },
      { id: "conversations", label: t("goToConversations"), icon: "menu", keys: ["g c"], run: () => go({ view: "list" }) },
      { id: "settings", label: t("goToSettings"), icon: "sliders", keys: ["g d"], run: () => go({ view: "settings" }) },
      { id: "keys", label: t("keyboardMap"), icon: "keyboard", keys: ["?"], run: () => dialogs.open({ kind: "keys" }) },
    ];
  }, [t, house, dialogs, route, searchField, isOnline]);
  useCommands(commands);
}
