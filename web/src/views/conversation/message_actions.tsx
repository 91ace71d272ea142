// What can be done with a message: copy, branch, clone, link, inspect, raw event.
import { useContext } from "react";
import { useIsOnline, useWords } from "../../parts/app_context";
import { CopyButton, useCopy } from "../../parts/copy_button";
import { DialogContext } from "../../parts/dialogs";
import { Icon } from "../../parts/icon";
import { go, hrefOf } from "../../parts/route";
import type { AssistantMessage, UserMessage } from "../../wire/types";
import { useConversation, useIsTurnOpen } from "./session_context";

export function MessageActions({ event, text, isMessage = false }: { event: AssistantMessage | UserMessage; text: string; isMessage?: boolean }) {
  const { t } = useWords();
  const { actions, sessionId } = useConversation();
  const isTurnOpen = useIsTurnOpen();
  const dialogs = useContext(DialogContext);
  const isOnline = useIsOnline();
  const copy = useCopy();
  const link = `${location.origin}${location.pathname}${hrefOf({ view: "conversation", sessionId, eventId: event.id })}`;
  const request = event.type === "assistant_message" ? (event.requestId ?? null) : null;
  const isOff = !isOnline || isTurnOpen;
  const branchLabel = t(isMessage ? "branchBefore" : "branchFromHere");
  return (
    <>
      <CopyButton text={text} label={isMessage ? "copy" : "copyAnswer"} />
      <button className="tool" aria-label={branchLabel} title={`${branchLabel} (B)`} disabled={isOff} onClick={() => void actions.branch(isMessage ? (event.parentId ?? null) : event.id)}><Icon name="branch" /></button>
      <button className="tool" aria-label={t("cloneUpToHere")} title={`${t("cloneUpToHere")} (C)`} disabled={!isOnline} onClick={() => actions.clone(event.id)}><Icon name="clone" /></button>
      <button className="tool" aria-label={t("copyLink")} title={`${t("copyLink")} (L)`} onClick={() => void copy(link)}><Icon name="link" /></button>
      {request === null ? null : (
        <button className="tool" aria-label={t("inspectRequest")} title={`${t("inspectRequest")} (I)`} onClick={() => go({ view: "inspector", sessionId, requestId: request })}><Icon name="braces" /></button>
      )}
      <button className="tool" aria-label={t("rawEvent")} title={t("rawEvent")} onClick={() => dialogs.open({ kind: "events", events: [event] })}><Icon name="list" /></button>
    </>
  );
}
