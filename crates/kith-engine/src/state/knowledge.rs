//! What the model knows from reminders that it still sees.
//!
//! It is read from the `data` of the reminders in the model's context: a branch or a compaction that
//! removes a reminder removes the knowledge. Of reminders about one subject only the newest counts,
//! so the list grows with the number of subjects and not with the age of the session.

use std::collections::HashSet;

use kith_vocab::event::control::{SkillEntry, SkillIndexDelta};
use kith_vocab::event::messages::{HarnessItemEvent, HarnessKind};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::snapshot::InstructionSnapshot;
use serde::{Deserialize, Serialize};

use super::State;

/// Beyond that the oldest is forgotten, so the model may be reminded once more.
pub const REMINDERS_KNOWN_MAX: usize = 256;

/// What the model knows without having asked; news are the differences to it.
#[derive(Clone, Copy, Debug)]
pub struct ModelKnowledge<'a> {
    /// The instructions that the session began with.
    pub snapshot: Option<&'a InstructionSnapshot>,
    /// The last skill index on record with its deltas; `None` before the first.
    pub skills: Option<&'a [SkillEntry]>,
    reminders: &'a Reminders,
}

/// The reminders with `data` in the model's context, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reminders {
    items: Vec<Reminder>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Reminder {
    id: EventId,
    event: HarnessItemEvent,
    /// Its subject, if a later reminder about the same subject replaces it.
    subject: Option<String>,
}

impl<'a> ModelKnowledge<'a> {
    /// The `data` of the reminders of this kind, oldest first.
    pub fn data(&self, kind: HarnessKind) -> impl Iterator<Item = &'a Json> + use<'a> {
        let of_kind = self.reminders.items.iter().filter(move |it| it.event.item.kind == kind);
        of_kind.filter_map(|it| it.event.item.data.as_ref())
    }
}

impl State {
    pub fn knowledge(&self) -> ModelKnowledge<'_> {
        ModelKnowledge {
            snapshot: self.snapshot.as_deref(),
            skills: self.skills.as_deref(),
            reminders: &self.conversation.reminders,
        }
    }

    /// The reminders that a compaction which keeps the conversation from this event on must say
    /// again: they still hold, and the model would see them no more.
    pub fn reminders_to_repeat(&self, first_kept: EventId) -> Vec<HarnessItemEvent> {
        let path = self.tree.path();
        let kept = path.iter().map(|node| node.event.id).skip_while(|id| *id != first_kept);
        let kept: HashSet<EventId> = kept.collect();
        let reminders = self.conversation.reminders.items.iter();
        let lost = reminders.filter(|it| it.holds_until_replaced() && !kept.contains(&it.id));
        // The result that one of them had joined is gone too.
        lost.map(|it| HarnessItemEvent { merged_into: None, ..it.event.clone() }).collect()
    }

    pub(super) fn index_skills(&mut self, delta: &SkillIndexDelta) {
        let skills = self.skills.get_or_insert_default();
        skills.retain(|it| !delta.removed.contains(&it.name));
        for entry in delta.added.iter().chain(&delta.changed) {
            match skills.iter_mut().find(|it| it.name == entry.name) {
                Some(known) => known.clone_from(entry),
                None => skills.push(entry.clone()),
            }
        }
    }
}

impl Reminders {
    pub(super) fn add(&mut self, id: EventId, event: &HarnessItemEvent) {
        let Some(data) = &event.item.data else { return };
        let (kind, subject) = (event.item.kind, subject_of(event.item.kind, data));
        self.items.retain(|it| {
            let replaced = subject.is_some() && it.event.item.kind == kind && it.subject == subject;
            let relisted =
                kind == HarnessKind::SkillListing && it.event.item.kind == HarnessKind::SkillDelta;
            !replaced && !relisted
        });
        if self.items.len() == REMINDERS_KNOWN_MAX {
            self.items.remove(0);
        }
        self.items.push(Reminder { id, event: event.clone(), subject });
    }
}

impl Reminder {
    /// True for a lasting fact; false for one about a moment, such as a recalled memory or a steer.
    fn holds_until_replaced(&self) -> bool {
        match self.event.item.kind {
            HarnessKind::DateChange
            | HarnessKind::SkillListing
            | HarnessKind::SkillDelta
            | HarnessKind::ChannelContext => true,
            HarnessKind::RuntimeNotice => self.subject.is_some(),
            HarnessKind::Attachment | HarnessKind::Memory | HarnessKind::Steer => false,
        }
    }
}

/// The subject of a reminder: there is one date, one skill list and one channel, but many files.
fn subject_of(kind: HarnessKind, data: &Json) -> Option<String> {
    #[derive(Deserialize)]
    struct NoticeSubject {
        path: String,
    }

    match kind {
        HarnessKind::DateChange | HarnessKind::SkillListing | HarnessKind::ChannelContext => {
            Some(String::new())
        }
        // One without a path is about a moment.
        HarnessKind::RuntimeNotice => data.read::<NoticeSubject>().ok().map(|about| about.path),
        HarnessKind::Attachment
        | HarnessKind::SkillDelta
        | HarnessKind::Memory
        | HarnessKind::Steer => None,
    }
}

#[cfg(test)]
mod tests;
