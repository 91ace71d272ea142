// Starts the page: logs in with the code in the address if there is one, connects, draws.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./app";
import { HouseStore } from "./house/house_store";
import { languageOf, PreferenceStore } from "./house/preferences";
import { Announcer } from "./parts/announcer";
import { type App, AppContext } from "./parts/app_context";
import { CommandContext, CommandRegistry } from "./parts/commands";
import { Feeds } from "./parts/feeds";
import { browserPorts, logIn, takeLoginCode } from "./wire/browser_ports";
import { Connection } from "./wire/connection";
import { browserStore, Outbox } from "./wire/outbox";
import "./styles/tokens.css";
import "./styles/page.css";
import "./styles/more.css";

async function start(): Promise<void> {
  const code = takeLoginCode();
  const login = code === null ? null : await logIn(code);
  const preferences = new PreferenceStore();
  const connection = new Connection(browserPorts(() => (languageOf(preferences.current()) === "zh" ? "zh-CN" : "en")));
  const announcer = new Announcer();
  const outbox = new Outbox(connection, browserStore());
  outbox.onNotes = (notes) => announcer.tell(notes.join(" "));
  const app: App = { connection, preferences, announcer, outbox, house: new HouseStore(connection), feeds: new Feeds(connection, outbox) };
  connection.start();
  // A laptop that wakes up, or a page that comes back, does not wait for the next try.
  addEventListener("online", connection.tryNow);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") connection.tryNow();
  });
  // Parts that are loaded when needed are gone when the program was replaced by another version meanwhile.
  addEventListener("vite:preloadError", (event) => {
    event.preventDefault();
    connection.outdated("a part of this page is gone");
  });
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <AppContext value={app}><CommandContext value={new CommandRegistry()}><Page login={login} /></CommandContext></AppContext>
    </StrictMode>,
  );
}

void start();
