// Registers a folder as a project.
import { useState } from "react";
import { useApp, useIsOnline, useWords } from "../../parts/app_context";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { messageOf } from "../../wire/errors";
import { FolderBrowser } from "./folder_browser";

export function AddProjectDialog({ onClose }: { onClose: () => void }) {
  const { t } = useWords();
  const { connection, house, announcer } = useApp();
  const isOnline = useIsOnline();
  const [folder, setFolder] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const choose = (path: string): void => {
    setFolder(path);
    setError(null);
  };
  const add = (): void => {
    if (folder === null) return;
    connection.call("register_project", { path: folder }).then(({ path, isNew }) => {
      announcer.tell(t(isNew ? "projectAdded" : "projectKnown", { path }));
      void house.projectsChanged();
      onClose();
    }, (failure: unknown) => setError(messageOf(failure)));
  };
  return (
    <Dialog title={t("addProject")} onClose={onClose} onSubmit={add} isSmall footer={<><span className="quiet" /><button type="button" className="btn" onClick={onClose}>{t("cancel")}</button><button type="submit" className="btn primary" disabled={!isOnline || folder === null}>{t("add")}</button></>}>
      <div className="plain-body">
        <FolderBrowser folder={folder} onFolder={choose} isFirst />
        {error === null ? null : <p className="warn bad" role="alert"><Icon name="alert" /><span>{error}</span></p>}
      </div>
    </Dialog>
  );
}
