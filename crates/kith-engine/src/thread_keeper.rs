//! Keeps thread files up with the logs, as one follower of the house.
//!
//! It has no queue of its own: its position is what the files say. No turn waits for it, and a
//! failure here fails no turn; [`ThreadKeeper::take_failure`] returns it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kith_vocab::clock::BoxFuture;
use kith_vocab::ids::SessionId;
use tokio::sync::{mpsc, oneshot};

use crate::engine::Engine;
use crate::feed::{HouseSubscription, Subscription, ThreadChange};
use crate::thread_file_sync::{ThreadFileSync, ThreadFileSyncError};
use crate::ui_message::Projection;

/// Requests that wait for the thread files.
const REQUESTS_WAITING_MAX: usize = 64;
/// Sessions that are followed at once; beyond that, those without an open turn are dropped.
const FOLLOWED_SESSIONS_MAX: usize = 256;

type ThreadRequest = Box<dyn for<'a> FnOnce(&'a ThreadFileSync) -> BoxFuture<'a, ()> + Send>;

/// A handle on the task that writes thread files. It ends with the engine.
#[derive(Clone)]
pub struct ThreadKeeper {
    requests: mpsc::Sender<ThreadRequest>,
    failure: Arc<Mutex<Option<ThreadFileSyncError>>>,
}

struct ThreadKeeperTask {
    engine: Engine,
    threads: ThreadFileSync,
    followed: BTreeMap<SessionId, FollowedSession>,
    failure: Arc<Mutex<Option<ThreadFileSyncError>>>,
}

/// A session whose events since the last line of its file are gathered.
struct FollowedSession {
    subscription: Subscription,
    projection: Projection,
}

impl ThreadKeeper {
    pub fn start(engine: &Engine, threads: ThreadFileSync) -> ThreadKeeper {
        let (requests, waiting) = mpsc::channel(REQUESTS_WAITING_MAX);
        let failure = Arc::default();
        let keeper = ThreadKeeperTask {
            engine: engine.clone(),
            threads,
            followed: BTreeMap::new(),
            failure: Arc::clone(&failure),
        };
        let house = engine.follow_house();
        engine.spawn(keeper.run(house, waiting));
        ThreadKeeper { requests, failure }
    }

    /// The last failure since the previous call.
    pub fn take_failure(&self) -> Option<ThreadFileSyncError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does something with the thread files after everything that was published so far has reached
    /// them. `None` if the engine has been stopped.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a ThreadFileSync) -> BoxFuture<'a, T> + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        let request: ThreadRequest = Box::new(move |threads| {
            Box::pin(async move {
                // The caller may have left.
                sender.send(work(threads).await).ok();
            })
        });
        self.requests.send(request).await.ok()?;
        receiver.await.ok()
    }

    /// Waits until everything that was published so far is in the files.
    pub async fn until_written(&self) {
        self.run(|_| Box::pin(std::future::ready(()))).await;
    }
}

impl ThreadKeeperTask {
    async fn run(
        mut self,
        mut house: HouseSubscription,
        mut requests: mpsc::Receiver<ThreadRequest>,
    ) {
        loop {
            tokio::select! {
                biased;
                changes = house.next() => self.follow(changes).await,
                request = requests.recv() => match request {
                    Some(request) => request(&self.threads).await,
                    None => return,
                },
            }
            if house.take_missed() > 0 {
                // Too much happened at once; what the files lack is found by looking.
                self.followed.clear();
                self.note(self.threads.catch_up_all().await);
            }
        }
    }

    async fn follow(&mut self, changes: Vec<ThreadChange>) {
        for change in changes {
            let id = change.session_id;
            if let Err(error) = self.follow_session(&change).await {
                // The next change of the session begins again from what its file says.
                self.followed.remove(&id);
                self.note(Err(error));
            }
        }
        if self.followed.len() > FOLLOWED_SESSIONS_MAX {
            self.followed.retain(|_, session| session.projection.is_in_turn());
        }
    }

    async fn follow_session(&mut self, change: &ThreadChange) -> Result<(), ThreadFileSyncError> {
        let id = change.session_id;
        if !self.followed.contains_key(&id) {
            let position = self.threads.position(&change.thread, id)?;
            let session = FollowedSession {
                subscription: self.engine.follow(id, position.unwrap_or_default()),
                projection: new_projection(change),
            };
            self.followed.insert(id, session);
        }
        let Some(session) = self.followed.get_mut(&id) else { return Ok(()) };
        for event in session.subscription.drain().await? {
            session.projection.take(&event);
        }
        if session.projection.is_in_turn() || session.projection.span().is_none() {
            return Ok(());
        }
        let projection = std::mem::replace(&mut session.projection, new_projection(change));
        self.threads.catch_up(id, Some(&projection)).await
    }

    fn note(&self, result: Result<(), ThreadFileSyncError>) {
        if let Err(error) = result {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

fn new_projection(change: &ThreadChange) -> Projection {
    let thread = &change.thread;
    Projection::of_new_turns(&thread.agent_id, &thread.thread_id, change.session_id)
}

#[cfg(test)]
mod tests;
