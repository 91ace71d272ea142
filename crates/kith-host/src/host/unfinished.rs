//! Resumes turns that an earlier host left unfinished, and reports on each.

use std::sync::Arc;

use kith_engine::engine::{EngineError, RowFollower, RowProgress};
use kith_engine::failure::SessionFailure;
use kith_engine::feed::FeedItem;
use kith_engine::report::MessageEnd;
use kith_sessions::desk::{AcceptOutcome, RowStatus};
use kith_vocab::ids::SessionId;

use super::Host;
use crate::error::CallError;
use crate::notes::HostNote;
use crate::words::short;

impl Host {
    /// The sessions that an earlier host left with something to do.
    pub async fn unfinished(&self) -> Result<Vec<SessionId>, CallError> {
        Ok(self.engine.unfinished().await?)
    }

    /// Goes on with these sessions and tells what became of each, then wakes others when their time
    /// comes. A host that ends waits for turns, not for messages that wait for a person.
    pub async fn resume<F: Future<Output = ()>>(
        self: Arc<Self>,
        sessions: Vec<SessionId>,
        tell: impl Fn(HostNote) -> F,
    ) {
        let mut following = Vec::new();
        for id in sessions {
            // One that cannot be followed has a driver that says why.
            if let Ok(Some(row)) = self.follow_last_open_row(id).await {
                following.push(row);
            }
            self.engine.wake(id);
        }
        self.engine.run_wakeups();
        for row in following {
            let note = tokio::select! {
                biased;
                note = follow_to_rest(row) => note,
                () = self.until_end() => return,
            };
            if let Some(note) = note {
                tell(note).await;
            }
        }
    }

    /// Follows the last message that waits for the session: it is settled after all others.
    async fn follow_last_open_row(&self, id: SessionId) -> Result<Option<RowFollower>, CallError> {
        let Some(row) = self.desk.open_rows(id).await?.pop() else { return Ok(None) };
        let accepted = AcceptOutcome {
            first: false,
            session_id: id,
            status: RowStatus::Open { session_id: id },
            event: row.event,
            generation: 0,
            head: None,
        };
        Ok(Some(self.engine.follow_row(&accepted).await?))
    }
}

/// Waits until nothing more comes of the message by itself, and says what became of its session.
/// `None` if it waits for a person and has done so before.
async fn follow_to_rest(mut row: RowFollower) -> Option<HostNote> {
    let session = short(row.session_id());
    let mut has_changed = false;
    loop {
        match row.next().await {
            Ok(RowProgress::Settled(report)) => {
                let waits = matches!(report.end, MessageEnd::Held | MessageEnd::Waiting);
                return (has_changed || !waits).then_some(HostNote::Finished { session });
            }
            Ok(RowProgress::Item(FeedItem::Moved { to })) => {
                let problem = "is damaged".to_owned();
                return Some(HostNote::Moved { session, problem, to: short(to) });
            }
            Ok(RowProgress::Item(FeedItem::Removed)) | Err(EngineError::InUse { .. }) => {
                return Some(HostNote::FileMissing { session });
            }
            Ok(RowProgress::Item(item)) => has_changed |= matches!(item, FeedItem::Event(_)),
            Err(EngineError::Failed(failure)) => return Some(cannot_go_on(session, &failure)),
            Err(error) => {
                let why = CallError::from(error).message();
                return Some(HostNote::NotFinished { session, why });
            }
        }
    }
}

fn cannot_go_on(session: String, failure: &SessionFailure) -> HostNote {
    if let SessionFailure::ModelUnavailable { reason } = failure {
        return HostNote::NotResumed { session, why: reason.clone() };
    }
    let why = CallError::from(failure.clone()).message();
    HostNote::NotFinished { session, why }
}

#[cfg(test)]
mod tests;
