// Keeps the conversation as a priming script. A script of the same name is replaced only when the person says so.
import { useEffect, useState } from "react";
import { useApp, useHouse, useWords } from "../../parts/app_context";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { HostError } from "../../wire/errors";

export function SaveScriptDialog({ sessionId, onClose }: { sessionId: string; onClose: () => void }) {
  const { t } = useWords();
  const { connection, announcer } = useApp();
  const { sessions } = useHouse();
  const row = sessions.get(sessionId);
  const [slug, setSlug] = useState(() => slugOf(row?.title ?? ""));
  const [isShared, setIsShared] = useState(false);
  const [exists, setExists] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const nRecords = useRecordCount(sessionId);
  const path = `.minds/priming/${isShared ? "team_shared" : `individual/${row?.agentId ?? "main"}`}/${slug}.md`;
  const save = async (): Promise<void> => {
    if (slug.trim() === "" || isBusy) return;
    setIsBusy(true);
    setError(null);
    try {
      const saved = await connection.call("save_script", { session: sessionId, slug: slug.trim(), shared: isShared, overwrite: exists });
      announcer.tell(t("scriptSaved", { path: saved.path }));
      onClose();
    } catch (failure) {
      if (failure instanceof HostError && failure.code === "already_exists") setExists(true);
      else setError(failure instanceof Error ? failure.message : String(failure));
      setIsBusy(false);
    }
  };
  const change = (next: string): void => {
    setSlug(next);
    setExists(false);
    setError(null);
  };
  const footer = (
    <>
      <span className="quiet">{nRecords === null ? "" : t("recordsCount", { n: nRecords })}</span>
      <button type="button" className="btn" onClick={onClose}>{t("cancel")}</button>
      <button type="submit" className={exists ? "btn danger" : "btn primary"} disabled={slug.trim() === "" || isBusy}>{t(exists ? "replace" : "save")}</button>
    </>
  );
  return (
    <Dialog title={t("saveAsScript")} onClose={onClose} onSubmit={() => void save()} isSmall footer={footer}>
      <div className="plain-body">
        <label><span className="label">{t("name")}</span><span className="field"><input value={slug} data-first="" spellCheck={false} aria-describedby="slug-hint" onChange={(event) => change(event.target.value)} /></span></label>
        <p className="quiet" id="slug-hint">{t("nameHint")}</p>
        <label className="tick"><input type="checkbox" checked={isShared} onChange={(event) => { setIsShared(event.target.checked); setExists(false); }} /><span>{t("sharedScript")}</span></label>
        <p className="quiet"><code>{path}</code></p>
        {exists ? <p className="warn" role="alert"><Icon name="alert" /><span>{t("scriptExists")}</span></p> : null}
        {error === null ? null : <p className="warn bad" role="alert"><Icon name="alert" /><span>{error}</span></p>}
      </div>
    </Dialog>
  );
}

/** A name that the host takes, from a title. */
export function slugOf(title: string): string {
  return title.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40);
}

function useRecordCount(sessionId: string): number | null {
  const { connection } = useApp();
  const [n, setN] = useState<number | null>(null);
  useEffect(() => {
    connection.call("export_script", { session: sessionId }).then((answer) => setN(answer.records), () => {});
  }, [connection, sessionId]);
  return n;
}
