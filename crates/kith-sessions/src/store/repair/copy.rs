//! Which events of a damaged session are copied, and how they are linked in the copy.

use std::collections::HashSet;

use kith_vocab::clock::Clock;
use kith_vocab::event::control::{LeafMoved, LeafReason};
use kith_vocab::event::messages::{
    HarnessItem, HarnessItemEvent, HarnessKind, Origin, Trust, Visibility,
};
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::header::{CloneOrigin, SessionHeader};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::validate::validate;

use crate::damage::{DamageCode, Flaw};
use crate::line::LogHead;
use crate::read::IntactLine;
use crate::store::own_event;

/// The reminder to the model where something of the conversation is missing.
pub(crate) const MISSING: &str = "The log of this conversation was damaged. Something that was said or \
    done at this point is missing and cannot be recovered. Do not guess what it was; ask if it matters.";

/// The readable part of a damaged session, gathered before the first event is copied.
#[derive(Default)]
pub(crate) struct ReadablePart {
    last_copied: Option<EventId>,
    last_of_tree: Option<EventId>,
    title: Option<String>,
    /// The messages that stand in the log.
    keys: Vec<String>,
}

impl ReadablePart {
    pub(crate) fn take(&mut self, line: &IntactLine) {
        let IntactLine::Event(event) = line else { return };
        self.keys.extend(event.ingress_key.clone());
        if let Body::SessionTitleUpdated(it) = &event.body {
            self.title = Some(it.title.clone());
        }
        if event.is_tree() {
            self.last_of_tree = Some(event.id);
        }
        if is_inherited(event) {
            self.last_copied = Some(event.id);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.last_copied.is_none()
    }

    pub(crate) fn into_keys(self) -> Vec<String> {
        self.keys
    }

    /// The header of the new session. A refusal says why it cannot be that one.
    pub(crate) fn header_of_repair(
        &self,
        mut header: SessionHeader,
        damaged: SessionId,
        known: Option<&SessionHeader>,
    ) -> Result<SessionHeader, Flaw> {
        // Messages of one thread are not copied into another.
        let same_thread = known.is_none_or(|known| {
            header.thread_id == known.thread_id
                && header.agent_id == known.agent_id
                && header.audience == known.audience
        });
        if !same_thread {
            let detail = "it is not of the thread, agent and audience of the damaged session";
            return Err(Flaw::wrong(DamageCode::InvalidHeader, detail));
        }
        let event_id = self.last_of_tree.or(self.last_copied);
        header.cloned_from = event_id.map(|event_id| CloneOrigin { session_id: damaged, event_id });
        let title = header.meta.title.take().or_else(|| self.title.clone());
        header.meta.title = title.or_else(|| known.and_then(|it| it.meta.title.clone()));
        Ok(header)
    }
}

/// The copy while it is written.
#[derive(Default)]
pub(crate) struct CopiedPart {
    /// Events of the tree that were written.
    tree: HashSet<EventId>,
    seen: HashSet<EventId>,
    last_of_tree: Option<EventId>,
    /// Where the conversation continues from, which may be before its last event.
    leaf: Option<EventId>,
    /// A line was lost since the last event of the tree.
    is_missing: bool,
    seq_max: u64,
    n_events: u64,
}

impl CopiedPart {
    /// Number of events in the copy, reminders about missing ones included.
    pub(crate) fn n_events(&self) -> u64 {
        self.n_events
    }

    /// The events that the copy gets for this line, in order. The caller numbers them.
    pub(crate) fn next(&mut self, line: IntactLine, clock: &dyn Clock) -> Vec<Event> {
        let event = match line {
            IntactLine::Event(event) => *event,
            IntactLine::Lost => {
                self.mark_missing();
                return Vec::new();
            }
        };
        self.seq_max = self.seq_max.max(event.seq);
        // A line that stands twice was said once.
        if !self.seen.insert(event.id) {
            return Vec::new();
        }
        if let Body::LeafMoved(moved) = &event.body
            && moved.to.is_none_or(|to| self.tree.contains(&to))
        {
            self.leaf = moved.to;
        }
        let Some(mut event) = inheritable(event) else { return Vec::new() };
        if let Body::HarnessItem(it) = &mut event.body {
            it.merged_into = it.merged_into.filter(|result| self.tree.contains(result));
        }
        if event.parent_id.is_none_or(|parent| self.tree.contains(&parent)) {
            return vec![event];
        }
        // The parent is lost: a reminder that says so becomes the parent, after the last event.
        let notice = CopiedPart::notice(self.last_of_tree, clock);
        event.parent_id = Some(notice.id);
        vec![notice, event]
    }

    /// The events that end the copy.
    pub(crate) fn end(&mut self, head: Option<&LogHead>, clock: &dyn Clock) -> Vec<Event> {
        let is_cut = head.is_some_and(|head| self.seq_max < head.seq);
        if self.n_events > 0 && (self.is_missing || is_cut) {
            return vec![CopiedPart::notice(self.leaf, clock)];
        }
        if self.leaf == self.last_of_tree {
            return Vec::new();
        }
        let moved = LeafMoved { to: self.leaf, reason: LeafReason::Branch };
        vec![own_event(0, clock, Body::LeafMoved(moved))]
    }

    pub(crate) fn mark_missing(&mut self) {
        self.is_missing = true;
    }

    pub(crate) fn record_written(&mut self, event: &Event) {
        self.n_events += u64::from(event.source_tag.is_some());
        if event.is_tree() {
            self.tree.insert(event.id);
            (self.last_of_tree, self.leaf) = (Some(event.id), Some(event.id));
            self.is_missing = false;
        }
    }

    fn notice(parent: Option<EventId>, clock: &dyn Clock) -> Event {
        let item = HarnessItem {
            kind: HarnessKind::RuntimeNotice,
            origin: Origin::System,
            content: MISSING.into(),
            visibility: Visibility::Compact,
            data: None,
        };
        let body = Body::HarnessItem(HarnessItemEvent::new(item, Trust::Owner));
        let source_tag = Some(SourceTag::Clone);
        Event { parent_id: parent, source_tag, ..own_event(0, clock, body) }
    }
}

/// The event as a new session may tell it; `None` for what binds only the old one.
fn inheritable(mut event: Event) -> Option<Event> {
    // Primed events stay marked as such: whether they are shown depends on it.
    event.source_tag.get_or_insert(SourceTag::Clone);
    // It was valid without the tag, so this asks only whether it may carry it.
    validate(&event).is_ok().then_some(event)
}

fn is_inherited(event: &Event) -> bool {
    inheritable(event.clone()).is_some()
}
