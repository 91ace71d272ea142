//! Following a thread: its current session, and the next one when that changes.

use kith_vocab::ids::SessionId;

use super::{Engine, EngineError};
use crate::feed::{
    FeedItem, HouseSubscription, ResumeMode, ResumePoint, Subscription, SubscriptionError,
    ThreadKey,
};

pub struct ThreadSubscription {
    engine: Engine,
    thread: ThreadKey,
    house: HouseSubscription,
    session: Option<Subscription>,
}

#[derive(Clone, Debug)]
pub enum ThreadItem {
    /// Something happened in the thread's session.
    Session(SessionId, FeedItem),
    /// The thread is in this session from now on; its events follow from the first.
    Changed(SessionId),
}

impl Engine {
    /// Follows a thread from where a client left its current session.
    pub async fn subscribe_thread(
        &self,
        thread: ThreadKey,
        point: &ResumePoint,
    ) -> Result<(ResumeMode, ThreadSubscription), EngineError> {
        let house = self.follow_house();
        let current = self.shared.desk.current_session(&thread.agent_id, &thread.thread_id).await?;
        let (mode, session) = match current {
            Some(id) => {
                let (mode, session) = self.subscribe(id, point).await?;
                (mode, Some(session))
            }
            None => (ResumeMode::FullReload, None),
        };
        Ok((mode, ThreadSubscription { engine: self.clone(), thread, house, session }))
    }
}

impl ThreadSubscription {
    /// The session that is followed now.
    pub fn session_id(&self) -> Option<SessionId> {
        self.session.as_ref().map(Subscription::session_id)
    }

    /// Where another subscription would go on.
    pub fn resume_point(&self, epoch: &str) -> ResumePoint {
        self.session.as_ref().map(|session| session.resume_point(epoch)).unwrap_or_default()
    }

    pub async fn next(&mut self) -> Result<ThreadItem, EngineError> {
        loop {
            let followed = async {
                match &mut self.session {
                    Some(session) => (session.session_id(), session.next().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                (id, item) = followed => match item {
                    // The thread is in the copy by now, unless it is elsewhere.
                    Ok(FeedItem::Moved { .. }) => {
                        if let Some(id) = self.changed_session().await? {
                            return Ok(ThreadItem::Changed(id));
                        }
                        self.session = None;
                    }
                    Ok(item) => return Ok(ThreadItem::Session(id, item)),
                    Err(SubscriptionError::Storage(error)) => return Err(error.into()),
                    // It was removed or goes on elsewhere; the thread says where.
                    Err(SubscriptionError::Ended { .. }) => self.session = None,
                },
                changes = self.house.next() => {
                    let is_ours = changes.iter().any(|change| change.thread == self.thread);
                    let was_missed = self.house.take_missed() > 0;
                    if (is_ours || was_missed)
                        && let Some(id) = self.changed_session().await?
                    {
                        return Ok(ThreadItem::Changed(id));
                    }
                }
            }
        }
    }

    /// Looks whether the thread is in another session now, and follows that one.
    async fn changed_session(&mut self) -> Result<Option<SessionId>, EngineError> {
        let shared = &self.engine.shared;
        let (agent_id, thread_id) = (&self.thread.agent_id, &self.thread.thread_id);
        let current = shared.desk.current_session(agent_id, thread_id).await?;
        let Some(id) = current.filter(|id| Some(*id) != self.session_id()) else {
            return Ok(None);
        };
        self.session = Some(shared.feed.follow(&shared.journal, id, 0));
        Ok(Some(id))
    }
}
