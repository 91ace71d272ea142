//! Decides whether an event may follow those of a log.
//!
//! The reader and the writer ask the same questions here, so an event that would make a file
//! unreadable is refused before it is written, under the name the reader would give it.
//!
//! An open session must cost little however long it is, so of the ids only the newest are kept.
//! That is enough for nearly every event: ids come from a clock and rise, and a parent is the leaf
//! or stands close by. An id above all that were evicted is certainly new. For any other, which a
//! clock that was set back or a branch to an old message may bring, the older ids are read from the
//! file, and then kept. So nothing is ever guessed.

use std::collections::{HashMap, VecDeque};
use std::io;

use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use kith_vocab::validate::validate;
use serde::{Deserialize, Serialize};

use crate::damage::{DamageCode, Flaw};
use crate::line::{LineHash, LogHead};

/// Ids that are remembered between two batches.
const RECENT_IDS_MAX: usize = 128;

/// Invariant: `order` and `kinds` hold the same ids: the newest events before `marks.next_seq`.
#[derive(Debug)]
pub(crate) struct EventValidator {
    marks: ValidatorMarks,
    order: VecDeque<EventId>,
    kinds: EventKinds,
    /// All older events, as soon as one of them was asked for.
    older: Option<EventKinds>,
}

pub(crate) type EventKinds = HashMap<EventId, EventKind>;

/// Everything but the ids; a copy of it allows to go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ValidatorMarks {
    header: LineHash,
    next_seq: u64,
    last_hash: LineHash,
    has_instructions: bool,
    has_toolset: bool,
    has_asked_a_model: bool,
    last_of_tree: Option<EventId>,
    /// The greatest id that was evicted.
    older_max: Option<EventId>,
}

impl ValidatorMarks {
    pub(crate) fn last_hash(&self) -> LineHash {
        self.last_hash
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventKind {
    Tree,
    Control,
}

/// A validator as it is stored in a checkpoint.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredValidator {
    marks: ValidatorMarks,
    recent: Vec<(EventId, EventKind)>,
}

impl EventValidator {
    pub(crate) fn after_header(hash: LineHash) -> EventValidator {
        let marks = ValidatorMarks {
            header: hash,
            next_seq: 1,
            last_hash: hash,
            has_instructions: false,
            has_toolset: false,
            has_asked_a_model: false,
            last_of_tree: None,
            older_max: None,
        };
        let older = Some(EventKinds::new());
        EventValidator { marks, order: VecDeque::new(), kinds: EventKinds::new(), older }
    }

    /// Reads what [`EventValidator::to_bytes`] wrote; `None` if it is anything else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<EventValidator> {
        // The reason does not matter: a checkpoint that cannot be used is ignored.
        let StoredValidator { marks, recent } = serde_json::from_slice(bytes).ok()?;
        if recent.len() > RECENT_IDS_MAX || marks.next_seq == 0 {
            return None;
        }
        let order = recent.iter().map(|(id, _)| *id).collect();
        Some(EventValidator { marks, order, kinds: recent.into_iter().collect(), older: None })
    }

