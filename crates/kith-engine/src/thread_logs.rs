//! The threads of a house and their messages, read from the logs.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kith_sessions::journal::Journal;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::ids::SessionId;

use crate::feed::ThreadKey;
use crate::ui_message::{ProjectionBuilder, UiMessage};

#[derive(Clone)]
pub struct ThreadLogs {
    journal: Arc<dyn Journal>,
}

/// Threads, and the sessions of each from the oldest to the newest.
pub type SessionsByThread = BTreeMap<ThreadKey, Vec<SessionId>>;

impl ThreadLogs {
    pub fn new(journal: Arc<dyn Journal>) -> ThreadLogs {
        ThreadLogs { journal }
    }

    pub(crate) fn journal(&self) -> &dyn Journal {
        &*self.journal
    }

    /// Every thread there is, read off the first lines of the sessions.
    pub async fn sessions(&self) -> Result<SessionsByThread, StorageError> {
        let mut sessions = SessionsByThread::new();
        for id in self.journal.list().await? {
            // A session without a good header belongs to no thread.
            if let Ok(header) = self.journal.header(id).await {
                sessions.entry(ThreadKey::of(&header)).or_default().push(id);
            }
        }
        Ok(sessions)
    }

    /// These sessions of one thread without those that were repaired: such a one goes on in its
    /// copy, which says all of it again.
    pub async fn without_repaired(&self, ids: &[SessionId]) -> Vec<SessionId> {
        let mut copied = HashSet::new();
        for id in ids {
            // A session without a good header is no copy.
            let origin = self.journal.header(*id).await.ok().and_then(|it| it.cloned_from);
            copied.extend(origin.map(|it| it.session_id));
        }
        ids.iter().copied().filter(|id| !copied.contains(id)).collect()
    }

    /// The messages of these sessions of one thread, one session after the other.
    pub async fn messages(&self, ids: &[SessionId]) -> Result<Vec<UiMessage>, StorageError> {
        let mut messages = Vec::new();
        for id in self.without_repaired(ids).await {
            messages.extend(self.session_messages(id).await?);
        }
        Ok(messages)
    }

    /// As far as it can be read. One that is gone, or has no good first line, says nothing.
    pub async fn session_messages(&self, id: SessionId) -> Result<Vec<UiMessage>, StorageError> {
        let mut builder = ProjectionBuilder::default();
        match self.journal.read(id, None, 0, &mut |event| builder.take(event)).await {
            Ok(reading) => Ok(builder.project(&reading.header)),
            Err(error) => match error.kind {
                StorageErrorKind::NotFound | StorageErrorKind::Damaged(_) => Ok(Vec::new()),
                _ => Err(error),
            },
        }
    }
}
