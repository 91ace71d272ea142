//! The runtime's own words to the model.

use kith_vocab::event::messages::{HarnessItemEvent, Ledger, Trust};
use kith_vocab::ids::EventId;

use super::marks::{self, REMINDER};
use super::untrusted::{self, Origin};

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
pub(crate) fn reminder_of(id: EventId, event: &HarnessItemEvent) -> String {
    let item = &event.item;
    if event.trust == Trust::Owner {
        return reminder(&item.content);
    }
    let (trust, source) = (event.trust, item.kind.name());
    let origin = Origin { event: id, trust, source, author: event.author.as_ref() };
    reminder(&untrusted::quoted(&origin, &item.content))
}

/// The envelope of a harness item. Its content cannot close it.
pub fn reminder(content: &str) -> String {
    format!("<{REMINDER}>\n{}\n</{REMINDER}>", marks::escape(content, &marks::ENVELOPE))
}

/// A thought of a script. It ends with a blank line, because texts of an answer are joined.
pub(crate) fn thought(text: &str) -> String {
    format!("<thought>{}</thought>\n\n", marks::escape(text, &marks::THOUGHT))
}

/// It may repeat what anyone said, so nothing in it can pass for a mark.
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
    marks::escape(&text, &marks::ALL)
}
