//! Reminders that tell a session about skills.
//!
//! The first message brings the whole list, a later one only what changed since. What was told is
//! read off the reminders in the model's context, so after a branch it is told again.

use std::fmt::Write;

use kith_vocab::event::Body;
use kith_vocab::event::control::{SkillEntry, SkillIndexDelta, SkillIndexSnapshot};
use kith_vocab::event::messages::{
    HarnessItem, HarnessItemEvent, HarnessKind, Origin, Trust, Visibility,
};
use kith_vocab::json::Json;

use super::manifest::cut;

/// Characters of all descriptions in one reminder; beyond it each gets an equal share.
pub const SKILL_LISTING_CHARS_MAX: usize = 16 * 1024;

/// The events that follow a new message: none when the model already knows the list.
pub fn skill_news(told: Option<&[SkillEntry]>, disk: &[SkillEntry]) -> Vec<Body> {
    let Some(told) = told else {
        // An empty list is not told: it would cost tokens in every conversation without skills.
        if disk.is_empty() {
            return Vec::new();
        }
        let snapshot = SkillIndexSnapshot { entries: disk.to_vec() };
        let data = Json::of(&snapshot);
        let item = reminder(HarnessKind::SkillListing, listing(disk), data);
        return vec![Body::SkillIndexSnapshot(snapshot), item];
    };
    let Some(delta) = delta(told, disk) else { return Vec::new() };
    let item = reminder(HarnessKind::SkillDelta, changes(&delta), Json::of(&delta));
    vec![Body::SkillIndexDelta(delta), item]
}

/// What the model was told, read off the `data` of the last `skill_listing` in its context and of
/// the `skill_delta`s after it; `None` if nothing.
///
/// A reminder that cannot be understood leaves nothing to rely on: better told twice.
pub fn told<'a>(
    listing: Option<&Json>,
    deltas: impl IntoIterator<Item = &'a Json>,
) -> Option<Vec<SkillEntry>> {
    let SkillIndexSnapshot { mut entries } = listing?.read().ok()?;
    for delta in deltas {
        entries = apply(entries, delta.read().ok()?);
    }
    Some(entries)
}

/// The difference between two lists, sorted by name; `None` if they are equal.
pub fn delta(told: &[SkillEntry], now: &[SkillEntry]) -> Option<SkillIndexDelta> {
    let find = |entries: &[SkillEntry], name: &str| {
        entries.iter().find(|entry| entry.name == name).cloned()
    };
    let mut delta = SkillIndexDelta { added: Vec::new(), changed: Vec::new(), removed: Vec::new() };
    for entry in now {
        match find(told, &entry.name) {
            None => delta.added.push(entry.clone()),
            Some(old) if old != *entry => delta.changed.push(entry.clone()),
            Some(_) => (),
        }
    }
    let gone = told.iter().filter(|entry| find(now, &entry.name).is_none());
    delta.removed.extend(gone.map(|entry| entry.name.clone()));
    delta.added.sort_by(|a, b| a.name.cmp(&b.name));
    delta.changed.sort_by(|a, b| a.name.cmp(&b.name));
    delta.removed.sort();
    let is_empty = delta.added.is_empty() && delta.changed.is_empty() && delta.removed.is_empty();
    (!is_empty).then_some(delta)
}

fn apply(mut entries: Vec<SkillEntry>, delta: SkillIndexDelta) -> Vec<SkillEntry> {
    let is_replaced = |name: &String| {
        delta.removed.contains(name) || delta.changed.iter().any(|it| it.name == *name)
    };
    entries.retain(|entry| !is_replaced(&entry.name));
    entries.extend(delta.changed);
    entries.extend(delta.added);
    entries
}

fn reminder(kind: HarnessKind, content: String, data: Json) -> Body {
    let item = HarnessItem {
        kind,
        origin: Origin::Skill,
        content: content.into(),
        visibility: Visibility::Hidden,
        data: Some(data),
    };
    // Whatever is listed is the owner's own, or of someone the owner trusts as much.
    Body::HarnessItem(HarnessItemEvent::new(item, Trust::Owner))
}

fn listing(entries: &[SkillEntry]) -> String {
    let mut text =
        "Skills, by name and purpose. When one fits the task, load it with the `skill` tool first:"
            .to_owned();
    put_entries(&mut text, entries, share(entries.len(), entries));
    text
}

fn changes(delta: &SkillIndexDelta) -> String {
    let mut text = "The skills have changed.".to_owned();
    let n_listed = delta.added.len() + delta.changed.len();
    let share = share(n_listed, delta.added.iter().chain(&delta.changed));
    for (title, entries) in [
        ("New:", &delta.added),
        ("Changed, to be loaded again before they are used:", &delta.changed),
    ] {
        if !entries.is_empty() {
            put(&mut text, format_args!("\n{title}"));
            put_entries(&mut text, entries, share);
        }
    }
    if !delta.removed.is_empty() {
        put(&mut text, format_args!("\nGone: {}", delta.removed.join(", ")));
    }
    text
}

/// How many characters each description gets.
fn share<'a>(n_entries: usize, entries: impl IntoIterator<Item = &'a SkillEntry>) -> usize {
    let n_chars: usize = entries.into_iter().map(|it| it.description.chars().count()).sum();
    if n_chars <= SKILL_LISTING_CHARS_MAX {
        return usize::MAX;
    }
    SKILL_LISTING_CHARS_MAX / n_entries.max(1)
}

fn put_entries(text: &mut String, entries: &[SkillEntry], description_chars_max: usize) {
    for SkillEntry { name, display_name, description, .. } in entries {
        put(text, format_args!("\n- {name}"));
        if !display_name.eq_ignore_ascii_case(name) {
            put(text, format_args!(" (\"{display_name}\")"));
        }
        put(text, format_args!(": {}", cut(description, description_chars_max).0));
    }
}

fn put(text: &mut String, more: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(more).unwrap_or_default();
}

#[cfg(test)]
mod tests;
