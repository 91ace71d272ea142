//! The runtime's own words to the model.

use kith_vocab::event::messages::{HarnessItemEvent, Ledger};
use kith_vocab::ids::EventId;
use kith_vocab::text::{FramedText, Text};

use super::escaped::EscapedTexts;
use super::marks::{self, REMINDER};
use super::untrusted::{self, TextOrigin};

/// Stands for the result of a call that has none.
pub(crate) const NO_RESULT: &str =
    "Interrupted: there is no result. The call may or may not have taken effect.";
pub(crate) const NO_OUTPUT: &str = "(no output)";
/// Stands first when a history begins with an answer.
pub(crate) const BEGINNING: &str = "(The conversation begins with your own words.)";
/// Stands last when there is nothing new to answer.
pub(crate) const CONTINUE: &str = "(Continue.)";

/// Stands last in a request for a summary. The headings are read by [`crate::ledger`].
pub(crate) const SUMMARISE: &str = "\
The conversation is about to be shortened: your next words will replace everything above. Do not call \
tools and do not answer the last message now. Write a summary from which you can go on without the \
original, in the language of the conversation, under exactly these headings:

## Facts
## Decisions
## Open tasks
## Preferences
## Done

Use one bullet (`- `) per point. Keep names, numbers, identifiers, paths and exact wording that may be \
needed again. List every task that was asked for and is not finished under Open tasks, and finished \
ones under Done. If a message is still unanswered, say what it asks for under Open tasks.";
/// Stands in a request for a summary where the middle of a result was left out.
pub(crate) const RESULT_CUT: &str = "\n[…]\n";

/// Stands in a request for a summary where the middle of a message was left out.
pub(crate) fn left_out(n_bytes: usize) -> String {
    format!("\n[… {n_bytes} bytes were left out here: the text is too long to be shown whole …]\n")
}

/// Told after a summary that was made of shortened messages.
pub(crate) const SUMMARY_OF_CUT_TEXTS: &str = "\
An earlier message was too long to be shown to you whole. Of it, the summary above covers only the beginning \
and the end. If the rest is needed, say so and ask for it in parts.";

/// A harness item as the model reads it: in its envelope, and what is not the owner's own in a block
/// of its own within.
pub(crate) fn reminder_of(
    id: EventId,
    event: &HarnessItemEvent,
    escaped: &mut EscapedTexts,
) -> FramedText {
    let item = &event.item;
    let (trust, source) = (event.trust, item.kind.name());
    let origin = TextOrigin { event: id, trust, source, author: event.author.as_ref() };
    let quoted = untrusted::quoted(&origin, &item.content, escaped);
    reminder(&quoted, escaped)
}

/// The envelope of a harness item. Its content cannot close it: no mark begins in one piece of a
/// quoted text and ends in the next.
pub(crate) fn reminder(content: &FramedText, escaped: &mut EscapedTexts) -> FramedText {
    let [before, _, after] = content.pieces();
    let [before, after] = [before, after].map(|it| marks::escape(it, &marks::ENVELOPE));
    let (before, after) = (format!("<{REMINDER}>\n{before}"), format!("{after}\n</{REMINDER}>"));
    FramedText::new(&before, escaped.escape(content.text(), marks::ENVELOPE), &after)
}

/// A thought of a script. It ends with a blank line, because texts of an answer are joined.
pub(crate) fn thought(text: &Text, escaped: &mut EscapedTexts) -> FramedText {
    FramedText::new("<thought>", escaped.escape(text, marks::THOUGHT), "</thought>\n\n")
}

/// A summary may quote any author, so marks in it are escaped.
pub(crate) fn summary(summary: &str, ledger: &Ledger) -> String {
    let mut text = format!("Summary of the conversation so far:\n\n{summary}");
    for (title, entries) in [
        ("Identifiers", &ledger.identifiers),
        ("Paths", &ledger.paths),
        ("Open tasks", &ledger.open_tasks),
    ] {
        if !entries.is_empty() {
            text.push_str("\n\n");
            text.push_str(title);
            text.push(':');
            for entry in entries {
                text.push_str("\n- ");
                text.push_str(entry);
            }
        }
    }
    marks::escape(&text, &marks::ALL).into_owned()
}
