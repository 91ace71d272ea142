//! Delivers what happens in a house to everyone who follows it.
//!
//! The one place where an append succeeds publishes the batch here, and never waits for a
//! subscriber. A subscriber sees every event once and in order: what it missed, because it started
//! late or fell behind the ring, it reads from the journal. Deltas travel beside the events and may
//! be lost; nothing relies on them.

mod changes;
mod delta;
mod house;
mod ring;
mod subscription;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId, ThreadId};
use kith_vocab::provider::{Delta, DeltaSink};
use kith_vocab::tool::Progress;

pub use delta::{DeltaKind, FeedDelta, RUNNING_ANSWER_BYTES_MAX, RunningAnswer, RunningPart};
pub use house::{HouseSubscription, ThreadChange};
pub use ring::{
    FEED_BATCHES_MAX, FEED_BYTES_MAX, FEED_DELTA_BYTES_MAX, FEED_DELTAS_MAX, FeedLimits,
};
pub use subscription::{
    EVENTS_BEHIND_MAX, FeedItem, ResumeMode, ResumePoint, Subscription, SubscriptionError,
};

use crate::failure::SessionFailure;
use crate::observer::{Observation, ObserverSlot, SessionObserver};
use changes::Changes;
use house::HouseFeed;
use ring::Ring;

/// Sessions that are remembered although they may have no followers any more.
const IDLE_SESSIONS_MAX: usize = 1024;
/// Damaged sessions that are remembered; the oldest is forgotten first.
const MOVED_SESSIONS_MAX: usize = 1024;

/// An agent's conversation on a platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadKey {
    pub agent_id: String,
    pub thread_id: ThreadId,
}

impl ThreadKey {
    pub fn of(header: &SessionHeader) -> ThreadKey {
        ThreadKey { agent_id: header.agent_id.clone(), thread_id: header.thread_id.clone() }
    }
}

#[derive(Debug)]
pub struct Feed {
    /// Names this life of the host: deltas are numbered within it.
    epoch: String,
    /// Numbers batches and deltas of all sessions, in the order in which they were published.
    order: Arc<AtomicU64>,
    sessions: Mutex<BTreeMap<SessionId, Weak<SessionFeed>>>,
    limits: FeedLimits,
    house: Arc<HouseFeed>,
    /// Damaged sessions whose rows went to a copy in this life of the host.
    moved: Mutex<BTreeSet<SessionId>>,
    observer: ObserverSlot,
}

impl Feed {
    pub fn new(epoch: String) -> Feed {
        Feed::with_limits(epoch, FeedLimits::default())
    }

    pub fn with_limits(epoch: String, limits: FeedLimits) -> Feed {
        let (order, house) = (Arc::new(AtomicU64::new(1)), Arc::new(HouseFeed::default()));
        Feed {
            epoch,
            order,
            sessions: Mutex::default(),
            limits,
            house,
            moved: Mutex::default(),
            observer: ObserverSlot::default(),
        }
    }

    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// The feed of a session, which lives as long as a handle on it.
    pub fn session(&self, id: SessionId) -> Arc<SessionFeed> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = sessions.get(&id).and_then(Weak::upgrade) {
            return feed;
        }
        if sessions.len() >= IDLE_SESSIONS_MAX {
            sessions.retain(|_, feed| feed.strong_count() > 0);
        }
        let feed = Arc::new(SessionFeed {
            id,
            ring: Mutex::new(Ring::new(self.order.load(Ordering::Relaxed), self.limits)),
            changes: Changes::default(),
            followers: Arc::default(),
            order: Arc::clone(&self.order),
            house: Arc::clone(&self.house),
            observer: self.observer.clone(),
        });
        sessions.insert(id, Arc::downgrade(&feed));
        feed
    }

    /// Tells those who follow a session that it was removed. What is said to it meanwhile makes another
    /// of its name, whose followers are told nothing of this.
    pub fn removed(&self, id: SessionId) {
        self.observer.observe(id, Observation::Removed);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = sessions.remove(&id).and_then(|feed| feed.upgrade()) {
            feed.removed();
        }
    }

    /// Tells those who follow a damaged session that its thread goes on in a copy. The session is
    /// remembered for a message that was accepted before and is followed only now.
    pub fn moved(&self, from: SessionId, to: SessionId) {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.insert(from);
        if moved.len() > MOVED_SESSIONS_MAX {
            moved.pop_first();
        }
        drop(moved);
        self.observer.observe(from, Observation::MovedTo(to));
        self.session(from).moved(to);
    }

    pub(crate) fn has_moved(&self, id: SessionId) -> bool {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    /// Tells this observer what happens to sessions from now on. The first one stays.
    pub fn set_observer(&self, observer: Arc<dyn SessionObserver>) {
        self.observer.set(observer);
    }

    pub(crate) fn observe(&self, id: SessionId, what: Observation<'_>) {
        self.observer.observe(id, what);
    }

    /// Follows the threads of the house from now on.
    pub fn follow_house(&self) -> HouseSubscription {
        HouseFeed::subscribe(&self.house)
    }

    /// Tells those who follow the house that a thread is in another session now.
    pub fn thread_changed(&self, thread: ThreadKey, session_id: SessionId) {
        self.house.push(ThreadChange { thread, session_id });
    }
}

