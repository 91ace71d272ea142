//! Reminders about files and dates that changed after a session was given its instructions.
//!
//! The instructions of a session never change; a change is told beside the conversation, once. Each
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
use crate::snapshot::display_path;
use crate::snapshot::time::{TimeFacts, moment};

/// Bytes of files that all notices of one turn may show. Beyond that they only name the file.
pub const NEWS_BYTES_MAX: usize = 32 * 1024;

/// The facts in the reminders that are in the model's context, by their `data`.
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
    /// Data in another form is ignored: it is about something else.
    pub fn of<'a>(
        dates: impl Iterator<Item = &'a Json>,
        notices: impl Iterator<Item = &'a Json>,
    ) -> KnownFacts {
        let date = dates.filter_map(|it| it.read::<DateFacts>().ok()).last().map(|it| it.date);
        let files = notices.filter_map(|it| it.read::<FileFacts>().ok());
        KnownFacts { date, files: files.map(|it| (it.path.clone(), it)).collect() }
    }
}

/// The reminders for a model that was given `frozen` and has been told what is in `known`.
pub fn reminders(
    frozen: &InstructionSnapshot,
    known: &KnownFacts,
    current: &CurrentFiles,
    now_ms: u64,
) -> Vec<HarnessItem> {
    let mut reminders = Vec::new();
    reminders.extend(date_change(frozen, known, current, now_ms));
    reminders.extend(file_notices(frozen, known, current));
    reminders
}

fn date_change(
    frozen: &InstructionSnapshot,
    known: &KnownFacts,
    current: &CurrentFiles,
    now_ms: u64,
) -> Option<HarnessItem> {
    // A clock that shows no date gives none to tell.
    let moment = current.moment(now_ms).ok()?;
    let today = moment.today();
    let told = known.date.or_else(|| date_of(frozen, current))?;
    if told == today {
        return None;
    }
    let zone = &current.time_zone;
    let text = format!("The date has changed: today is {} ({zone}).", moment.date_in_words());
    Some(item(HarnessKind::DateChange, text, &DateFacts { date: today }))
}

fn date_of(frozen: &InstructionSnapshot, current: &CurrentFiles) -> Option<Date> {
    let time = frozen.sections.iter().find(|it| it.kind == SectionKind::Time)?;
    let facts = time.data.as_ref().and_then(|data| data.read::<TimeFacts>().ok());
    // A snapshot without them is older than they are; it began when it was frozen.
    facts
        .map(|it| it.date)
        .or_else(|| Some(moment(time.frozen_at, &current.time_zone).ok()?.today()))
}

fn file_notices(
    frozen: &InstructionSnapshot,
    known: &KnownFacts,
    current: &CurrentFiles,
) -> Vec<HarnessItem> {
    let sources = frozen.sections.iter().filter_map(|it| it.sources.as_ref()).flatten();
    let given: Vec<(&str, &str)> = sources.filter_map(text_of).collect();
    let mut paths: Vec<&str> = given.iter().map(|(path, _)| *path).collect();
    paths.extend(current.files.iter().map(|now| now.path.as_str()));
    paths.extend(known.files.keys().map(String::as_str));

    let mut notices = Vec::new();
    let mut bytes_left = NEWS_BYTES_MAX;
    for (place, path) in paths.iter().enumerate() {
        if paths[..place].contains(path) || current.is_past_note(path) {
            continue;
        }
        let file = FileComparison {
            path,
            given: given.iter().find(|(given, _)| given == path).map(|(_, text)| *text),
            now: current.files.iter().find(|now| now.path == *path),
            known: known.files.get(*path),
            is_left_out: current.left_out.contains(*path),
        };
        if let Some(facts) = file.news() {
            let text = file.in_words(&display_path(current.audience, Path::new(path)), bytes_left);
            bytes_left = bytes_left.saturating_sub(text.len());
            notices.push(item(HarnessKind::RuntimeNotice, text, &facts));
        }
    }
    notices
}

fn text_of(source: &Source) -> Option<(&str, &str)> {
    Some((source.path.as_deref()?, source.content.as_deref()?))
}

/// One file: its text in the instructions, its text now, and what the model was told of it.
struct FileComparison<'a> {
    path: &'a str,
    given: Option<&'a str>,
    now: Option<&'a CurrentFile>,
    known: Option<&'a FileFacts>,
    is_left_out: bool,
}

impl FileComparison<'_> {
    /// The facts to tell, unless the model knows them.
    fn news(&self) -> Option<FileFacts> {
        let is_known = match (self.known, self.given, self.now) {
            (Some(known), _, Some(now)) => known.sha256.as_deref() == Some(&now.sha256),
            (Some(known), _, None) => known.sha256.is_none() && known.unusable == self.is_left_out,
            (None, Some(given), Some(now)) => given == now.content,
            (None, given, now) => given.is_none() && now.is_none(),
        };
        let facts = FileFacts {
            path: self.path.to_owned(),
            sha256: self.now.map(|now| now.sha256.clone()),
            unusable: self.now.is_none() && self.is_left_out,
        };
        (!is_known).then_some(facts)
    }

    fn in_words(&self, shown: &str, bytes_max: usize) -> String {
        let (lead, before, now) = match (self.given, self.now) {
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
            (Some(given), Some(now)) if given == now.content => {
                return format!("The file `{shown}` is again as your instructions have it.");
            }
            (Some(given), Some(now)) => (
                format!(
                    "The file `{shown}` has changed. The new text holds from now on; it differs \
                     from your instructions in this:"
                ),
                given,
                &now.content,
            ),
            (None, Some(now)) => {
                let lead = format!(
                    "The file `{shown}` is not part of your instructions yet. It holds from now on:"
                );
                (lead, "", &now.content)
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
