// The place above the composer: files that are dropped anywhere on it go along with the message.
import { type ReactNode, type RefObject, useState } from "react";
import { useWords } from "../../parts/app_context";
import type { ComposerHandle } from "./composer";

export function FileDrop({ composer, children }: { composer: RefObject<ComposerHandle | null>; children: ReactNode }) {
  const { t } = useWords();
  const [isDropping, setIsDropping] = useState(false);
  return (
    <div
      className="log-place"
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setIsDropping(true);
      }}
      onDragLeave={(event) => {
        if (event.currentTarget === event.target) setIsDropping(false);
      }}
      onDrop={(event) => {
        setIsDropping(false);
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        composer.current?.addFiles([...event.dataTransfer.files]);
      }}
    >
      {children}
      {isDropping ? <div className="drop" onDragLeave={() => setIsDropping(false)}>{t("dropFiles")}</div> : null}
    </div>
  );
}
