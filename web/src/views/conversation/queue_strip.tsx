// Messages that wait for the running turn: edited, deleted, moved by dragging or by key.
import { useRef, useState } from "react";
import { isQueueHeld } from "../../log/activity";
import { languageOf, plainText } from "../../log/text";
import { useApp, useIsOnline, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { newId } from "../../wire/ids";
import { HostError } from "../../wire/errors";
import type { QueueChange } from "../../wire/calls";
import type { QueueItem, QueueName } from "../../wire/types";
import { useConversation, useSession } from "./session_context";

export function QueueStrip() {
  const { t } = useWords();
  const { log } = useSession();
  const { actions } = useConversation();
  const isOnline = useIsOnline();
  const n = log.steers.length + log.followUps.length;
  if (n === 0) return null;
  return (
    <>
      {isQueueHeld(log) ? (
        <div className="dock-row held"><span className="mark"><Icon name="alert" className="wait-icon" /></span><span>{t("heldQueue")}</span><span className="acts"><button className="btn compact" disabled={!isOnline} onClick={actions.takeNext}>{t("goOn")}</button></span></div>
      ) : null}
      <ol className="queue" aria-label={t("queueOf", { n })}>
        <QueueItems queue="steer" items={log.steers} />
        <QueueItems queue="follow_up" items={log.followUps} />
      </ol>
    </>
  );
}

function QueueItems({ queue, items }: { queue: QueueName; items: readonly QueueItem[] }) {
  const { connection, announcer } = useApp();
  const { sessionId } = useConversation();
  const { t } = useWords();
  const dragged = useRef<number | null>(null);
  const [over, setOver] = useState<number | null>(null);
  const change = async (change: QueueChange): Promise<boolean> => {
    try {
      await connection.call("edit_queue", { session: sessionId, editId: newId(), queue, change });
      return true;
    } catch (error) {
      if (error instanceof HostError && error.code === "conflict") announcer.tell(t("queueChanged"), "error");
      else announcer.fail(error);
      return false;
    }
  };
  const move = (item: QueueItem, to: number): void => {
    if (to >= 0 && to < items.length) void change({ move: { itemId: item.id, to } });
  };
  return items.map((item, index) => (
    <QueueRow
      key={item.id}
      item={item}
      queue={queue}
      index={index}
      isTarget={over === index}
      onChange={change}
      onMove={(by) => move(item, index + by)}
      drag={{
        onDragStart: () => { dragged.current = index; },
        onDragOver: (event) => {
          if (dragged.current === null) return;
          event.preventDefault();
          setOver(index);
        },
        onDrop: (event) => {
          event.preventDefault();
          const from = dragged.current === null ? undefined : items[dragged.current];
          if (from !== undefined && dragged.current !== index) move(from, index);
        },
        onDragEnd: () => {
          dragged.current = null;
          setOver(null);
        },
      }}
    />
  ));
}

interface QueueRowProps {
  item: QueueItem;
  queue: QueueName;
  index: number;
  isTarget: boolean;
  onChange: (change: QueueChange) => Promise<boolean>;
  onMove: (by: number) => void;
  drag: Pick<React.HTMLAttributes<HTMLLIElement>, "onDragStart" | "onDragOver" | "onDrop" | "onDragEnd">;
}

function QueueRow({ item, queue, index, isTarget, onChange, onMove, drag }: QueueRowProps) {
  const { t } = useWords();
  const isOnline = useIsOnline();
  const [edited, setEdited] = useState<string | null>(null);
  // The version that the person has seen: what another client has changed since is not overwritten unseen.
  const seen = useRef(item.updatedAt);
  const text = plainText(item.content);
  const edit = (): void => {
    seen.current = item.updatedAt;
    setEdited(text);
  };
  const save = async (): Promise<void> => {
    if (edited === null) return;
    if (edited.trim() === "" || edited === text) setEdited(null);
    else if (await onChange({ replace: { itemId: item.id, updatedAt: seen.current, text: edited } })) setEdited(null);
    // Told of the change, the person may save again.
    else seen.current = item.updatedAt;
  };
  const remove = (): void => void onChange({ remove: { itemId: item.id, updatedAt: item.updatedAt } });
  const onKey = (event: React.KeyboardEvent): void => {
    if (edited !== null) return;
    if (event.key === "e") edit();
    else if (event.key === "Delete") remove();
    else if (event.altKey && event.key === "ArrowUp") onMove(-1);
    else if (event.altKey && event.key === "ArrowDown") onMove(1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <li className={`dock-row${isTarget ? " target-row" : ""}`} draggable={edited === null && isOnline} onKeyDown={onKey} {...drag}>
      <span className="mark"><button className="grip" aria-label={t("moveMessage", { n: index + 1 })} title={t("moveMessage", { n: index + 1 })} disabled={!isOnline}><Icon name={queue === "steer" ? "steer" : "grip"} /></button></span>
      {edited === null ? <span className="words clip" lang={languageOf(text)}>{text}</span> : (
        <textarea
          className="queue-edit"
          aria-label={t("edit")}
          value={edited}
          rows={1}
          autoFocus
          onChange={(event) => setEdited(event.target.value)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return;
            if (event.key === "Escape") setEdited(null);
            else if (event.key === "Enter" && !event.shiftKey) void save();
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
      )}
      <span className="acts">
        {edited !== null ? <button className="btn plain compact" onClick={() => void save()}>{t("save")}</button> : (
          <>
            {queue === "steer" ? <span className="no-phone">{t("steersNext")}</span> : index === 0 ? <span className="no-phone">{t("next")}</span> : null}
            <button className="tool" aria-label={t("edit")} title={`${t("edit")} (E)`} disabled={!isOnline} onClick={edit}><Icon name="pencil" /></button>
          </>
        )}
        <button className="tool" aria-label={t("delete")} title={t("delete")} disabled={!isOnline} onClick={edited === null ? remove : () => setEdited(null)}><Icon name="close" /></button>
      </span>
    </li>
  );
}
