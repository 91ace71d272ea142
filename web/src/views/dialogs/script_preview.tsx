// A priming script as the agent will see it.
import { useEffect, useState } from "react";
import { firstLine } from "../../log/text";
import { useApp, useWords } from "../../parts/app_context";
import { Icon, type IconName } from "../../parts/icon";
import type { WordKey } from "../../words/words";

interface Record_ { icon: IconName; who: WordKey | null; text: string }

export function ScriptPreview({ scriptRef, agentName }: { scriptRef: string; agentName: string }) {
  const { t } = useWords();
  const { connection, announcer } = useApp();
  const [shown, setShown] = useState<{ ref: string; title: string; records: Record_[] } | null>(null);
  useEffect(() => {
    let isOver = false;
    connection.call("show_script", { scriptRef }).then(
      ({ script, text }) => {
        if (!isOver) setShown({ ref: scriptRef, title: titleOf(script) ?? scriptRef, records: recordsOf(text) });
      },
      (error: unknown) => announcer.fail(error),
    );
    return () => {
      isOver = true;
    };
  }, [connection, announcer, scriptRef]);
  if (shown?.ref !== scriptRef) return null;
  return (
    <>
      <h3>{shown.title}</h3>
      <p className="quiet">{t("seesAsHappened", { agent: agentName })}</p>
      <ul className="records">
        {shown.records.map((record, index) => (
          <li key={index}><Icon name={record.icon} /><span><span className="who">{record.who === null ? agentName : t(record.who)}</span><br />{record.text}</span></li>
        ))}
      </ul>
    </>
  );
}

function titleOf(script: unknown): string | null {
  const title = typeof script === "object" && script !== null ? (script as { title?: unknown }).title : null;
  return typeof title === "string" ? title : null;
}

const KINDS: [RegExp, IconName, WordKey | null][] = [
  [/human|user|prompting/, "person", "person"],
  [/result/, "file", "result"],
  [/func_call|tool_call|call/, "folder", "call"],
  [/agent|assistant|saying|thought|answer/, "kith", null],
];

/** The records of the file: each begins with `### record <type>`. */
export function recordsOf(text: string): Record_[] {
  return text.split(/^### record /m).slice(1).map((part) => {
    const end = part.indexOf("\n");
    const type = (end < 0 ? part : part.slice(0, end)).trim();
    const [, icon, who] = KINDS.find(([pattern]) => pattern.test(type)) ?? [null, "note" as const, "record" as const];
    return { icon, who, text: beginning(end < 0 ? "" : part.slice(end + 1)) };
  });
}

/** The first words of a record, without the fence around them. */
function beginning(body: string): string {
  const lines = body.split("\n").filter((line) => line.trim() !== "" && !/^(```|~~~)/.test(line.trim()));
  return firstLine(lines.slice(0, 3).join(" "), 200);
}
