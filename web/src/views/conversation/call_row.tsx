// A call of a tool as one line, opened to its input, its output or the difference it made.
import { useContext } from "react";
import { callLine, diffOf, toolOf } from "../../log/call_line";
import type { CallState } from "../../log/state";
import { mediaOf, plainText } from "../../log/text";
import { useNow } from "../../parts/clock";
import { useWords } from "../../parts/app_context";
import { CopyButton } from "../../parts/copy_button";
import { DialogContext } from "../../parts/dialogs";
import { DiffView } from "../../parts/diff_view";
import { Fold } from "../../parts/fold";
import { Icon } from "../../parts/icon";
import { JsonView } from "../../parts/json_view";
import { Highlighted } from "../../markdown/code_block";
import type { Block, LogEvent } from "../../wire/types";
import { duration } from "../../words/format";
import { LongText } from "./long_text";
import { MediaList } from "./media";
import { useLog, useSessionPart } from "./session_context";

export function CallRow({ call, isOpen }: { call: CallState; isOpen: boolean }) {
  const isRunning = isOpen && call.started !== undefined && call.result === undefined;
  return (
    <>
      <span className="mark">{isRunning ? <RunningRing /> : <Icon name={callLine(call).icon} />}</span>
      <CallFold call={call} isRunning={isRunning} isOpenTurn={isOpen} />
    </>
  );
}

function RunningRing() {
  const { t } = useWords();
  return <span className="ring" role="img" aria-label={t("running")} />;
}

function CallFold({ call, isRunning, isOpenTurn }: { call: CallState; isRunning: boolean; isOpenTurn: boolean }) {
  const { t } = useWords();
  const now = useNow(isRunning);
  const line = callLine(call);
  const verb = line.isBad && call.result?.outcome !== "interrupted" ? "bad" : "";
  const ms = isRunning ? now - call.started!.ts : line.ms;
  const isWaiting = call.result === undefined && call.approvalId !== undefined && isOpenTurn;
  const told = (
    <>
      <span className={`verb ${verb}`}>{t(call.result === undefined && !isRunning && !isWaiting && line.verb === "callWaits" ? "called" : line.verb)}</span>
      <span className="target clip">{line.target}</span>
      {line.changes === null ? null : <span className="gave"><span className="added">+{line.changes.added}</span> <span className="removed">−{line.changes.removed}</span></span>}
      {line.gave === null ? null : <span className={`gave clip${line.isBad ? " bad" : ""}`}>{"key" in line.gave ? t(line.gave.key, line.gave.params) : line.gave.text}</span>}
    </>
  );
  return (
    <div>
      <Fold id={call.block.callId} line={told} end={ms === null ? null : duration(ms)}><CallBody call={call} /></Fold>
      {isRunning ? <Tail callId={call.block.callId} /> : null}
    </div>
  );
}

/** The last lines that a running call has printed. */
function Tail({ callId }: { callId: string }) {
  const lines = useSessionPart((session) => session.live.progress.get(callId));
  if (lines === undefined) return null;
  return <pre className="tail" tabIndex={0}>{lines.join("\n")}</pre>;
}

function CallBody({ call }: { call: CallState }) {
  const { t } = useWords();
  const dialogs = useContext(DialogContext);
  const log = useLog();
  const diff = diffOf(call);
  const { tool, input } = toolOf(call);
  const command = typeof input["command"] === "string" ? input["command"] : null;
  const events = [log.byId.get(call.answerId), call.judged, call.started, call.result].filter((it): it is LogEvent => it !== undefined);
  return (
    <div className="call-body">
      {diff === null ? null : <><div className="code-head bare"><span>{t("difference")}</span></div><DiffView rows={diff} /></>}
      {diff !== null ? null : (
        <>
          <div className="code-head bare"><span>{t("input")}</span><span className="quiet">{tool}</span></div>
          {command === null ? <JsonView value={call.block.inputBlob ?? call.block.rawInput ?? input} /> : <div className="code"><pre tabIndex={0}><code><Highlighted language="bash" code={command} /></code></pre></div>}
        </>
      )}
      {call.result === undefined || (diff !== null && call.result.outcome === "done") ? null : <Output content={call.result.content} />}
      <div className="foot"><button className="btn plain compact" onClick={() => dialogs.open({ kind: "events", events })}>{t("rawEvents")}</button></div>
    </div>
  );
}

function Output({ content }: { content: readonly Block[] }) {
  const { t } = useWords();
  const text = plainText(content);
  const isEmpty = text.trim() === "" && mediaOf(content).length === 0;
  return (
    <>
      <div className="code-head bare"><span>{t("output")}</span>{isEmpty ? null : <CopyButton text={text} />}</div>
      {isEmpty ? <p className="quiet">{t("noOutput")}</p> : null}
      {content.map((block, index) => block.type === "text" ? (
        <LongText key={index} text={block.text}>{(whole) => <div className="code"><pre className="output" tabIndex={0}>{whole}</pre></div>}</LongText>
      ) : null)}
      <MediaList media={mediaOf(content)} />
    </>
  );
}

/** Three or more neighbouring reads as one line. */
export function ReadsRow({ id, calls }: { id: string; calls: readonly CallState[] }) {
  const { t } = useWords();
  const names = calls.map((call) => callLine(call).target).join(", ");
  const ms = calls.reduce((sum, call) => sum + (callLine(call).ms ?? 0), 0);
  const line = <><span className="verb">{t("readFiles", { n: calls.length })}</span><span className="target clip">{names}</span></>;
  return (
    <>
      <span className="mark"><Icon name="file" /></span>
      <Fold id={id} line={line} end={duration(ms)}>
        <ul className="inner-calls">{calls.map((call) => <li key={call.block.callId}><CallFold call={call} isRunning={false} isOpenTurn={false} /></li>)}</ul>
      </Fold>
    </>
  );
}

/** A call whose input is still being written. */
export function PreparingCall({ tool, input }: { tool: string; input: string }) {
  const { t } = useWords();
  return (
    <>
      <span className="mark"><span className="ring" /></span>
      <div className="line"><span className="verb">{t("callPreparing")}</span><code className="target">{tool}</code><code className="gave clip">{input.slice(-80)}</code></div>
    </>
  );
}
