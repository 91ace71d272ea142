//! What a log must remember to judge the next event.
//!
//! The reader and the writer ask the same questions here, so an event that would make a file
//! unreadable is refused before it is written, under the name the reader would give it.

use std::collections::HashMap;

use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use kith_vocab::validate::validate;

use crate::damage::{DamageCode, Flaw};
use crate::line::{Head, LineHash};

/// Invariant: holds exactly the events before `marks.next_seq`.
#[derive(Debug)]
pub(crate) struct Past {
    marks: Marks,
    // An open session of 100,000 events has this in memory: an id and a byte each, nothing more.
    kinds: HashMap<EventId, Kind>,
}

/// Everything but the ids; copied to come back to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    next_seq: u64,
    last_hash: LineHash,
    has_instructions: bool,
    has_toolset: bool,
    has_asked_a_model: bool,
}

impl Marks {
    pub(crate) fn last_hash(&self) -> LineHash {
        self.last_hash
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tree,
    Control,
}

impl Past {
    pub(crate) fn after_header(hash: LineHash) -> Past {
        let marks = Marks {
            next_seq: 1,
            last_hash: hash,
            has_instructions: false,
            has_toolset: false,
            has_asked_a_model: false,
        };
        Past { marks, kinds: HashMap::new() }
    }

    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.marks.next_seq
    }

    pub(crate) fn last_hash(&self) -> LineHash {
        self.marks.last_hash
    }

    pub(crate) fn head(&self) -> Option<Head> {
        let seq = self.marks.next_seq - 1;
        (seq > 0).then_some(Head { seq, hash: self.marks.last_hash })
    }

    /// Takes the event in if it may follow; its line's hash is told by [`Past::set_last_hash`].
    pub(crate) fn admit(&mut self, event: &Event) -> Result<(), Flaw> {
        self.judge(event)?;
        match &event.body {
            Body::InstructionSnapshot(_) => self.marks.has_instructions = true,
            Body::ToolsetSnapshot(_) => self.marks.has_toolset = true,
            Body::ModelRequested(_) => self.marks.has_asked_a_model = true,
            _ => (),
        }
        let kind = if event.is_tree() { Kind::Tree } else { Kind::Control };
        self.kinds.insert(event.id, kind);
        self.marks.next_seq += 1;
        Ok(())
    }

    /// Takes all events in, or none.
    pub(crate) fn admit_all(&mut self, events: &[Event]) -> Result<(), Flaw> {
        let before = self.marks;
        for (n_admitted, event) in events.iter().enumerate() {
            if let Err(flaw) = self.admit(event) {
                self.forget(before, events.get(..n_admitted).unwrap_or_default());
                return Err(flaw);
            }
        }
        Ok(())
    }

    pub(crate) fn set_last_hash(&mut self, hash: LineHash) {
        self.marks.last_hash = hash;
    }

    /// Goes back to `marks`, which were taken before `events` were admitted.
    pub(crate) fn forget(&mut self, marks: Marks, events: &[Event]) {
        for event in events {
            self.kinds.remove(&event.id);
        }
        self.marks = marks;
    }

    fn judge(&self, event: &Event) -> Result<(), Flaw> {
        let Marks { next_seq, has_instructions, has_toolset, has_asked_a_model, .. } = self.marks;
        if event.seq != next_seq {
            let detail = format!("its `seq` is {} where {next_seq} follows", event.seq);
            return Err(Flaw::wrong(DamageCode::NonMonotonicSeq, detail));
        }
        if self.kinds.contains_key(&event.id) {
            let detail = format!("the id `{}` stands in an earlier event", event.id);
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
            return Err(invalid(format!("a session has one `{name}`")));
        }
        if has_asked_a_model {
            return Err(invalid(format!("`{name}` stands after the first `model_requested`")));
        }
        Ok(())
    }

    fn judge_parent(&self, event: &Event) -> Result<(), Flaw> {
        let Some(parent) = event.parent_id else { return Ok(()) };
        if !event.is_tree() {
            let detail = "`parentId` on a control event";
            return Err(Flaw::wrong(DamageCode::InvalidEvent, detail));
        }
        let problem = match self.kinds.get(&parent) {
            Some(Kind::Tree) => return Ok(()),
            Some(Kind::Control) => "is not part of the conversation",
            None => "is no earlier event",
        };
        Err(Flaw::wrong(DamageCode::InvalidParent, format!("its parent `{parent}` {problem}")))
    }
}
