// Commands: everything on the page, found by typing. Conversations are found here as well.
import { useId, useMemo, useState } from "react";
import { filterThreads } from "../../house/threads";
import { useHouse, useWords } from "../../parts/app_context";
import { type Command, keyLabel, useAllCommands } from "../../parts/commands";
import { Modal } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { go } from "../../parts/route";
import { platformIcon } from "../threads/platforms";

const CONVERSATIONS_MAX = 6;

export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useWords();
  const all = useAllCommands();
  const { threads } = useHouse();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const found = useMemo<Command[]>(() => {
    const commands = all.filter((it) => !it.isHidden && !it.isDisabled && matches(it.label, query));
    const open = query.trim() === "" ? [] : filterThreads(threads ?? [], query).slice(0, CONVERSATIONS_MAX);
    return [...commands, ...open.map((thread): Command => ({
      id: thread.sessionId,
      label: thread.title ?? t("untitled"),
      icon: platformIcon(thread.platform),
      run: () => go({ view: "conversation", sessionId: thread.sessionId, eventId: null }),
    }))];
  }, [all, threads, query, t]);
  const chosen = Math.min(at, found.length - 1);
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    // After the dialog has given the focus back.
    setTimeout(() => command.run(), 0);
  };
  return (
    <Modal label={t("commands")} onClose={onClose} className="dialog palette" onSubmit={() => run(found[chosen])}>
      <label className="field"><Icon name="search" /><input
        value={query}
        data-first=""
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${chosen}`}
        aria-label={t("typeCommand")}
        placeholder={t("typeCommand")}
        onChange={(event) => { setQuery(event.target.value); setAt(0); }}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          setAt((chosen + (event.key === "ArrowDown" ? 1 : -1) + found.length) % Math.max(1, found.length));
        }}
      /></label>
      <ul id={id} role="listbox" aria-label={t("commands")}>
        {found.map((command, index) => (
          <li key={command.id} id={`${id}-${index}`} role="option" aria-selected={index === chosen} ref={index === chosen ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined} onMouseMove={() => setAt(index)} onClick={() => run(command)}>
            <Icon name={command.icon} /><span className="clip">{command.label}</span>{command.keys === undefined ? null : <kbd>{keyLabel(command.keys[0]!)}</kbd>}
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p className="nothing">{t("noCommand")}</p> : null}
    </Modal>
  );
}

/** Whether the letters of the query stand in the label in this order, beginning at a word. */
function matches(label: string, query: string): boolean {
  const [words, wanted] = [label.toLowerCase(), query.trim().toLowerCase()];
  return wanted.split(/\s+/).every((part) => words.includes(part));
}
