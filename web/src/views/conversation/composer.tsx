// The field for a message. It has its own state and is never drawn together with the log, so typing never waits.
import { memo, type RefObject, useContext, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "react";
import { pendingApprovals } from "../../log/activity";
import { plainText } from "../../log/text";
import { useApp, useHouse, useIsOnline, useWords } from "../../parts/app_context";
import { keyLabel } from "../../parts/commands";
import { Icon } from "../../parts/icon";
import type { QueueName } from "../../wire/types";
import { bytes } from "../../words/format";
import { ATTACHMENT_BYTES_MAX, isTaken, pick, type PickedFile, toSent, totalBytes } from "./attachments";
import { noteTyped, readDraft, takesFocus, writeDraft } from "./drafts";
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
  const isEditing = edit.event !== null;

  useEffect(() => {
    if (edit.event === null) return;
    setText(plainText(edit.event.message.content));
    field.current?.focus();
  }, [edit.event]);

  // Before the next key: somebody may be typing while the conversation begins.
  useLayoutEffect(() => {
    if (field.current === null || !takesFocus(sessionId)) return;
    field.current.focus();
    field.current.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [sessionId]);

  useEffect(() => {
    if (isEditing) return undefined;
    noteTyped(sessionId, text);
    const timer = setTimeout(() => writeDraft(sessionId, text), 250);
    return () => clearTimeout(timer);
  }, [sessionId, text, isEditing]);

  // Whoever leaves at once keeps what was typed last, too.
  const unsaved = useRef<string | null>(null);
  unsaved.current = isEditing ? null : text;
  useEffect(() => {
    const save = (): void => { if (unsaved.current !== null) writeDraft(sessionId, unsaved.current); };
    addEventListener("pagehide", save);
    return () => {
      removeEventListener("pagehide", save);
      save();
    };
  }, [sessionId]);

  const addFiles = async (added: readonly File[]): Promise<void> => {
    for (const file of added) if (!isTaken(file)) announcer.tell(t("fileNotTaken", { name: file.name }), "error");
    const taken = added.filter(isTaken);
    const refuse = (): void => announcer.tell(t("filesTooLarge", { size: bytes(ATTACHMENT_BYTES_MAX) }), "error");
    // Before they are read: a file may be larger than the memory.
    if (taken.reduce((sum, file) => sum + file.size, 0) > ATTACHMENT_BYTES_MAX) return refuse();
    const picked = await Promise.all(taken.map(pick));
    setFiles((before) => {
      const all = [...before, ...picked];
      if (totalBytes(all) <= ATTACHMENT_BYTES_MAX) return all;
      refuse();
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
    const isCommand = event.metaKey || event.ctrlKey;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      void send(isCommand ? "steer" : "follow_up");
    } else if (isCommand && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "s") {
      // As in the terminal. The browser would save the page.
      event.preventDefault();
      if (isRunning && !isEditing) void send("steer");
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (isEditing) leaveEdit();
      else field.current?.blur();
    }
  };

  const canSend = (text.trim() !== "" || files.length > 0) && models !== null && (!isEditing || isOnline);
  const sendLabel = isAsked && !isEditing ? t("answer") : isRunning && !isEditing ? t("queue") : t("send");
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
        <Hint isOnline={isOnline} isAsked={isAsked} isRunning={isRunning} isEditing={isEditing} agent={agentName} />
        {isEditing ? <button className="btn plain" onClick={leaveEdit}>{t("cancel")}</button> : null}
        {isRunning && !isEditing ? <button className="btn steers" disabled={!canSend} title={t("readsBeforeNext", { agent: agentName })} onClick={() => void send("steer")}>{t("steer")}<kbd>{keyLabel("mod+s")}</kbd></button> : null}
        <button className="btn primary" disabled={!canSend} onClick={() => void send("follow_up")}>{sendLabel}<kbd>↵</kbd></button>
      </div>
    </div>
  );
});

function Hint({ isOnline, isAsked, isRunning, isEditing, agent }: { isOnline: boolean; isAsked: boolean; isRunning: boolean; isEditing: boolean; agent: string }) {
  const { t } = useWords();
  const text = isEditing ? t("editingBranch") : !isOnline ? t("savedHere") : isAsked ? t("answersQuestion") : !isRunning ? "" : t("answersAfter", { agent });
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