    /// To be called between two batches.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let kind = |id: &EventId| Some((*id, *self.kinds.get(id)?));
        let recent = self.order.iter().filter_map(kind).collect();
        // Numbers, ids and hashes are always JSON.
        serde_json::to_vec(&StoredValidator { marks: self.marks, recent }).unwrap_or_default()
    }

    pub(crate) fn marks(&self) -> ValidatorMarks {
        self.marks
    }

    pub(crate) fn header_hash(&self) -> LineHash {
        self.marks.header
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.marks.next_seq
    }

    pub(crate) fn last_hash(&self) -> LineHash {
        self.marks.last_hash
    }

    pub(crate) fn head(&self) -> Option<LogHead> {
        let seq = self.marks.next_seq - 1;
        (seq > 0).then_some(LogHead { seq, hash: self.marks.last_hash })
    }

    /// Reads the older ids if only they tell whether these events may follow. To be called before
    /// events are admitted after a checkpoint.
    pub(crate) fn find_older(
        &mut self,
        events: &[Event],
        read: impl FnOnce() -> io::Result<EventKinds>,
    ) -> io::Result<()> {
        let mut named = events.iter().flat_map(|event| [Some(event.id), event.parent_id]);
        let may_be_older =
            |id| self.kind_of(id).is_none() && self.marks.older_max.is_some_and(|max| id <= max);
        if self.older.is_none() && named.any(|id| id.is_some_and(may_be_older)) {
            self.older = Some(read()?);
        }
        Ok(())
    }

    pub(crate) fn has_older(&self) -> bool {
        self.older.is_some()
    }

    pub(crate) fn drop_older(&mut self) {
        self.older = None;
    }

    /// Admits the event if it may follow; [`EventValidator::set_last_hash`] sets its line's hash.
    pub(crate) fn admit(&mut self, event: &Event) -> Result<(), Flaw> {
        self.judge(event)?;
        match &event.body {
            Body::InstructionSnapshot(_) => self.marks.has_instructions = true,
            Body::ToolsetSnapshot(_) => self.marks.has_toolset = true,
            Body::ModelRequested(_) => self.marks.has_asked_a_model = true,
            _ => (),
        }
        let kind = if event.is_tree() { EventKind::Tree } else { EventKind::Control };
        if kind == EventKind::Tree {
            self.marks.last_of_tree = Some(event.id);
        }
        self.order.push_back(event.id);
        self.kinds.insert(event.id, kind);
        self.marks.next_seq += 1;
        Ok(())
    }

    /// Takes all events in, or none. A refusal says the `seq` of the event at fault.
    pub(crate) fn admit_all(&mut self, events: &[Event]) -> Result<(), (u64, Flaw)> {
        let before = self.marks;
        for (n_admitted, event) in events.iter().enumerate() {
            if let Err(flaw) = self.admit(event) {
                self.forget(before, n_admitted);
                return Err((event.seq, flaw));
            }
        }
        Ok(())
    }

    pub(crate) fn set_last_hash(&mut self, hash: LineHash) {
        self.marks.last_hash = hash;
    }

    /// Goes back to `marks`, which were taken before the newest `n_events` were admitted.
    pub(crate) fn forget(&mut self, marks: ValidatorMarks, n_events: usize) {
        for _ in 0..n_events {
            let Some(id) = self.order.pop_back() else { break };
            self.kinds.remove(&id);
        }
        self.marks = marks;
    }

    /// Evicts old ids after a complete batch, which is never undone.
    pub(crate) fn evict(&mut self) {
        if self.order.len() <= RECENT_IDS_MAX {
            return;
        }
        let n_too_many = self.order.len() - RECENT_IDS_MAX;
        for id in self.order.drain(..n_too_many) {
            self.marks.older_max = self.marks.older_max.max(Some(id));
            let kind = self.kinds.remove(&id);
            if let (Some(older), Some(kind)) = (&mut self.older, kind) {
                older.insert(id, kind);
            }
        }
        // A large batch leaves large tables behind.
        self.order.shrink_to(2 * RECENT_IDS_MAX);
        self.kinds.shrink_to(2 * RECENT_IDS_MAX);
    }

    fn kind_of(&self, id: EventId) -> Option<EventKind> {
        if self.marks.last_of_tree == Some(id) {
            return Some(EventKind::Tree);
        }
        self.kinds.get(&id).or_else(|| self.older.as_ref()?.get(&id)).copied()
    }

    fn judge(&self, event: &Event) -> Result<(), Flaw> {
        let ValidatorMarks { next_seq, has_instructions, has_toolset, has_asked_a_model, .. } =
            self.marks;
        if event.seq != next_seq {
            let detail = format!("its `seq` is {}, expected {next_seq}", event.seq);
            return Err(Flaw::wrong(DamageCode::NonMonotonicSeq, detail));
        }
        if self.kind_of(event.id).is_some() {
            let detail = format!("an earlier event has the same id `{}`", event.id);
            return Err(Flaw::wrong(DamageCode::DuplicateEventId, detail));
        }
        self.judge_parent(event)?;
        let invalid = |detail: String| Flaw::wrong(DamageCode::InvalidEvent, detail);
        validate(event).map_err(invalid)?;
        let is_second = match &event.body {
            Body::InstructionSnapshot(_) => has_instructions,
            Body::ToolsetSnapshot(_) => has_toolset,
            _ => return Ok(()),
        };
        let name = event.body.type_name();
        if is_second {
            return Err(invalid(format!("a session can have only one `{name}`")));
        }
        if has_asked_a_model {
            return Err(invalid(format!("`{name}` comes after the first `model_requested`")));
        }
        Ok(())
    }

    fn judge_parent(&self, event: &Event) -> Result<(), Flaw> {
        let Some(parent) = event.parent_id else { return Ok(()) };
        if !event.is_tree() {
            let detail = "`parentId` on a control event";
            return Err(Flaw::wrong(DamageCode::InvalidEvent, detail));
        }
        let problem = match self.kind_of(parent) {
            Some(EventKind::Tree) => return Ok(()),
            Some(EventKind::Control) => "is not part of the conversation",
            None => "is not an earlier event",
        };
        Err(Flaw::wrong(DamageCode::InvalidParent, format!("its parent `{parent}` {problem}")))
    }
}

#[cfg(test)]
mod tests;
