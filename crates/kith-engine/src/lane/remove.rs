//! Taking a session out of the house because somebody asked for it.

use kith_sessions::store::Belongings;
use kith_vocab::ids::{SessionId, ThreadId};

use super::{Engine, EngineError};
use crate::session::SessionError;

impl Engine {
    /// Forgets a session whose file is gone.
    pub async fn forget(&self, id: SessionId) -> Result<(), EngineError> {
        if !self.desk.forget_session(id).await? {
            return Err(EngineError::InUse { session_id: id });
        }
        self.shelf.forget(id).await;
        Ok(())
    }

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
        // Not waited for: whoever asked may have left by the time the turn ends, and what is said
        // to be kept would be gone.
        let place = lane.as_ref().map(|lane| lane.try_lock()).transpose();
        let mut place = place.map_err(|_| EngineError::InUse { session_id: id })?;
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
