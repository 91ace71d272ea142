// What a person said: the only filled block, so that turns can be found while scrolling. A steer is outlined.
import { useContext } from "react";
import { languageOf, mediaOf, plainText, shown } from "../../log/text";
import { useIsOnline, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { Markdown } from "../../markdown/markdown";
import type { HarnessItem, UserMessage } from "../../wire/types";
import { clockTime } from "../../words/format";
import { EditContext } from "./edit_context";
import { LongText } from "./long_text";
import { MediaList } from "./media";
import { MessageActions } from "./message_actions";
import { useConversation, useIsTurnOpen } from "./session_context";

export function SaidRow({ event, isLast }: { event: UserMessage; isLast: boolean }) {
  const { t } = useWords();
  const text = plainText(event.message.content);
  const isOthers = event.author.userId !== "owner";
  const isPrimed = event.sourceTag === "priming_script";
  const block = event.message.content.find((it) => it.type === "text");
  return (
    <>
      <span className="mark"><span className="node" /></span>
      <div>
        <div className="words">
          <div lang={languageOf(text)} className="prose">
            {isOthers || isPrimed ? <p className="author">{isOthers ? event.author.displayName : null}{isPrimed ? <span className="quiet"> {t("fromScript")}</span> : null}</p> : null}
            {block?.type === "text" && typeof block.text !== "string" ? <LongText text={block.text}>{(whole) => <Markdown text={whole} />}</LongText> : <Markdown text={text} />}
            <MediaList media={mediaOf(event.message.content)} />
          </div>
          <time className="num" dateTime={new Date(event.ts).toISOString()}>{clockTime(event.ts)}</time>
        </div>
        <div className="foot on-hover">
          <span className="acts">
            {isLast ? <LastMessageActions event={event} /> : null}
            <MessageActions event={event} text={text} isMessage />
          </span>
        </div>
      </div>
    </>
  );
}

function LastMessageActions({ event }: { event: UserMessage }) {
  const { t } = useWords();
  const { actions } = useConversation();
  const isTurnOpen = useIsTurnOpen();
  const isOnline = useIsOnline();
  const edit = useContext(EditContext);
  const isOff = !isOnline || isTurnOpen;
  return (
    <>
      <button className="tool" aria-label={t("editMessage")} title={t("editMessage")} disabled={isOff} onClick={() => edit.begin(event)}><Icon name="pencil" /></button>
      <button className="tool" aria-label={t("askAgain")} title={t("askAgain")} disabled={isOff} onClick={() => void actions.sayAgain(event, "", [])}><Icon name="retry" /></button>
    </>
  );
}

export function SteerRow({ event }: { event: HarnessItem }) {
  const { t } = useWords();
  const text = shown(event.item.content);
  return (
    <>
      <span className="mark"><Icon name="steer" /></span>
      <div className="words"><span className="kind">{t("steer")}</span><span lang={languageOf(text)}>{text}</span><span className="num">{clockTime(event.ts)}</span></div>
    </>
  );
}
