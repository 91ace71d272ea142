// What the agent said and thought.
import { firstLine, languageOf, shown } from "../../log/text";
import type { TurnState } from "../../log/state";
import { GrowingMarkdown, Markdown } from "../../markdown/markdown";
import { useWords } from "../../parts/app_context";
import { Fold } from "../../parts/fold";
import { Icon } from "../../parts/icon";
import type { AssistantMessage, Text } from "../../wire/types";
import { clockTime, duration, money, short } from "../../words/format";
import { LongText } from "./long_text";
import { MessageActions } from "./message_actions";

export function AnswerRow({ event, text, turn }: { event: AssistantMessage; text: Text; turn: TurnState | null }) {
  return (
    <>
      <span className="mark" />
      <div>
        <div className="prose" lang={languageOf(shown(text))}><LongText text={text}>{(whole) => <Markdown text={whole} />}</LongText></div>
        <div className={turn === null ? "foot on-hover" : "foot"}>
          {turn === null ? null : <TurnFigures turn={turn} at={event.ts} />}
          <span className="acts"><MessageActions event={event} text={shown(text)} /></span>
        </div>
      </div>
    </>
  );
}

function TurnFigures({ turn, at }: { turn: TurnState; at: number }) {
  const { t } = useWords();
  const { usage, steps, startedAt, endedAt } = turn;
  return (
    <>
      <span>{clockTime(at)}</span>
      <span className="no-phone">{t("steps", { n: steps })}</span>
      {endedAt === undefined ? null : <span className="no-phone">{duration(endedAt - startedAt)}</span>}
      <span>{usage.costMicros === undefined ? t("tokens", { n: short(usage.input + usage.cacheRead + usage.cacheWrite + usage.output) }) : money(usage.costMicros)}</span>
    </>
  );
}

export function GrowingAnswer({ text }: { text: string }) {
  return (
    <>
      <span className="mark" />
      <div className="prose" lang={languageOf(text)} aria-live="off"><GrowingMarkdown text={text} caret={<span className="caret" />} /></div>
    </>
  );
}

export function ThoughtRow({ id, text, isGrowing = false }: { id: string; text: Text; isGrowing?: boolean }) {
  const { t } = useWords();
  const beginning = shown(text);
  const line = (
    <>
      <span className="verb">{t(isGrowing ? "thinking" : "thought")}</span>
      <span className="gave clip" lang={languageOf(beginning)}>{firstLine(beginning)}</span>
    </>
  );
  return (
    <>
      <span className="mark">{isGrowing ? <span className="ring" /> : <Icon name="thought" />}</span>
      <Fold id={id} line={line}>
        <div className="thoughts prose" lang={languageOf(beginning)}><LongText text={text}>{(whole) => <Markdown text={whole} />}</LongText></div>
      </Fold>
    </>
  );
}