/// The feed of one session.
#[derive(Debug)]
pub struct SessionFeed {
    id: SessionId,
    ring: Mutex<Ring>,
    /// Counts publications, so that subscribers wake up.
    changes: Changes,
    /// Held by every subscription.
    followers: Arc<()>,
    order: Arc<AtomicU64>,
    house: Arc<HouseFeed>,
    observer: ObserverSlot,
}

impl SessionFeed {
    /// Says where the log ends, before anything is published: what stands before is read from the
    /// journal.
    pub fn begin_at(&self, next_seq: u64) {
        self.ring().begin_at(next_seq);
        self.wake();
    }

    /// Publishes a batch that is durable.
    pub fn publish(&self, thread: ThreadKey, events: Vec<Event>) {
        let order = self.next_order();
        self.observe(Observation::Published { thread: Some(&thread), events: &events });
        self.ring().push_batch(order, events);
        self.wake();
        self.house.push(ThreadChange { thread, session_id: self.id });
    }

    /// Publishes the whole of a session that no thread is in yet. Those who follow the house are
    /// told when one is.
    pub fn publish_history(&self, events: Vec<Event>) {
        let order = self.next_order();
        self.observe(Observation::Published { thread: None, events: &events });
        {
            let mut ring = self.ring();
            ring.begin_at(1);
            ring.push_batch(order, events);
        }
        self.wake();
    }

    /// Tells followers that the session could not go on. Nothing is lost: it is opened again.
    pub fn fail(&self, failure: SessionFailure) {
        self.observe(Observation::Failed(&failure));
        let order = self.next_order();
        self.ring().fail(order, failure);
        self.wake();
    }

    /// Tells the observer of the engine.
    pub(crate) fn observe(&self, what: Observation<'_>) {
        self.observer.observe(self.id, what);
    }

    /// Drops published events if there are no followers: the session may stay open for long.
    pub fn rest(&self) {
        if Arc::strong_count(&self.followers) == 1 {
            self.ring().clear();
        }
    }

    /// How often the session could not go on.
    pub(crate) fn n_endings(&self) -> u64 {
        self.ring().n_endings
    }

    /// Waits until the session could not go on more often than so, and returns why.
    pub(crate) async fn ending_after(&self, n_endings: u64) -> SessionFailure {
        loop {
            let n_changes = self.changes.count();
            if self.n_endings() > n_endings {
                break;
            }
            self.changes.after(n_changes).await;
        }
        let ring = self.ring();
        match (ring.moved_to, &ring.failure) {
            (Some(to), _) => {
                let message = format!("session `{}` was damaged and continues as `{to}`", self.id);
                StorageError::new(StorageErrorKind::NotFound, message).into()
            }
            (None, Some((_, failure))) => (**failure).clone(),
            (None, None) => SessionFailure::Panicked,
        }
    }

    /// Tells followers that the thread goes on in a repaired copy.
    pub fn moved(&self, to: SessionId) {
        {
            let mut ring = self.ring();
            ring.moved_to = Some(to);
            ring.n_endings += 1;
        }
        self.wake();
    }

    fn removed(&self) {
        self.ring().is_removed = true;
        self.wake();
    }

    fn delta(&self, request_id: EventId, delta: Delta<'_>) {
        let order = self.next_order();
        self.ring().push_delta(FeedDelta::new(order, request_id, delta));
        self.wake();
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // A ring is never left half-changed.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_order(&self) -> u64 {
        self.order.fetch_add(1, Ordering::Relaxed)
    }

    fn wake(&self) {
        self.changes.announce();
    }
}

/// Passes a growing answer on to the followers of the session.
pub struct FeedTap {
    pub feed: Arc<SessionFeed>,
    pub request_id: EventId,
}

impl DeltaSink for FeedTap {
    fn delta(&self, delta: Delta<'_>) {
        self.feed.delta(self.request_id, delta);
    }
}

/// Passes the progress of a call on to the followers of the session.
pub struct FeedProgress {
    pub feed: Arc<SessionFeed>,
    pub call_id: kith_vocab::ids::CallId,
}

impl Progress for FeedProgress {
    fn line(&self, text: &str) {
        let order = self.feed.next_order();
        self.feed.ring().push_delta(FeedDelta::progress(order, self.call_id, text));
        self.feed.wake();
    }
}

#[cfg(test)]
mod tests;
