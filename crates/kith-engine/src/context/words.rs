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
