// The keys of a conversation, and its commands in the palette.
import { type RefObject, useContext, useMemo } from "react";
import { pendingApprovals } from "../../log/activity";
import { isTreeEvent } from "../../log/fold_events";
import { useApp, useIsOnline, useWords } from "../../parts/app_context";
import { type Command, useCommands } from "../../parts/commands";
import { useCopy } from "../../parts/copy_button";
import { DialogContext } from "../../parts/dialogs";
import { go, hrefOf } from "../../parts/route";
import type { TreeEvent } from "../../wire/types";
import type { ComposerHandle } from "./composer";
import { useConversation, useIsTurnOpen, useSessionPart } from "./session_context";
import type { StreamHandle } from "./stream";

interface Parts {
  stream: RefObject<StreamHandle | null>;
  composer: RefObject<ComposerHandle | null>;
  toggleTurns: () => void;
}

export function useConversationKeys({ stream, composer, toggleTurns }: Parts): void {
  const { t } = useWords();
  const { announcer } = useApp();
  const { sessionId, feed, actions } = useConversation();
  const dialogs = useContext(DialogContext);
  const isOnline = useIsOnline();
  const copy = useCopy();
  const isTurnOpen = useIsTurnOpen();
  const isAsked = useSessionPart((session) => pendingApprovals(session.log).length > 0);
  const commands = useMemo<Command[]>(() => {
    /** The message in focus, else the last one. */
    const message = (): TreeEvent | null => {
      const { log } = feed.current();
      const key = stream.current?.focused() ?? null;
      const event = (key === null ? undefined : log.byId.get(key.slice(0, 36))) ?? (log.leaf === null ? undefined : log.byId.get(log.leaf));
      return event !== undefined && isTreeEvent(event) ? event : null;
    };
    const withMessage = (then: (event: TreeEvent) => void) => (): void => {
      const event = message();
      if (event !== null) then(event);
    };
    const switchBy = (by: number) => (): void => {
      const { log } = feed.current();
      let event = message();
      while (event !== null) {
        const siblings = log.children.get(event.parentId ?? "") ?? [];
        const next = siblings[siblings.indexOf(event.id) + by];
        if (siblings.length > 1) return next === undefined ? undefined : actions.switchBranch(next);
        const parent = event.parentId == null ? undefined : log.byId.get(event.parentId);
        event = parent !== undefined && isTreeEvent(parent) ? parent : null;
      }
    };
    const toApproval = (): void => {
      const approval = pendingApprovals(feed.current().log)[0];
      if (approval === undefined) return;
      stream.current?.scrollTo(approval.asked.id);
      setTimeout(() => document.querySelector<HTMLElement>(`[data-approval="${approval.asked.approvalId}"]`)?.focus(), 60);
    };
    const stop = (): boolean => {
      if (!feed.current().log.isTurnOpen || !isOnline) return false;
      actions.stop();
      return true;
    };
    const inspect = withMessage((event) => {
      const requestId = event.type === "assistant_message" ? (event.requestId ?? null) : null;
      go({ view: "inspector", sessionId, requestId });
    });
    const link = withMessage((event) => {
      void copy(`${location.origin}${location.pathname}${hrefOf({ view: "conversation", sessionId, eventId: event.id })}`).then((isCopied) => { if (isCopied) announcer.tell(t("copied")); });
    });
    const toggleLine = (): boolean => {
      const summary = document.activeElement?.matches("[data-index]") ? document.activeElement.querySelector<HTMLElement>("summary") : null;
      summary?.click();
      return summary !== null;
    };
    return [
      { id: "write", label: t("writeMessage"), icon: "compose", keys: ["r"], run: () => composer.current?.focus() },
      { id: "stop", label: t("stopTurn"), icon: "stop", keys: ["escape"], isDisabled: !isTurnOpen, run: stop },
      { id: "approval", label: t("goToApproval"), icon: "shield", keys: ["g a"], isDisabled: !isAsked, run: toApproval },
      { id: "branch", label: t("branchFromHere"), icon: "branch", keys: ["b"], isDisabled: !isOnline, run: withMessage((event) => void actions.branch(event.type === "user_message" ? (event.parentId ?? null) : event.id)) },
      { id: "clone", label: t("cloneUpToHere"), icon: "clone", keys: ["c"], isDisabled: !isOnline, run: withMessage((event) => actions.clone(event.id)) },
      { id: "link", label: t("copyLink"), icon: "link", keys: ["l"], run: link },
      { id: "inspect", label: t("inspectRequest"), icon: "braces", keys: ["i"], run: inspect },
      { id: "previousBranch", label: t("previousBranch"), icon: "branch", keys: ["["], isDisabled: !isOnline, run: switchBy(-1) },
      { id: "nextBranch", label: t("nextBranch"), icon: "branch", keys: ["]"], isDisabled: !isOnline, run: switchBy(1) },
      { id: "turns", label: t("turnsPanel"), icon: "panel", keys: ["t"], run: toggleTurns },
      { id: "saveScript", label: t("saveAsScript"), icon: "save", isDisabled: !isOnline, run: () => dialogs.open({ kind: "saveScript", sessionId }) },
      { id: "end", label: t("toTheEnd"), icon: "down", keys: ["end"], run: () => stream.current?.toEnd() },
      { id: "nextLine", label: t("keyNextLine"), icon: "down", keys: ["j"], isHidden: true, run: () => stream.current?.move(1) },
      { id: "previousLine", label: t("keyPreviousLine"), icon: "down", keys: ["k"], isHidden: true, run: () => stream.current?.move(-1) },
      { id: "openLine", label: t("keyOpen"), icon: "right", keys: ["enter"], isHidden: true, run: toggleLine },
    ];
  }, [t, announcer, sessionId, feed, actions, dialogs, isOnline, isTurnOpen, isAsked, copy, stream, composer, toggleTurns]);
  useCommands(commands);
}
