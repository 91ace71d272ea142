// A text that may be too long for the log: its beginning at once, the whole on request.
import { type ReactNode, useState } from "react";
import { useApp, useIsOnline, useWords } from "../../parts/app_context";
import { readBlobText } from "../../wire/blobs";
import type { Text } from "../../wire/types";
import { bytes } from "../../words/format";

export function LongText({ text, children }: { text: Text; children: (shown: string) => ReactNode }) {
  const { connection, announcer } = useApp();
  const { t } = useWords();
  const isOnline = useIsOnline();
  const [whole, setWhole] = useState<string | null>(null);
  if (typeof text === "string") return <>{children(text)}</>;
  if (whole !== null) return <>{children(whole)}</>;
  return (
    <>
      {children(`${text.preview}…`)}
      <button
        className="btn compact show-all"
        disabled={!isOnline}
        onClick={() => readBlobText(connection, text.blob).then(setWhole, (error: unknown) => announcer.fail(error))}
      >
        {t("showAll", { size: bytes(text.bytes) })}
      </button>
    </>
  );
}
