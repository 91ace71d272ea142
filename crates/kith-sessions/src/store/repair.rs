//! A new session from the readable part of a damaged one.
//!
//! The damaged file stays as it is. What can be read of the conversation is told in the new one,
//! marked as not lived there, so that no call of it runs and no question of it is asked again.

use kith_vocab::clock::Clock;
use kith_vocab::event::control::{LeafMoved, LeafReason};
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::header::{CloneOrigin, SessionHeader};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::validate::validate;

use super::draft::Draft;
use super::{SessionStore, own_event};
use crate::damage::{DamageCode, Flaw};
use crate::line::Head;
use crate::log::LogError;
use crate::read::Tail;

/// What was saved of a damaged session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The new session.
    pub session_id: SessionId,
    /// How many events were copied.
    pub events: u64,
    /// The first line of the damaged file that could not be read.
    pub lost_from_line: usize,
    pub code: DamageCode,
}

/// What must be known of the readable part before its first event is copied.
#[derive(Default)]
struct Survey {
    last_copied: Option<EventId>,
    last_of_tree: Option<EventId>,
    /// Where the conversation continues from, which may be before its last event.
    leaf: Option<EventId>,
    title: Option<String>,
}

impl SessionStore {
    /// Writes a new session of the same thread from the readable part of a damaged one.
    ///
    /// `header` is the new session's; where it comes from is put in here, and its title if it has
    /// none. `head` is what the desk knows of the damaged one: without it a lost tail does not show.
    pub fn repair(
        &self,
        damaged: SessionId,
        head: Option<&Head>,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<Repaired, LogError> {
        let mut survey = Survey::default();
        let reading = self.read(damaged, head, &mut |event| survey.take(event))?;
        let Tail::Damaged(damage) = reading.tail else {
            return Err(LogError::NotDamaged { path: self.path(damaged) });
        };
        let header = self.header_of_repair(header, &reading.header, &survey)?;
        let session_id = header.session_id;
        let mut draft = Draft::begin(self, &header)?;
        let events = match self.copy(damaged, head, &mut draft) {
            Ok(events) => events,
            Err(error) => {
                draft.abandon();
                return Err(error);
            }
        };
        if survey.leaf != survey.last_of_tree {
            let moved = LeafMoved { to: survey.leaf, reason: LeafReason::Branch };
            let event = own_event(draft.next_seq(), clock, Body::LeafMoved(moved));
            if let Err(error) = draft.add(&[event]) {
                draft.abandon();
                return Err(error);
            }
        }
        draft.finish()?;
        Ok(Repaired { session_id, events, lost_from_line: damage.line, code: damage.code })
    }

    fn header_of_repair(
        &self,
        mut header: SessionHeader,
        damaged: &SessionHeader,
        survey: &Survey,
    ) -> Result<SessionHeader, LogError> {
        // What one thread's people said is not told to those of another.
        let same_thread = header.thread_id == damaged.thread_id
            && header.agent_id == damaged.agent_id
            && header.audience == damaged.audience;
        if !same_thread {
            let path = self.path(header.session_id);
            let detail = "it is not of the thread, agent and audience of the damaged session";
            let flaw = Flaw::wrong(DamageCode::InvalidHeader, detail);
            return Err(LogError::RefusedHeader { path, flaw });
        }
        let event_id = survey.last_of_tree.or(survey.last_copied);
        header.cloned_from =
            event_id.map(|event_id| CloneOrigin { session_id: damaged.session_id, event_id });
        let title = header.meta.title.take().or_else(|| survey.title.clone());
        header.meta.title = title.or_else(|| damaged.meta.title.clone());
        Ok(header)
    }

    fn copy(
        &self,
        damaged: SessionId,
        head: Option<&Head>,
        draft: &mut Draft<'_>,
    ) -> Result<u64, LogError> {
        let mut copied = Ok(0);
        // One by one, so that a session of any length fits into memory; the batches of the
        // damaged file mean nothing here, because the new one exists only when it is whole.
        self.read(damaged, head, &mut |event| {
            let Ok(n_copied) = copied else { return };
            let Some(mut event) = inherited(event) else { return };
            event.seq = draft.next_seq();
            copied = draft.add(&[event]).map(|()| n_copied + 1);
        })?;
        copied
    }
}

impl Survey {
    fn take(&mut self, event: Event) {
        match &event.body {
            Body::LeafMoved(moved) => self.leaf = moved.to,
            Body::SessionTitleUpdated(it) => self.title = Some(it.title.clone()),
            _ => (),
        }
        if event.is_tree() {
            self.last_of_tree = Some(event.id);
            self.leaf = Some(event.id);
        }
        if let Some(event) = inherited(event) {
            self.last_copied = Some(event.id);
        }
    }
}

/// The event as a new session may tell it; `None` for what binds only the old one.
fn inherited(mut event: Event) -> Option<Event> {
    // What was primed stays known as such: whether it is shown depends on it.
    event.source_tag.get_or_insert(SourceTag::Clone);
    // It was valid without the tag, so this asks only whether it may carry it.
    validate(&event).is_ok().then_some(event)
}

#[cfg(test)]
mod tests;
