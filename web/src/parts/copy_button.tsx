// A button that copies a text, and says so.
import { useEffect, useState } from "react";
import { useApp, useWords } from "./app_context";
import { Icon } from "./icon";
import type { WordKey } from "../words/words";

const SAID_MS = 1_500;

export function useCopy(): (text: string) => Promise<boolean> {
  const { announcer } = useApp();
  const { t } = useWords();
  return async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      announcer.readOut(t("copied"));
      return true;
    } catch {
      announcer.tell(t("copyFailed"), "error");
      return false;
    }
  };
}

export function CopyButton({ text, label = "copy" }: { text: string | (() => string); label?: WordKey }) {
  const { t } = useWords();
  const copy = useCopy();
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setIsCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const name = t(isCopied ? "copied" : label);
  return (
    <button className="tool" aria-label={name} title={name} onClick={async () => setIsCopied(await copy(typeof text === "string" ? text : text()))}>
      <Icon name={isCopied ? "check" : "copy"} />
    </button>
  );
}
