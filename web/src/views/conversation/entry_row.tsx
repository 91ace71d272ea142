// One line of the conversation, whatever it shows.
import { memo } from "react";
import { type Entry, isSameEntry } from "../../log/entries";
import { AnswerRow, ThoughtRow } from "./answer_row";
import { ApprovalRow } from "./approval_row";
import { CallRow, ReadsRow } from "./call_row";
import { ForkRow } from "./fork_row";
import { CompactRow, EndedRow, FailureRow, NoticeRow, PrimedRow, ReminderRow } from "./note_rows";
import { SaidRow, SteerRow } from "./said_row";

export const EntryRow = memo(function EntryRow({ entry }: { entry: Entry }) {
  switch (entry.kind) {
    case "said": return <SaidRow event={entry.event} isLast={entry.isLast} />;
    case "steer": return <SteerRow event={entry.event} />;
    case "answer": return <AnswerRow event={entry.event} text={entry.text} turn={entry.foot} />;
    case "thought": return <ThoughtRow id={entry.key} text={entry.text} />;
    case "call": return <CallRow call={entry.call} isOpen={entry.isOpen} />;
    case "reads": return <ReadsRow id={entry.key} calls={entry.calls} />;
    case "approval": return <ApprovalRow approval={entry.approval} />;
    case "fork": return <ForkRow branches={entry.children} index={entry.index} />;
    case "reminder": return <ReminderRow event={entry.event} />;
    case "compact": return <CompactRow event={entry.event} />;
    case "primed": return <PrimedRow event={entry.event} />;
    case "notice": return <NoticeRow event={entry.event} />;
    case "failure": return <FailureRow event={entry.event} isPending={entry.isPending} />;
    case "ended": return <EndedRow event={entry.event} isLast={entry.isLast} />;
  }
}, (a, b) => isSameEntry(a.entry, b.entry));

/** The classes of a line, by what it shows. */
export function classOf(entry: Entry): string {
  switch (entry.kind) {
    case "said": return "entry said";
    case "steer": return "entry steer";
    case "answer": return "entry answer";
    case "fork": return "entry fork";
    case "reminder":
    case "primed":
    case "notice":
    case "compact": return "entry compact";
    case "failure": return entry.isPending ? "entry error-line" : "entry compact";
    case "ended": return entry.event.reason === "cancelled" ? "entry" : "entry error-line";
    default: return "entry";
  }
}
