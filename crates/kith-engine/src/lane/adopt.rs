//! A session that begins with a history instead of a message: a primed or a cloned one.

use kith_sessions::desk::{DeskError, ThreadRow};
use kith_sessions::line::Head;
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;

use super::{Engine, EngineError};
use crate::session::SessionError;
use crate::shelf::row_of;
use crate::state::State;

impl Engine {
    /// Writes the session whole and makes it its thread's current one.
    ///
    /// Nothing comes of its events by themselves: whoever calls this gives what was not lived here
    /// its source tag. The file is made before the desk knows of it, so a crash between the two
    /// leaves a session that is listed and that no thread is in; [`Engine::place`] puts it there.
    pub async fn adopt(&self, header: &SessionHeader, events: &[Event]) -> Result<(), EngineError> {
        let lane = self.lane(&header.agent_id, &header.thread_id);
        let mut place = lane.lock().await;
        let log = self.store.create(header, events).map_err(SessionError::from)?;
        if let Err(error) = self.make_current(header, log.head()).await {
            // Nobody was told of it, and whoever tries again makes it anew.
            self.store.take_back(header.session_id);
            return Err(error.into());
        }
        *place = None;
        let mut state = State::default();
        for event in events {
            state.fold(event);
        }
        if let Ok(stamp) = self.store.stat(header.session_id) {
            self.shelf.list(row_of(header, &state, stamp)).await;
        }
        Ok(())
    }

    /// Makes a session that was written before its thread's current one.
    pub async fn place(&self, header: &SessionHeader) -> Result<(), EngineError> {
        let lane = self.lane(&header.agent_id, &header.thread_id);
        let mut place = lane.lock().await;
        self.make_current(header, None).await?;
        *place = None;
        Ok(())
    }

    async fn make_current(
        &self,
        header: &SessionHeader,
        head: Option<Head>,
    ) -> Result<(), DeskError> {
        let thread = ThreadRow {
            agent_id: header.agent_id.clone(),
            thread_id: header.thread_id.clone(),
            session_id: header.session_id,
            audience: header.audience,
            updated_at: self.clock.now(),
        };
        self.desk.place_session(thread, head).await
    }
}
