// The exact bytes of a request, each range coloured by its source.
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { type ByteRange, nameOf, phraseOf, rangesOf, SOURCE_KINDS, type SourceKind, type SourceName } from "../../log/inspect";
import type { Log, RequestState } from "../../log/state";
import { useWords, type Words } from "../../parts/app_context";
import { CopyButton } from "../../parts/copy_button";
import { Icon } from "../../parts/icon";
import type { RequestExplanation, SourceView } from "../../wire/calls";
import { clockTimeWithSeconds, grouped, money, percent, sentences } from "../../words/format";
import type { WordKey } from "../../words/words";
import { RangeRow } from "./range_row";
import { stableShare } from "./request_list";

export interface BytesProps {
  log: Log;
  request: RequestState;
  number: number;
  explanation: RequestExplanation;
  agentName: string;
  selected: ByteRange | null;
  onSelect: (range: ByteRange) => void;
  firstDifference: RefObject<(() => void) | null>;
}

export function BytesPane({ log, request, number, explanation, agentName, selected, onSelect, firstDifference }: BytesProps) {
  const { t } = useWords();
  const [isReadable, setIsReadable] = useState(false);
  const body = useMemo(() => new TextEncoder().encode(explanation.body ?? ""), [explanation.body]);
  const stable = explanation.change?.stableBytes ?? null;
  const ranges = useMemo(() => rangesOf(explanation.spans, explanation.bodyBytes, stable, log), [explanation, stable, log]);
  const place = useRef<HTMLDivElement>(null);
  const goToFirst = (): void => place.current?.querySelector(".first-diff")?.scrollIntoView({ block: "center" });
  useEffect(() => {
    firstDifference.current = goToFirst;
    place.current?.scrollTo(0, 0);
    // What is new is what a person looks for first.
    const isEvent = (range: ByteRange): boolean => range.source !== null && range.source !== "runtime" && "event" in range.source;
    const first = ranges.find((range) => !range.isSame && isEvent(range)) ?? ranges.find(isEvent);
    if (first !== undefined) onSelect(first);
    // Only with another request: later events of the session change nothing in this one.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [firstDifference, explanation]);
  const before = explanation.change === undefined ? null : log.requests.findIndex((it) => it.asked.requestId === explanation.change?.requestBefore) + 1;
  const first = ranges.findIndex((range) => stable !== null && range.start >= stable);
  return (
    <main className="bytes-pane" id="bytes-pane">
      <div className="bytes-head">
        <div className="bytes-title">
          <h2>{t("requestNumber", { n: number })}</h2>
          <span className="quiet clip">{t("turnStep", { n: request.turn, step: request.step })} · {clockTimeWithSeconds(explanation.at)} · {explanation.model}</span>
          <div className="seg no-phone" role="group" aria-label={t("howShown")}><button aria-pressed={!isReadable} onClick={() => setIsReadable(false)}>{t("exact")}</button><button aria-pressed={isReadable} onClick={() => setIsReadable(true)}>{t("readable")}</button></div>
          <CopyButton text={explanation.body ?? ""} label="copyBody" />
          <Download body={explanation.body ?? ""} name={`request-${number}.json`} />
        </div>
        <Figures explanation={explanation} />
        <Cause explanation={explanation} log={log} agentName={agentName} onGo={goToFirst} />
        <ByteMap ranges={ranges} total={explanation.bodyBytes} edge={stable} />
        <Legend ranges={ranges} total={explanation.bodyBytes} />
      </div>
      <div className="bytes" id="bytes" ref={place} tabIndex={0} role="region" aria-label={t("bytesOf", { n: number })}>
        {ranges.map((range, index) => (
          <div key={`${explanation.requestId}-${range.start}`}>
            {index === first && before !== null ? <div className="first-diff"><span className="at">{grouped(range.start)}</span><p>{t("firstDifferenceFrom", { n: before })}</p></div> : null}
            <RangeRow range={range} body={body} name={nameOf(range.source, log, agentName)} before={before} isReadable={isReadable} isSelected={selected?.start === range.start} isContinued={index > 0 && ranges[index - 1]!.source === range.source} onSelect={() => onSelect(range)} />
          </div>
        ))}
      </div>
    </main>
  );
}

function Download({ body, name }: { body: string; name: string }) {
  const { t } = useWords();
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([body], { type: "application/json" }));
    const link = Object.assign(document.createElement("a"), { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1_000);
  };
  return <button className="tool no-phone" aria-label={t("downloadBody")} title={t("downloadBody")} onClick={save}><Icon name="down-arrow" /></button>;
}

const PROOFS: Record<RequestExplanation["proof"], WordKey> = { same: "matchesLog", different: "doesNotMatch", otherRenderer: "otherRenderer", blobLost: "blobLost" };

function Figures({ explanation }: { explanation: RequestExplanation }) {
  const { t } = useWords();
  const { proof, usage, bodySha256 } = explanation;
  const share = stableShare(explanation);
  return (
    <dl className="figures">
      <div><dt>{t("bytes")}</dt><dd>{grouped(explanation.bodyBytes)}</dd></div>
      <div><dt>{t("cacheStable")}</dt><dd>{share === null ? "–" : percent(share)}</dd></div>
      {usage === undefined ? null : <div><dt>{t("cost")}</dt><dd>{usage.costMicros === undefined ? t("unknownPrice") : money(usage.costMicros)}</dd></div>}
      <div><dt>SHA-256</dt><dd><code title={bodySha256}>{bodySha256.slice(0, 8)}…{bodySha256.slice(-2)}</code><Icon name={proof === "same" ? "check" : "alert"} small className={proof === "different" ? "bad" : "ok"} /><span className={proof === "different" ? "bad" : "quiet"}>{t(PROOFS[proof])}</span></dd></div>
    </dl>
  );
}

const CAUSES: Record<string, WordKey> = {
  continued: "causeContinued", branched: "causeBranched", compacted: "causeCompacted", otherModel: "causeOtherModel", otherPurpose: "causeOtherPurpose", unexplained: "causeUnexplained",
};

function Cause({ explanation, log, agentName, onGo }: { explanation: RequestExplanation; log: Log; agentName: string; onGo: () => void }) {
  const { t, language } = useWords();
  const { change } = explanation;
  if (change === undefined) return <div className="cause"><Icon name="note" /><p>{t("nothingBefore")}</p></div>;
  const named = (source: SourceView): string => {
    const { key, params } = phraseOf(source, log, agentName);
    return t(key, params);
  };
  const { first } = change;
  const what = first === undefined ? "" : "added" in first ? t("firstAdded", { source: named(first.added.source) }) : "replaced" in first ? t("firstReplaced", { before: named(first.replaced.before), now: named(first.replaced.now) }) : t("firstRemoved", { source: named(first.removed.source) });
  return (
    <div className="cause">
      <Icon name={change.cause === "branched" ? "branch" : "steer"} />
      <p><strong>{t("firstDifferenceAt", { n: change.stableBytes })}</strong>{language === "zh" ? "" : " "}{sentences(language, what, t(CAUSES[change.cause] ?? "causeUnexplained"))}</p>
      <button className="btn compact" onClick={onGo}>{t("goTo")}</button>
    </div>
  );
}

export function nameText(t: Words["t"], name: SourceName): string {
  return name.key === null ? (name.text ?? "") : t(name.key, name.params);
}

function ByteMap({ ranges, total, edge }: { ranges: readonly ByteRange[]; total: number; edge: number | null }) {
  const { t } = useWords();
  const x = (at: number): number => (at / Math.max(1, total)) * 1000;
  return (
    <div className="map">
      <svg viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label={t("mapLabel")}>
        {ranges.map((range) => <rect key={range.start} className={`s-${range.kind}`} x={x(range.start)} width={Math.max(0.8, x(range.end) - x(range.start) - 0.6)} height="8" />)}
        {edge === null ? null : <rect className="edge" x={x(edge)} y="-2" width="1.5" height="13" />}
      </svg>
    </div>
  );
}

const KIND_WORDS: Record<SourceKind, WordKey> = {
  runtime: "sourceRuntime", file: "sourceFile", memory: "sourceMemory", tool: "sourceTool", person: "sourcePerson", answer: "sourceAnswer", result: "sourceResult", reminder: "sourceReminder",
};

function Legend({ ranges, total }: { ranges: readonly ByteRange[]; total: number }) {
  const { t } = useWords();
  const sums = SOURCE_KINDS.map((kind) => ({ kind, bytes: ranges.filter((it) => it.kind === kind).reduce((sum, it) => sum + it.end - it.start, 0) }));
  return <ul className="legend" aria-label={t("sources")}>{sums.filter((it) => it.bytes > 0).map(({ kind, bytes }) => <li key={kind} className={`s-${kind}`}><i /><span>{t(KIND_WORDS[kind])}</span><span className="num">{percent(bytes / Math.max(1, total))}</span></li>)}</ul>;
}
