//! A call in a few words, wherever people follow a turn: `read_file USER.md · 16 lines`, or why it failed.

use kith_vocab::event::messages::Outcome;

use super::styled::fitted;
use super::words::{ScreenLanguage, ScreenText};

/// Columns of a call's argument.
const ARGUMENT_COLUMNS_MAX: usize = 60;
/// What the model is told of the outcome in the text itself.
const OUTCOME_PREFIXES: [&str; 3] = ["Refused: ", "已拒绝：", "Interrupted: "];

/// `16 lines` of a call that is done; else how it ended and the first line that says why.
pub(crate) fn result_in_words(outcome: Outcome, text: &str, language: ScreenLanguage) -> String {
    let how = match outcome {
        Outcome::Done => {
            return match text.lines().count() {
                1 => format!("1 {}", language.say(ScreenText::Line)),
                n_lines => format!("{n_lines} {}", language.say(ScreenText::Lines)),
            };
        }
        Outcome::Failed => ScreenText::Failed,
        Outcome::Refused => ScreenText::Refused,
        Outcome::Cancelled => ScreenText::Stopped,
        Outcome::Interrupted => ScreenText::Interrupted,
    };
    let why = without_outcome(text).lines().next().unwrap_or_default();
    language.labelled(how, &language.sentence(why))
}

/// The text of a result where the outcome is said beside it.
pub(crate) fn without_outcome(text: &str) -> &str {
    OUTCOME_PREFIXES.into_iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text)
}

/// The argument that says most: a path, a pattern, else the first text.
pub(crate) fn argument_of(input: &str) -> String {
    let Ok(serde_json::Value::Object(members)) = serde_json::from_str(input) else {
        return String::new();
    };
    let named = ["path", "file", "command", "pattern", "query", "url", "name"];
    let by_name = named.into_iter().find_map(|name| members.get(name)?.as_str());
    let text = by_name.or_else(|| members.values().find_map(serde_json::Value::as_str));
    text.map_or_else(String::new, |text| fitted(text, ARGUMENT_COLUMNS_MAX))
}
