//! Removes a session from the house.

use kith_sessions::journal::RemovedSession;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::IngressContent;

use super::{Engine, EngineError};

impl Engine {
    /// Forgets a session whose log is gone.
    pub async fn forget(&self, id: SessionId) -> Result<(), EngineError> {
        if !self.shared.desk.forget_session(id).await? {
            return Err(EngineError::InUse { session_id: id });
        }
        // At once: a message to this id from now on begins another session.
        self.shared.feed.removed(id);
        self.shared.checkpoints.forget(id).await;
        Ok(())
    }

    /// Removes a session that is at rest, with all that is known of it. Its thread, if it was in
    /// it, begins a new one with its next message.
    pub async fn remove(&self, id: SessionId) -> Result<RemovedSession, EngineError> {
        // A running turn is not waited for: the client may have left by the time it ends, and the
        // session would vanish although nothing reported it.
        let reserved = self.shared.registry.reserve(id);
        let reservation = reserved.ok_or(EngineError::InUse { session_id: id })?;
        let removed = self.remove_reserved(id).await;
        drop(reservation);
        // Messages accepted meanwhile found no driver to wake.
        let rows = self.shared.desk.open_rows(id).await;
        if rows.map_or(true, |rows| !rows.is_empty()) {
            self.wake(id);
        }
        removed
    }

    async fn remove_reserved(&self, id: SessionId) -> Result<RemovedSession, EngineError> {
        self.shared.journal.close(id);
        // Asked before anything goes: what is forgotten first cannot be named afterwards.
        self.shared.journal.belongings(id).await?;
        // A message that waits may name a blob that otherwise only this session names.
        let _no_acceptance = self.shared.attachments.lock().await;
        let _hold = self.shared.journal.hold_blobs(self.waiting_attachments().await?);
        self.forget(id).await?;
        Ok(self.shared.journal.remove(id).await?)
    }

    /// The blobs that messages on the desk name.
    async fn waiting_attachments(&self) -> Result<Vec<String>, EngineError> {
        let mut hashes = Vec::new();
        for id in self.shared.desk.sessions_with_open_rows().await? {
            for row in self.shared.desk.open_rows(id).await? {
                let IngressContent::Text { attachments, .. } = row.event.content;
                hashes.extend(attachments.into_iter().map(|it| it.blob));
            }
        }
        Ok(hashes)
    }
}
