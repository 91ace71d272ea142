// A priming script as the agent will see it.
import { useEffect, useState } from "react";
import { useApp, useWords } from "../../parts/app_context";
import { Icon, type IconName } from "../../parts/icon";
import type { WordKey } from "../../words/words";

/** What the preview shows of a record. */
const LINES_MAX = 4;
const CHARS_MAX = 200;

interface PreviewRecord { icon: IconName; who: WordKey | null; text: string }

export function ScriptPreview({ scriptRef, agentName }: { scriptRef: string; agentName: string }) {
  const { t } = useWords();
  const { connection, announcer } = useApp();
  const [shown, setShown] = useState<{ ref: string; title: string; records: PreviewRecord[] } | null>(null);
  useEffect(() => {
    let isOver = false;
    connection.call("show_script", { scriptRef }).then(
      ({ script }) => {
        if (!isOver) setShown({ ref: scriptRef, title: titleOf(script) ?? scriptRef, records: recordsOf(script) });
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
          <li key={index}><Icon name={record.icon} /><span><span className="who">{record.who === null ? agentName : t(record.who)}</span><span className="beginning">{record.text}</span></span></li>
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

/** The records of a script, each with its first lines. */
export function recordsOf(script: unknown): PreviewRecord[] {
  const records = typeof script === "object" && script !== null ? (script as { records?: unknown }).records : null;
  if (!Array.isArray(records)) return [];
  return (records as Record<string, unknown>[]).map((record) => {
    const type = String(record["type"] ?? "");
    const [, icon, who] = KINDS.find(([pattern]) => pattern.test(type)) ?? [null, "note" as const, "record" as const];
    return { icon, who, text: cut(beginning(record)) };
  });
}

function cut(text: string): string {
  const lines = text.trim().split("\n");
  const shown = lines.slice(0, LINES_MAX).join("\n");
  return shown.length > CHARS_MAX || lines.length > LINES_MAX ? `${shown.slice(0, CHARS_MAX)}…` : shown;
}

function beginning(record: Record<string, unknown>): string {
  if (record["arguments"] !== undefined) return `${String(record["name"] ?? "")} ${JSON.stringify(record["arguments"])}`;
  const content = record["content"];
  return typeof content === "string" ? content : JSON.stringify(content ?? record);
}
