//! A new session that begins with a copy of another's path and the same snapshot.
//!
//! Nothing is looked up on the disk: what the source was given when it began is what the clone is
//! given. What binds only the source (queues, approvals, grants, turns) stays there, and whoever
//! could read the source can read the clone, and nobody else.

use std::collections::HashSet;

use kith_sessions::damage::Damage;
use kith_sessions::desk::ThreadRow;
use kith_vocab::event::{Event, SourceTag};
use kith_vocab::header::{CloneOrigin, HeaderMeta, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};
use kith_vocab::validate::validate;

use super::branch::Surveyed;
use super::{Engine, EngineError};
use crate::session::SessionError;
use crate::survey::{PlaceError, Survey};

/// A session that was made from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloned {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    pub leaf: LeafId,
    /// What could not be read of the source.
    pub damage: Option<Damage>,
    /// The source has a turn open, which was left out.
    pub leaves_a_turn_out: bool,
}

impl Engine {
    /// Makes session `id` from the path of `source` up to the turn boundary at or before `at`, or
    /// up to where it waits. Asked again under the same id, it makes no second one.
    pub async fn clone_session(
        &self,
        source: SessionId,
        at: Option<LeafId>,
        id: SessionId,
    ) -> Result<Cloned, EngineError> {
        let Surveyed { header, survey, damage } = self.survey(source).await?;
        if self.store.exists(id).map_err(SessionError::from)? {
            return self.cloned_before(source, id, damage).await;
        }
        let leaf = match at {
            None => survey.resting_leaf(),
            Some(place) => {
                survey.check(place)?;
                survey.boundary(place)
            }
        };
        let events = self.inherited(source, &survey, leaf)?;
        let last = leaf.event().or_else(|| events.last().map(|event| event.id));
        let Some(event_id) = last else { return Err(PlaceError::NothingToClone.into()) };
        // One that somebody gave; otherwise it is called by its own first words.
        let given = survey.state().title.as_ref().map(|(title, _)| title.clone());
        let title = given.or_else(|| header.meta.title.clone());
        let header = SessionHeader {
            v: LOG_FORMAT_VERSION,
            session_id: id,
            device_id: self.desk.device_id().to_owned(),
            created_at: self.clock.now(),
            thread_id: ThreadId::room_of(id),
            cloned_from: Some(CloneOrigin { session_id: source, event_id }),
            parent: None,
            meta: HeaderMeta { title, priming: header.meta.priming.clone() },
            ..header
        };
        self.adopt(&header, &events).await?;
        let leaves_a_turn_out = at.is_none() && survey.open_turn().is_some();
        let thread_id = header.thread_id;
        Ok(Cloned { session_id: id, thread_id, leaf, damage, leaves_a_turn_out })
    }

    /// What the clone begins with, in the order of the log.
    fn inherited(
        &self,
        source: SessionId,
        survey: &Survey,
        leaf: LeafId,
    ) -> Result<Vec<Event>, EngineError> {
        let path: HashSet<EventId> = survey.up_from(leaf).map(|event| event.id).collect();
        let mut events = Vec::new();
        let reading = self.store.read(source, None, &mut |mut event| {
            // What was primed stays known as such: whether it is shown depends on it.
            event.source_tag.get_or_insert(SourceTag::Clone);
            let is_wanted = !event.is_tree() || path.contains(&event.id);
            // It was valid without the tag, so this asks only whether it may carry it.
            if is_wanted && validate(&event).is_ok() {
                event.seq = events.len() as u64 + 1;
                events.push(event);
            }
        });
        reading.map_err(SessionError::from)?;
        Ok(events)
    }

    /// A request that is repeated because its host was lost, perhaps before the thread was known.
    async fn cloned_before(
        &self,
        source: SessionId,
        id: SessionId,
        damage: Option<Damage>,
    ) -> Result<Cloned, EngineError> {
        let Surveyed { header, survey, .. } = self.survey(id).await?;
        if header.cloned_from.is_none_or(|origin| origin.session_id != source) {
            return Err(EngineError::Taken { session_id: id });
        }
        let SessionHeader { agent_id, thread_id, audience, .. } = header;
        if self.desk.current_session(&agent_id, &thread_id).await?.is_none() {
            let updated_at = self.clock.now();
            let thread_id = thread_id.clone();
            let row = ThreadRow { agent_id, thread_id, session_id: id, audience, updated_at };
            self.desk.place_session(row, None).await?;
        }
        let leaf = survey.leaf();
        Ok(Cloned { session_id: id, thread_id, leaf, damage, leaves_a_turn_out: false })
    }
}
