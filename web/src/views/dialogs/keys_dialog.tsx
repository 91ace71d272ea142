// The map of keys.
import { useWords } from "../../parts/app_context";
import { keyLabel } from "../../parts/commands";
import { Dialog } from "../../parts/dialog";
import type { WordKey } from "../../words/words";

const KEYS: readonly [keys: readonly string[], what: WordKey][] = [
  [["mod+k"], "commands"],
  [["/"], "searchConversations"],
  [["n"], "newConversation"],
  [["p"], "startWithScript"],
  [["alt+arrowup"], "previousConversation"],
  [["alt+arrowdown"], "nextConversation"],
  [["j"], "keyNextLine"],
  [["k"], "keyPreviousLine"],
  [["enter"], "keyOpen"],
  [["r"], "writeMessage"],
  [["enter"], "keySend"],
  [["shift+enter"], "keyNewLine"],
  [["mod+s"], "keySteer"],
  [["escape"], "keyClose"],
  [["g a"], "goToApproval"],
  [["y", "n"], "keyApproval"],
  [["b", "c", "l", "i"], "keyMessage"],
  [["[", "]"], "keyBranches"],
  [["t"], "turnsPanel"],
  [["e", "delete", "alt+arrowup", "alt+arrowdown"], "keyQueueItem"],
  [["d", "arrowleft", "arrowright"], "keyInspector"],
  [["g c"], "goToConversations"],
  [["g d"], "goToSettings"],
  [["?"], "keyboardMap"],
];

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const { t } = useWords();
  return (
    <Dialog title={t("keyboardMap")} onClose={onClose}>
      <div className="plain-body scrolls" tabIndex={0} role="region" aria-label={t("keyboardMap")}>
        <dl className="key-map">{KEYS.map(([keys, what]) => <div key={what}><dt>{keys.map((key) => <kbd key={key}>{keyLabel(key)}</kbd>)}</dt><dd>{t(what)}</dd></div>)}</dl>
      </div>
    </Dialog>
  );
}
