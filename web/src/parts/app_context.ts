// What every part of the page can reach: the host, the words, and a way to tell the person something.
import { createContext, useContext, useMemo, useSyncExternalStore } from "react";
import type { House, HouseStore } from "../house/house_store";
import { languageOf, type Preferences, type PreferenceStore } from "../house/preferences";
import type { Connection, ConnectionState } from "../wire/connection";
import type { Outbox, OutboxMessage } from "../wire/outbox";
import { type Language, type Params, say, type WordKey } from "../words/words";
import type { Announcer } from "./announcer";
import type { Feeds } from "./feeds";

export interface App {
  connection: Connection;
  house: HouseStore;
  outbox: Outbox;
  preferences: PreferenceStore;
  announcer: Announcer;
  feeds: Feeds;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === null) throw new Error("the page is not mounted");
  return app;
}

interface Store<T> { subscribe: (listener: () => void) => () => void; current: () => T }

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.current);
}

export const useHouse = (): House => useStore(useApp().house);
export const usePreferences = (): Preferences => useStore(useApp().preferences);
export const useConnectionState = (): ConnectionState => useStore(useApp().connection);
export const useOutbox = (): readonly OutboxMessage[] => useStore(useApp().outbox);
export const useIsOnline = (): boolean => useConnectionState().kind === "online";

export interface Words { t: (key: WordKey, params?: Params) => string; language: Language }

export function useWords(): Words {
  const language = languageOf(usePreferences());
  return useMemo(() => ({ language, t: (key, params) => say(language, key, params) }), [language]);
}
