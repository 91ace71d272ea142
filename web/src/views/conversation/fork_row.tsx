// Where the conversation went several ways: how many there are, arrows that switch, and what the other one is.
import { firstLine, plainText, shown } from "../../log/text";
import type { Log } from "../../log/state";
import { useIsOnline, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { Menu } from "../../parts/menu";
import type { EventId } from "../../wire/types";
import { sentences } from "../../words/format";
import { useConversation, useLog } from "./session_context";

export function ForkRow({ branches, index }: { branches: readonly EventId[]; index: number }) {
  const { t, language } = useWords();
  const { actions } = useConversation();
  const log = useLog();
  const isOff = !useIsOnline() || log.isTurnOpen;
  const names = branches.map((id) => nameOf(log, id));
  const other = index > 0 ? index - 1 : index + 1;
  const to = (at: number): void => {
    const id = branches[at];
    if (id !== undefined) actions.switchBranch(id);
  };
  return (
    <>
      <span className="mark"><Icon name="branch" /></span>
      <div className="line">
        <Menu
          label={t("branches", { n: branches.length })}
          className="count"
          items={names.map((name, at) => ({ label: `${at + 1}. ${name}`, isCurrent: at === index, isDisabled: isOff, onChoose: () => to(at) }))}
        >
          {t("branches", { n: branches.length })}<Icon name="down" small />
        </Menu>
        <span className="pager">
          <button className="tool" aria-label={t("previousBranch")} title={`${t("previousBranch")} ([)`} disabled={isOff || index === 0} onClick={() => to(index - 1)}><Icon name="left" small /></button>
          <span>{index + 1} / {branches.length}</span>
          <button className="tool" aria-label={t("nextBranch")} title={`${t("nextBranch")} (])`} disabled={isOff || index === branches.length - 1} onClick={() => to(index + 1)}><Icon name="right" small /></button>
        </span>
        <span className="clip">{sentences(language, t("otherBranch"), names[other] ?? "")}</span>
      </div>
    </>
  );
}

function nameOf(log: Log, id: EventId): string {
  const event = log.byId.get(id);
  if (event?.type === "user_message" || event?.type === "assistant_message") return firstLine(plainText(event.message.content), 80) || event.type;
  return event?.type === "harness_item" ? firstLine(shown(event.item.content), 80) : (event?.type ?? id);
}
