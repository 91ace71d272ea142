// Renaming, deleting, raw events, and what the agent is told.
import { useEffect, useState } from "react";
import { useApp, useHouse, useWords } from "../../parts/app_context";
import { CopyButton } from "../../parts/copy_button";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { JsonView } from "../../parts/json_view";
import { go } from "../../parts/route";
import type { PromptView } from "../../wire/calls";
import type { LogEvent } from "../../wire/types";
import { bytes, clockTimeWithSeconds } from "../../words/format";

export function RenameDialog({ sessionId, title: before, onClose }: { sessionId: string; title: string; onClose: () => void }) {
  const { t } = useWords();
  const { connection, announcer, house } = useApp();
  const [title, setTitle] = useState(before);
  const save = (): void => {
    if (title.trim() === "") return;
    connection.call("rename_session", { session: sessionId, title: title.trim() }).then(() => {
      void house.refresh();
      onClose();
    }, (error: unknown) => announcer.fail(error));
  };
  return (
    <Dialog title={t("renameTitle")} onClose={onClose} onSubmit={save} isSmall footer={<><span className="quiet" /><button type="button" className="btn" onClick={onClose}>{t("cancel")}</button><button type="submit" className="btn primary" disabled={title.trim() === ""}>{t("save")}</button></>}>
      <div className="plain-body"><label><span className="label">{t("title")}</span><span className="field"><input value={title} data-first="" onFocus={(event) => event.target.select()} onChange={(event) => setTitle(event.target.value)} /></span></label></div>
    </Dialog>
  );
}

export function RemoveDialog({ sessionId, onClose }: { sessionId: string; onClose: () => void }) {
  const { t } = useWords();
  const { connection, announcer, house } = useApp();
  const [size, setSize] = useState<number | null>(null);
  useEffect(() => {
    connection.call("describe_session", { session: sessionId }).then((answer) => setSize(answer.bytes), (error: unknown) => announcer.fail(error));
  }, [connection, announcer, sessionId]);
  const remove = (): void => {
    connection.call("remove_session", { session: sessionId }).then(() => {
      void house.refresh();
      onClose();
      go({ view: "list" });
    }, (error: unknown) => announcer.fail(error));
  };
  return (
    <Dialog title={t("removeTitle")} onClose={onClose} isSmall footer={<><span className="quiet" /><button type="button" className="btn" data-first="" onClick={onClose}>{t("cancel")}</button><button type="button" className="btn danger" disabled={size === null} onClick={remove}>{t("delete")}</button></>}>
      <div className="plain-body"><p className="warn"><Icon name="alert" /><span>{t("removeWhat", { size: size === null ? "…" : bytes(size) })}</span></p></div>
    </Dialog>
  );
}

export function EventsDialog({ events, onClose }: { events: readonly LogEvent[]; onClose: () => void }) {
  const { t } = useWords();
  return (
    <Dialog title={t(events.length === 1 ? "rawEvent" : "rawEvents")} onClose={onClose}>
      <div className="plain-body scrolls" tabIndex={0} role="region" aria-label={t("rawEvents")}>
        {events.map((event) => (
          <section key={event.id}>
            <div className="event-head"><h3><code>{event.type}</code></h3><span className="num">{t("line", { n: event.seq + 1 })} · {clockTimeWithSeconds(event.ts)}</span><CopyButton text={() => JSON.stringify(event)} label="copyEvent" /></div>
            <JsonView value={event} />
          </section>
        ))}
      </div>
    </Dialog>
  );
}

export function PromptDialog({ cwd, onClose }: { cwd: string; onClose: () => void }) {
  const { t } = useWords();
  const { connection, announcer } = useApp();
  const { agentId, agentName } = useHouse();
  const [prompt, setPrompt] = useState<PromptView | null>(null);
  useEffect(() => {
    connection.call("get_prompt", { audience: "owner", cwd, ...(agentId === null ? {} : { agentId }) }).then(setPrompt, (error: unknown) => announcer.fail(error));
  }, [connection, announcer, agentId, cwd]);
  return (
    <Dialog title={t("whatIsTold", { agent: agentName })} onClose={onClose}>
      <div className="plain-body scrolls" tabIndex={0} role="region" aria-label={t("whatIsTold", { agent: agentName })}><pre className="told">{prompt?.systemPrompt ?? t("loading")}</pre></div>
    </Dialog>
  );
}
