//! Resumes turns that an earlier host left unfinished, and reports on each.

use std::sync::Arc;

use kith_engine::failure::SessionFailure;
use kith_engine::feed::{FeedItem, Subscription};
use kith_vocab::event::Body;
use kith_vocab::ids::SessionId;

use super::Host;
use crate::error::CallError;
use crate::words::short;

impl Host {
    /// The sessions with messages whose turn has not ended.
    pub async fn unfinished(&self) -> Result<Vec<SessionId>, CallError> {
        Ok(self.desk.sessions_with_open_rows().await?)
    }

    /// Goes on with these sessions and tells what became of each, then wakes others when their time
    /// comes.
    pub async fn resume(self: Arc<Self>, sessions: Vec<SessionId>, tell: impl Fn(String)) {
        let mut following = Vec::new();
        for id in sessions {
            // Without the desk it cannot be followed, and its own driver says why.
            let Ok(head) = self.desk.head(id).await else { continue };
            let subscription = self.engine.follow(id, head.map_or(0, |head| head.seq));
            following.push(subscription.expecting_a_driver());
            self.engine.wake(id);
        }
        self.engine.run_wakeups();
        for subscription in following {
            tell(self.follow_to_rest(subscription).await);
        }
    }

    async fn follow_to_rest(&self, mut subscription: Subscription) -> String {
        let id = short(subscription.session_id());
        loop {
            match subscription.next().await {
                Ok(FeedItem::Event(event)) if matches!(event.body, Body::TurnEnded(_)) => {
                    return format!(
                        "session {id} had been cut short and has been finished: `kith session show \
                         {id}`"
                    );
                }
                Ok(FeedItem::Failed(failure)) => return cannot_go_on(&id, &failure),
                Ok(FeedItem::Moved { to }) => {
                    return format!("session {id} is damaged; it goes on in {}", short(to));
                }
                Ok(FeedItem::Removed) | Err(_) => {
                    return format!("session {id} had been cut short and is gone");
                }
                Ok(_) => (),
            }
        }
    }
}

fn cannot_go_on(id: &str, failure: &SessionFailure) -> String {
    if let SessionFailure::ModelUnavailable { reason } = failure {
        return format!(
            "session {id} had been cut short and was left alone: {reason}; then `kith retry \
             --session {id}` finishes it"
        );
    }
    let why = CallError::from(failure.clone()).message();
    format!("session {id} had been cut short and cannot go on: {why}")
}
