//! What has changed since a session was given its instructions, as reminders for its model.
//!
//! The instructions of a session never change; what did is told beside the conversation, once. Each
//! reminder carries in its `data` what it told, so the reminders in a model's context say what it
//! knows already. Everything here is pure; [`CurrentFiles`] does the reading.

mod difference;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::civil::Date;
use kith_vocab::event::messages::{HarnessItem, HarnessKind, Origin};
use kith_vocab::json::Json;
use kith_vocab::snapshot::{InstructionSnapshot, SectionKind, Source};
use serde::{Deserialize, Serialize};

use crate::snapshot::current::{CurrentFile, CurrentFiles};
use crate::snapshot::shown;
use crate::snapshot::time::{TimeFacts, moment};

/// What all notices of one turn may show of files, in bytes. Beyond that they name the file only.
pub const NEWS_BYTES_MAX: usize = 32 * 1024;

/// What the reminders in the model's context say, by their `data`.
#[derive(Clone, Debug, Default)]
pub struct KnownFacts {
    date: Option<Date>,
    files: BTreeMap<String, FileFacts>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DateFacts {
    date: Date,
}

/// The `data` of a notice about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileFacts {
    path: String,
    /// Of the text as the model may see it; `null` when there is none.
    sha256: Option<String>,
    /// Set when the file is there and cannot be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unusable: bool,
}

impl KnownFacts {
    /// Reads the `data` of `date_change` reminders and of `runtime_notice`s, each oldest first.
    /// What is not of the form written here is about something else.
    pub fn of<'a>(
        dates: impl Iterator<Item = &'a Json>,
        notices: impl Iterator<Item = &'a Json>,
    ) -> KnownFacts {
        let date = dates.filter_map(|it| it.read::<DateFacts>().ok()).last().map(|it| it.date);
        let files = notices.filter_map(|it| it.read::<FileFacts>().ok());
        KnownFacts { date, files: files.map(|it| (it.path.clone(), it)).collect() }
    }
}

/// What the model of a session that was given `frozen`, and has `heard` so much, must be told.
pub fn reminders(
    frozen: &InstructionSnapshot,
    heard: &KnownFacts,
    look: &CurrentFiles,
    now_ms: u64,
) -> Vec<HarnessItem> {
    let mut reminders = Vec::new();
    reminders.extend(date_change(frozen, heard, look, now_ms));
    reminders.extend(file_notices(frozen, heard, look));
    reminders
}

fn date_change(
    frozen: &InstructionSnapshot,
    heard: &KnownFacts,
    look: &CurrentFiles,
    now_ms: u64,
) -> Option<HarnessItem> {
    // A clock that shows no date gives none to tell.
    let moment = look.moment(now_ms).ok()?;
    let today = moment.today();
    let told = heard.date.or_else(|| date_of(frozen, look))?;
    if told == today {
        return None;
    }
    let zone = &look.time_zone;
    let text = format!("The date has changed: today is {} ({zone}).", moment.date_in_words());
    Some(item(HarnessKind::DateChange, text, &DateFacts { date: today }))
}

fn date_of(frozen: &InstructionSnapshot, look: &CurrentFiles) -> Option<Date> {
    let time = frozen.sections.iter().find(|it| it.kind == SectionKind::Time)?;
    let facts = time.data.as_ref().and_then(|data| data.read::<TimeFacts>().ok());
    // A snapshot without them is older than they are; it began when it was frozen.
    facts.map(|it| it.date).or_else(|| Some(moment(time.frozen_at, &look.time_zone).ok()?.today()))
}

fn file_notices(
    frozen: &InstructionSnapshot,
    heard: &KnownFacts,
    look: &CurrentFiles,
) -> Vec<HarnessItem> {
    let sources = frozen.sections.iter().filter_map(|it| it.sources.as_ref()).flatten();
    let given: Vec<(&str, &str)> = sources.filter_map(text_of).collect();
    let mut paths: Vec<&str> = given.iter().map(|(path, _)| *path).collect();
    paths.extend(look.files.iter().map(|seen| seen.path.as_str()));
    paths.extend(heard.files.keys().map(String::as_str));

    let mut notices = Vec::new();
    let mut bytes_left = NEWS_BYTES_MAX;
    for (place, path) in paths.iter().enumerate() {
        if paths[..place].contains(path) || look.is_past_note(path) {
            continue;
        }
        let file = FileComparison {
            path,
            given: given.iter().find(|(given, _)| given == path).map(|(_, text)| *text),
            seen: look.files.iter().find(|seen| seen.path == *path),
            heard: heard.files.get(*path),
            is_left_out: look.left_out.contains(*path),
        };
        if let Some(facts) = file.news() {
            let text = file.in_words(&shown(look.audience, Path::new(path)), bytes_left);
            bytes_left = bytes_left.saturating_sub(text.len());
            notices.push(item(HarnessKind::RuntimeNotice, text, &facts));
        }
    }
    notices
}

fn text_of(source: &Source) -> Option<(&str, &str)> {
    Some((source.path.as_deref()?, source.content.as_deref()?))
}

/// One file: what the instructions have of it, what there is now, what was said about it.
struct FileComparison<'a> {
    path: &'a str,
    given: Option<&'a str>,
    seen: Option<&'a CurrentFile>,
    heard: Option<&'a FileFacts>,
    is_left_out: bool,
}

impl FileComparison<'_> {
    /// What is the case now, unless the model knows.
    fn news(&self) -> Option<FileFacts> {
        let is_known = match (self.heard, self.given, self.seen) {
            (Some(heard), _, Some(seen)) => heard.sha256.as_deref() == Some(&seen.sha256),
            (Some(heard), _, None) => heard.sha256.is_none() && heard.unusable == self.is_left_out,
            (None, Some(given), Some(seen)) => given == seen.content,
            (None, given, seen) => given.is_none() && seen.is_none(),
        };
        let facts = FileFacts {
            path: self.path.to_owned(),
            sha256: self.seen.map(|seen| seen.sha256.clone()),
            unusable: self.seen.is_none() && self.is_left_out,
        };
        (!is_known).then_some(facts)
    }

    fn in_words(&self, shown: &str, bytes_max: usize) -> String {
        let (lead, before, now) = match (self.given, self.seen) {
            (_, None) if self.is_left_out => {
                return format!(
                    "The file `{shown}` can no longer be used: it is unreadable, not a file, or \
                     not safe to trust. What your instructions have of it may be out of date."
                );
            }
            (_, None) => {
                return format!(
                    "The file `{shown}` is gone or empty now. What you were told of it no longer \
                     holds."
                );
            }
            (Some(given), Some(seen)) if given == seen.content => {
                return format!("The file `{shown}` is again as your instructions have it.");
            }
            (Some(given), Some(seen)) => (
                format!(
                    "The file `{shown}` has changed. The new text holds from now on; it differs \
                     from your instructions in this:"
                ),
                given,
                &seen.content,
            ),
            (None, Some(seen)) => {
                let lead = format!(
                    "The file `{shown}` is not part of your instructions yet. It holds from now on:"
                );
                (lead, "", &seen.content)
            }
        };
        let room = bytes_max.saturating_sub(lead.len());
        format!("{lead}\n{}", difference::between(before, now, shown, room))
    }
}

fn item(kind: HarnessKind, content: String, facts: &impl Serialize) -> HarnessItem {
    let (origin, visibility) = (Origin::System, kind.usual_visibility());
    HarnessItem { kind, origin, content: content.into(), visibility, data: Some(Json::of(facts)) }
}

#[cfg(test)]
mod tests;
