// A folder of the machine Kith runs on: typed, or found by going from folder to folder.
import { useEffect, useRef, useState } from "react";
import { useApp, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import type { DirectoryList, DirectoryRow } from "../../wire/calls";
import { messageOf } from "../../wire/errors";

const TYPED_MS = 150;

/** `folder` is what is chosen; `null` begins in the home of the user. */
export function FolderBrowser({ folder, onFolder, isFirst = false }: { folder: string | null; onFolder: (folder: string) => void; isFirst?: boolean }) {
  const { t } = useWords();
  const { connection } = useApp();
  const [list, setList] = useState<DirectoryList | null>(null);
  const [error, setError] = useState<string | null>(null);
  const isTyping = useRef(false);
  useEffect(() => {
    if (list !== null && list.path === folder) return undefined;
    let isWanted = true;
    const timer = setTimeout(() => {
      connection.call("list_directories", folder === null ? {} : { path: folder }).then(
        (answer) => {
          if (!isWanted) return;
          setList(answer);
          setError(null);
          if (folder === null) onFolder(answer.path);
        },
        (failure: unknown) => { if (isWanted) setError(messageOf(failure)); },
      );
    }, isTyping.current ? TYPED_MS : 0);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [connection, folder, list, onFolder]);
  const open = (path: string): void => {
    isTyping.current = false;
    onFolder(path);
  };
  return (
    <div className="folders">
      <label><span className="label">{t("folder")}</span><span className="field"><input value={folder ?? ""} spellCheck={false} data-first={isFirst ? "" : undefined} onChange={(event) => { isTyping.current = true; onFolder(event.target.value); }} /></span></label>
      {error === null ? null : <p className="warn bad" role="alert"><Icon name="alert" /><span>{error}</span></p>}
      <ul className="folder-list" aria-label={t("foldersIn", { folder: list?.path ?? "" })} tabIndex={0}>
        {list?.parent === undefined ? null : <li><button type="button" onClick={() => open(list.parent!)}><Icon name="left" /><span className="clip">{t("parentFolder")}</span></button></li>}
        {list?.directories.map((it) => <FolderRow key={it.path} row={it} onOpen={() => open(it.path)} />)}
        {list !== null && list.directories.length === 0 ? <li className="nothing">{t("noFolders")}</li> : null}
        {list?.isCut ? <li className="nothing">{t("foldersCut")}</li> : null}
      </ul>
    </div>
  );
}

function FolderRow({ row, onOpen }: { row: DirectoryRow; onOpen: () => void }) {
  const { t } = useWords();
  const mark = row.isProject ? t("projectMark") : row.isRepository ? t("repositoryMark") : null;
  return <li><button type="button" onClick={onOpen}><Icon name="folder" /><span className="clip">{row.name}</span>{mark === null ? null : <span className="num">{mark}</span>}</button></li>;
}
