//! Taking a session out of the house because somebody asked for it.

use kith_sessions::store::Belongings;
use kith_vocab::ids::{SessionId, ThreadId};

use super::{Engine, EngineError};
use crate::session::SessionError;

impl Engine {
    /// Removes a session that is at rest, with all that is known of it. Its thread, if it was in
    /// it, begins a new one with its next message.
    ///
    /// `whose` is the agent and the thread of its header; one without a good header is in no lane.
    pub async fn remove(
        &self,
        whose: Option<(&str, &ThreadId)>,
        id: SessionId,
    ) -> Result<Belongings, EngineError> {
        let lane = whose.map(|(agent_id, thread_id)| self.lane(agent_id, thread_id));
        let mut place = match &lane {
            Some(lane) => Some(lane.lock().await),
            None => None,
        };
        // Asked before anything goes: what is forgotten first cannot be named afterwards.
        self.store.belongings(id).map_err(SessionError::from)?;
        if !self.desk.forget_session(id).await? {
            return Err(EngineError::InUse { session_id: id });
        }
        if let Some(place) = &mut place
            && place.as_ref().is_some_and(|session| session.id() == id)
        {
            **place = None;
        }
        self.shelf.forget(id).await;
        Ok(self.store.remove(id).map_err(SessionError::from)?)
    }
}
