//! The runtime's own words to the model.

use kith_vocab::event::messages::Ledger;

/// Stands for the result of a call that has none.
pub(crate) const NO_RESULT: &str =
    "Interrupted: there is no result. The call may or may not have taken effect.";
pub(crate) const NO_OUTPUT: &str = "(no output)";
/// Stands first when a history begins with an answer.
pub(crate) const BEGINNING: &str = "(The conversation begins with your own words.)";
/// Stands last when there is nothing new to answer.
pub(crate) const CONTINUE: &str = "(Continue.)";

const TAG: &str = "system-reminder";

/// The envelope of a harness item. Its content cannot close it.
pub fn reminder(content: &str) -> String {
    format!("<{TAG}>\n{}\n</{TAG}>", escape(content))
}

/// Takes the `<` from whatever could pass for an opening or closing reminder tag.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from_bracket) = rest.split_at(at);
        escaped.push_str(before);
        escaped.push_str(if opens_a_tag(&from_bracket[1..]) { "&lt;" } else { "<" });
        rest = &from_bracket[1..];
    }
    escaped.push_str(rest);
    escaped
}

// A model does not parse, it reads: white space, a slash and capitals make no difference to it.
fn opens_a_tag(after_bracket: &str) -> bool {
    let name = after_bracket.trim_start_matches(|ch: char| ch.is_whitespace() || ch == '/');
    name.get(..TAG.len()).is_some_and(|start| start.eq_ignore_ascii_case(TAG))
}

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
    text
}
