// One line above the log about the connection or the session, and nothing when all is well.
import { useEffect } from "react";
import { ATTEMPTS_UNTIL_OFFLINE } from "../../wire/connection";
import { useNow } from "../../parts/clock";
import { useApp, useConnectionState, useIsOnline, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { Quoted } from "../../parts/quoted";
import { useConversation, useRefusal, useSession } from "./session_context";

const BACK_SHOWN_MS = 5_000;

export function ConnectionBanner({ isTurnOpen }: { isTurnOpen: boolean }) {
  const { t } = useWords();
  const { connection } = useApp();
  const state = useConnectionState();
  const now = useNow(state.kind === "waiting");
  if (state.kind !== "waiting" && !(state.kind === "connecting" && state.attempt > 0)) return null;
  if (state.attempt >= ATTEMPTS_UNTIL_OFFLINE) {
    return <div className="banner" role="status"><Icon name="offline" /><span>{t("offlineBanner")}</span><button className="btn compact" onClick={connection.tryNow}>{t("tryNow")}</button></div>;
  }
  const left = state.kind === "waiting" ? Math.ceil((state.retryAt - now) / 1000) : 0;
  return (
    <div className="banner" role="status">
      <span className="ring" />
      <span>{left > 0 ? t("reconnecting", { n: left }) : t("reconnectingNow")} {isTurnOpen ? <span className="quiet">{t("turnKeepsRunning")}</span> : null}</span>
      <button className="btn compact" onClick={connection.tryNow}>{t("tryNow")}</button>
    </div>
  );
}

export function SessionBanners() {
  const { t } = useWords();
  const session = useSession();
  const { feed } = useConversation();
  const { resumed } = session;
  const isOnline = useIsOnline();
  useEffect(() => {
    if (resumed === null) return undefined;
    const timer = setTimeout(() => feed.dismissResumed(), BACK_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [feed, resumed]);
  const refused = useRefusal();
  if (session.isRemoved) return <div className="banner" role="status"><Icon name="alert" /><span>{t("sessionRemoved")}</span></div>;
  if (session.failure !== null) return <div className="banner" role="status"><Icon name="alert" /><span>{t("sessionFailed", { reason: session.failure })}</span></div>;
  if (refused !== null) return <div className="banner" role="alert"><Icon name="alert" /><span><Quoted text={t("cannotFollow", { reason: refused })} /></span></div>;
  if (session.movedTo !== null) return <div className="banner" role="status"><Icon name="alert" /><span>{t("sessionMoved")}</span></div>;
  if (session.live.isIncomplete) return <div className="banner" role="status"><Icon name="note" /><span>{t("liveTextMissing")}</span></div>;
  if (isOnline && resumed !== null && resumed.nEvents > 0) return <div className="banner calm" role="status"><Icon name="check" /><span>{t("back", { n: resumed.nEvents })}</span></div>;
  return null;
}
