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

use super::draft::SessionDraft;
use super::{SessionStore, own_event};
use crate::damage::{Damage, DamageCode, Flaw};
use crate::journal::RepairedSession;
use crate::line::Head;
use crate::log::LogError;
use crate::read::Tail;

/// What must be known of the readable part before its first event is copied.
#[derive(Default)]
pub(crate) struct ReadablePart {
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
    ) -> Result<RepairedSession, LogError> {
        let session_id = header.session_id;
        let mut readable = ReadablePart::default();
        let reading = self.read(damaged, head, &mut |event| readable.take(event))?;
        let Tail::Damaged(damage) = reading.tail else {
            return Err(LogError::NotDamaged { path: self.path(damaged) });
        };
        let header = readable
            .header_of_repair(header, &reading.header)
            .map_err(|flaw| LogError::RefusedHeader { path: self.path(session_id), flaw })?;
        let mut draft = SessionDraft::begin(self, &header)?;
        let n_events = match self.copy(damaged, head, &mut draft) {
            Ok(n_events) => n_events,
            Err(error) => {
                draft.abandon();
                return Err(error);
            }
        };
        if let Some(moved) = readable.leaf_moved(draft.next_seq(), clock)
            && let Err(error) = draft.add(&[moved])
        {
            draft.abandon();
            return Err(error);
        }
        let head = draft.finish()?.head();
        let Damage { line: lost_from_line, code, .. } = damage;
        Ok(RepairedSession { session_id, n_events, lost_from_line, code, head })
    }

    fn copy(
        &self,
        damaged: SessionId,
        head: Option<&Head>,
        draft: &mut SessionDraft<'_>,
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

impl ReadablePart {
    /// The header of the new session. A refusal says why it cannot be that one.
    pub(crate) fn header_of_repair(
        &self,
        mut header: SessionHeader,
        damaged: &SessionHeader,
    ) -> Result<SessionHeader, Flaw> {
        // What one thread's people said is not told to those of another.
        let same_thread = header.thread_id == damaged.thread_id
            && header.agent_id == damaged.agent_id
            && header.audience == damaged.audience;
        if !same_thread {
            let detail = "it is not of the thread, agent and audience of the damaged session";
            return Err(Flaw::wrong(DamageCode::InvalidHeader, detail));
        }
        let event_id = self.last_of_tree.or(self.last_copied);
        header.cloned_from =
            event_id.map(|event_id| CloneOrigin { session_id: damaged.session_id, event_id });
        let title = header.meta.title.take().or_else(|| self.title.clone());
        header.meta.title = title.or_else(|| damaged.meta.title.clone());
        Ok(header)
    }

    /// What puts the conversation where it was, if its last event is not its end.
    pub(crate) fn leaf_moved(&self, seq: u64, clock: &dyn Clock) -> Option<Event> {
        let moved = LeafMoved { to: self.leaf, reason: LeafReason::Branch };
        (self.leaf != self.last_of_tree).then(|| own_event(seq, clock, Body::LeafMoved(moved)))
    }

    pub(crate) fn take(&mut self, event: Event) {
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
pub(crate) fn inherited(mut event: Event) -> Option<Event> {
    // What was primed stays known as such: whether it is shown depends on it.
    event.source_tag.get_or_insert(SourceTag::Clone);
    // It was valid without the tag, so this asks only whether it may carry it.
    validate(&event).is_ok().then_some(event)
}

#[cfg(test)]
mod tests;
