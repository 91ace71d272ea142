// The field for a message. It has its own state and is never drawn together with the log, so typing never waits.
import { memo, type RefObject, useContext, useEffect, useImperativeHandle, useRef, useState } from "react";
import { pendingApprovals } from "../../log/activity";
import { plainText } from "../../log/text";
import { useApp, useHouse, useIsOnline, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import type { QueueName } from "../../wire/types";
import { bytes } from "../../words/format";
import { ATTACHMENT_BYTES_MAX, isTaken, pick, type PickedFile, toSent, totalBytes } from "./attachments";
import { readDraft, writeDraft } from "./drafts";
import { EditContext } from "./edit_context";
import { useConversation, useIsTurnOpen, useSessionPart } from "./session_context";

export interface ComposerHandle {
  focus: () => void;
  addFiles: (files: readonly File[]) => void;
}

export const Composer = memo(function Composer({ handle, onSent }: { handle: RefObject<ComposerHandle | null>; onSent: () => void }) {
  const { t } = useWords();
  const { announcer } = useApp();
  const { sessionId, agentName, actions } = useConversation();
  const { models } = useHouse();
  const isOnline = useIsOnline();
  const isTurnOpen = useIsTurnOpen();
  // What is said while a question waits may be its answer; only a plain message is read as one.
  const isAsked = useSessionPart((session) => pendingApprovals(session.log).length > 0);
  const isRunning = isTurnOpen && !isAsked;
  const edit = useContext(EditContext);
  const field = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(() => readDraft(sessionId));
  const [files, setFiles] = useState<readonly PickedFile[]>([]);
  const [how, setHow] = useState<QueueName>("steer");
  const isEditing = edit.event !== null;

  useEffect(() => {
    if (edit.event === null) return;
    setText(plainText(edit.event.message.content));
    field.current?.focus();
  }, [edit.event]);

  useEffect(() => {
    if (isEditing) return undefined;
    const timer = setTimeout(() => writeDraft(sessionId, text), 250);
    return () => clearTimeout(timer);
  }, [sessionId, text, isEditing]);

  // Whoever leaves at once keeps what was typed last, too.
  const unsaved = useRef<string | null>(null);
  unsaved.current = isEditing ? null : text;
  useEffect(() => () => { if (unsaved.current !== null) writeDraft(sessionId, unsaved.current); }, [sessionId]);

  const addFiles = async (added: readonly File[]): Promise<void> => {
    for (const file of added) if (!isTaken(file)) announcer.tell(t("fileNotTaken", { name: file.name }), "error");
    const picked = await Promise.all(added.filter(isTaken).map(pick));
    setFiles((before) => {
      const all = [...before, ...picked];
      if (totalBytes(all) <= ATTACHMENT_BYTES_MAX) return all;
      announcer.tell(t("filesTooLarge", { size: bytes(ATTACHMENT_BYTES_MAX) }), "error");
      return before;
    });
  };

  useImperativeHandle(handle, () => ({ focus: () => field.current?.focus(), addFiles: (added) => void addFiles(added) }));

  const leaveEdit = (): void => {
    edit.end();
    setText(readDraft(sessionId));
  };

  const send = async (behavior: QueueName): Promise<void> => {
    const words = text.trim();
    if (words === "" && files.length === 0) return;
    const isTakenOn = edit.event === null
      ? actions.send(words, toSent(files), isRunning ? behavior : "follow_up")
      : await actions.sayAgain(edit.event, words, toSent(files));
    if (!isTakenOn) return;
    edit.end();
    setText("");
    writeDraft(sessionId, "");
    setFiles([]);
    onSent();
  };

  const onKey = (event: React.KeyboardEvent): void => {
    // An input method uses Enter for itself; 229 is what older browsers say then.
    if (event.nativeEvent.isComposing || event.nativeEvent.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      const isOther = event.metaKey || event.ctrlKey;
      void send(isOther ? (how === "steer" ? "follow_up" : "steer") : how);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (isEditing) leaveEdit();
      else field.current?.blur();
    }
  };

  const canSend = (text.trim() !== "" || files.length > 0) && models !== null && (!isEditing || isOnline);
  const sendLabel = isAsked && !isEditing ? t("answer") : isRunning && !isEditing ? t(how === "steer" ? "steer" : "queue") : t("send");
  return (
    <div>
      {files.length === 0 ? null : <FileChips files={files} onRemove={(id) => setFiles(files.filter((file) => file.id !== id))} />}
      <div className="write">
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label={t("messageTo", { agent: agentName })}
          placeholder={t("messagePlaceholder", { agent: agentName })}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
          onPaste={(event) => {
            const pasted = [...event.clipboardData.files];
            if (pasted.length === 0) return;
            event.preventDefault();
            void addFiles(pasted);
          }}
        />
      </div>
      <div className="send">
        <span className="lead"><button className="tool" aria-label={t("attachFile")} title={t("attachFile")} onClick={() => chooser.current?.click()}><Icon name="clip" /></button></span>
        <input ref={chooser} type="file" hidden multiple accept="image/png,image/jpeg,image/gif,image/webp,application/pdf" aria-label={t("attachFile")} onChange={(event) => { void addFiles([...(event.target.files ?? [])]); event.target.value = ""; }} />
        {isRunning && !isEditing ? (
          <fieldset className="seg">
            <legend className="vh">{t("whileRunning")}</legend>
            {(["steer", "follow_up"] as const).map((it) => (
              <label key={it}><input type="radio" name="how" checked={how === it} onChange={() => setHow(it)} /><span>{t(it === "steer" ? "steer" : "queue")}</span></label>
            ))}
          </fieldset>
        ) : null}
        <Hint isOnline={isOnline} isAsked={isAsked} isRunning={isRunning} isEditing={isEditing} how={how} agent={agentName} />
        {isEditing ? <button className="btn plain" onClick={leaveEdit}>{t("cancel")}</button> : null}
        <button className="btn primary" disabled={!canSend} onClick={() => void send(how)}>{sendLabel}<kbd>↵</kbd></button>
      </div>
    </div>
  );
});

function Hint({ isOnline, isAsked, isRunning, isEditing, how, agent }: { isOnline: boolean; isAsked: boolean; isRunning: boolean; isEditing: boolean; how: QueueName; agent: string }) {
  const { t } = useWords();
  const text = isEditing ? t("editingBranch") : !isOnline ? t("savedHere") : isAsked ? t("answersQuestion") : !isRunning ? "" : t(how === "steer" ? "readsBeforeNext" : "answersAfter", { agent });
  return <span className="hint clip no-phone">{text}</span>;
}

function FileChips({ files, onRemove }: { files: readonly PickedFile[]; onRemove: (id: number) => void }) {
  const { t } = useWords();
  return (
    <ul className="chips">
      {files.map((file) => (
        <li key={file.id} className="file-chip">
          {file.url === null ? <Icon name="file" /> : <img src={file.url} alt="" />}
          <span className="clip">{file.name}</span>
          <span className="num">{bytes(file.bytes)}</span>
          <button className="tool" aria-label={t("removeFile", { name: file.name })} title={t("removeFile", { name: file.name })} onClick={() => onRemove(file.id)}><Icon name="close" small /></button>
        </li>
      ))}
    </ul>
  );
}
