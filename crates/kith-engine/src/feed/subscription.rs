//! A subscription: one follower of a session.
//!
//! A follower pulls: it takes the next item when it is ready, and no writer waits for it.

use std::collections::VecDeque;
use std::sync::Arc;

use kith_sessions::journal::Journal;
use kith_sessions::read::{Reading, Tail};
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::event::Event;
use kith_vocab::ids::SessionId;
use serde::{Deserialize, Serialize};

use super::delta::{FeedDelta, RunningAnswer};
use super::ring::{PublishedBatch, Ring};
use super::{Feed, SessionFeed};
use crate::failure::SessionFailure;

/// A follower that is further behind loads the session anew.
pub const EVENTS_BEHIND_MAX: u64 = 10_000;

/// Up to where a follower has seen a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumePoint {
    /// The session it saw. In another one, which its thread may be in by now, it has seen nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The last event it has seen; 0 for none.
    pub persistent_last_seq: u64,
    /// The life of the host in which it saw deltas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// The last delta it has seen in that life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_last_seq: Option<u64>,
}

/// How a subscription goes on from a resume point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeMode {
    /// Nothing is missing, deltas included.
    StreamResume,
    /// Events come from the log, then what the running request has said so far.
    PersistentFallback,
    /// The follower must load the session anew; what is published from now on follows.
    FullReload,
}

#[derive(Clone, Debug)]
pub enum FeedItem {
    Event(Arc<Event>),
    Delta(Arc<FeedDelta>),
    /// The running answer as it stood when this follower came, or caught up.
    Running(RunningAnswer),
    /// The session could not go on. It is opened again, and nothing is lost.
    Failed(Arc<SessionFailure>),
    /// The session was damaged; the thread goes on in a copy.
    Moved {
        to: SessionId,
    },
    /// The session was removed.
    Removed,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("the subscription to session `{session_id}` has ended")]
    Ended { session_id: SessionId },
}

pub struct Subscription {
    journal: Arc<dyn Journal>,
    feed: Arc<SessionFeed>,
    /// Says that the feed is followed.
    _presence: Arc<()>,
    /// How many publications were looked at.
    n_changes: u64,
    last_seq: u64,
    last_stream_seq: u64,
    last_failure: u64,
    /// How often the session had moved or failed when the follower was told that it moved.
    n_endings: u64,
    ready: VecDeque<FeedItem>,
    /// Whether all was read that the log held when no driver had said yet where it ends.
    has_read_log: bool,
    is_over: bool,
}

impl Feed {
    /// Follows a session from an event on, without asking whether that is far back.
    pub fn follow(&self, journal: &Arc<dyn Journal>, id: SessionId, after: u64) -> Subscription {
        let feed = self.session(id);
        let (last_stream_seq, last_failure) = {
            let ring = feed.ring();
            let failure = ring.failure.as_ref().map_or(0, |(order, _)| *order);
            (ring.deltas_dropped_to, failure)
        };
        Subscription {
            journal: Arc::clone(journal),
            _presence: Arc::clone(&feed.followers),
            feed,
            n_changes: 0,
            last_seq: after,
            last_stream_seq,
            last_failure,
            n_endings: 0,
            ready: VecDeque::new(),
            has_read_log: false,
            is_over: false,
        }
    }

    /// Goes on with a subscription where a client left it, and says how.
    pub async fn resume(
        &self,
        journal: &Arc<dyn Journal>,
        id: SessionId,
        point: &ResumePoint,
    ) -> Result<(ResumeMode, Subscription), StorageError> {
        if point.session_id.is_some_and(|seen| seen != id) {
            return Box::pin(self.resume(journal, id, &ResumePoint::default())).await;
        }
        let mut subscription = self.follow(journal, id, point.persistent_last_seq);
        let published = subscription.published_head();
        let head = match published {
            Some(head) => Some(head),
            None => subscription.read_log().await?,
        };
        let Some(head) = head.filter(|head| is_near(*head, point.persistent_last_seq)) else {
            subscription.skip_to(head.unwrap_or_default());
            return Ok((ResumeMode::FullReload, subscription));
        };
        let is_same_life = point.epoch.as_deref() == Some(self.epoch());
        let seen = point.stream_last_seq.filter(|_| is_same_life);
        let mut mode = ResumeMode::PersistentFallback;
        {
            let ring = subscription.feed.ring();
            let covers_events = match ring.first_seq().filter(|_| published.is_some()) {
                Some(first) => first <= point.persistent_last_seq + 1,
                None => head == point.persistent_last_seq,
            };
            if let Some(seen) = seen.filter(|seen| *seen >= ring.deltas_dropped_to)
                && covers_events
            {
                subscription.last_stream_seq = seen;
                mode = ResumeMode::StreamResume;
            }
        }
        if mode == ResumeMode::PersistentFallback {
            // The log comes first, then what is being said now: asked in this order, it cannot be
            // the text of an answer that the log held.
            if published.is_some() {
                subscription.read_log().await?;
            }
            let running = subscription.feed.ring().running.clone();
            subscription.ready.extend(running.map(FeedItem::Running));
        }
        Ok((mode, subscription))
    }
}

fn is_near(head: u64, seen: u64) -> bool {
    seen <= head && head - seen <= EVENTS_BEHIND_MAX
}

impl Subscription {
    pub fn session_id(&self) -> SessionId {
        self.feed.id
    }

    /// Where another subscription would go on.
    pub fn resume_point(&self, epoch: &str) -> ResumePoint {
        ResumePoint {
            session_id: Some(self.feed.id),
            persistent_last_seq: self.last_seq,
            epoch: Some(epoch.to_owned()),
            stream_last_seq: Some(self.last_stream_seq),
        }
    }

    /// Skips reading the log, for a caller that has just checked that it holds nothing beyond the
    /// last event seen.
    #[must_use]
    pub fn up_to_date(mut self) -> Subscription {
        self.has_read_log = true;
        self
    }

    /// Reads the log only when the session's driver has said where it ends: it is about to start,
    /// and then there is usually nothing to read.
    #[must_use]
    pub fn expecting_a_driver(self) -> Subscription {
        self.up_to_date()
    }

    /// Waits for the next item.
    pub async fn next(&mut self) -> Result<FeedItem, SubscriptionError> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(self.delivered(item));
            }
            if self.is_over {
                return Err(SubscriptionError::Ended { session_id: self.feed.id });
            }
            self.n_changes = self.feed.changes.count();
            if self.take_published() {
                self.read_log().await?;
                continue;
            }
            if self.ready.is_empty() {
                self.feed.changes.after(self.n_changes).await;
            }
        }
    }

    /// Goes on after the session moved, for a follower of something that did not move with it: it
    /// is told when the session moves again.
    pub fn continue_after_move(&mut self) {
        self.is_over = false;
    }

    /// Takes the events that are there, without waiting for more.
    pub async fn drain(&mut self) -> Result<Vec<Arc<Event>>, StorageError> {
        let mut events = Vec::new();
        loop {
            while let Some(item) = self.ready.pop_front() {
                if let FeedItem::Event(event) = self.delivered(item) {
                    events.push(event);
                }
            }
            self.n_changes = self.feed.changes.count();
            if self.take_published() {
                self.read_log().await?;
            }
            if self.ready.is_empty() || self.is_over {
                return Ok(events);
            }
        }
    }

    /// Moves newly published items into `ready`. True if the ring no longer holds all of them.
    fn take_published(&mut self) -> bool {
        let feed = Arc::clone(&self.feed);
        let ring = feed.ring();
        let is_behind = match ring.next_seq {
            None => !self.has_read_log,
            Some(next) if self.last_seq + 1 >= next => false,
            Some(_) => ring.first_seq().is_none_or(|first| first > self.last_seq + 1),
        };
        if is_behind {
            return true;
        }
        let mut items = self.published_events(&ring);
        items.extend(self.published_deltas(&ring));
        if let Some((order, failure)) = &ring.failure
            && *order > self.last_failure
        {
            self.last_failure = *order;
            items.push((*order, FeedItem::Failed(Arc::clone(failure))));
        }
        // A batch and a delta never have the same number, so the order is the one they came in.
        items.sort_by_key(|(order, _)| *order);
        self.ready.extend(items.into_iter().map(|(_, item)| item));
        drop(ring);
        self.ready.extend(self.ending());
        false
    }

    fn published_events(&self, ring: &Ring) -> Vec<(u64, FeedItem)> {
        let mut items = Vec::new();
        let is_seen = |batch: &PublishedBatch| {
            batch.events.last().is_none_or(|event| event.seq <= self.last_seq)
        };
        for batch in ring.batches.range(ring.batches.partition_point(is_seen)..) {
            let new = batch.events.iter().filter(|event| event.seq > self.last_seq);
            items.extend(new.map(|event| (batch.order, FeedItem::Event(Arc::clone(event)))));
        }
        items
    }

    fn published_deltas(&mut self, ring: &Ring) -> Vec<(u64, FeedItem)> {
        let mut items = Vec::new();
        let mut seen = self.last_stream_seq;
        if seen < ring.deltas_dropped_to {
            // Deltas were lost. What the running request has said so far holds them too.
            if let Some(running) = &ring.running {
                // It counts as seen when the follower has taken it.
                seen = running.stream_seq;
                items.push((seen, FeedItem::Running(running.clone())));
            } else {
                seen = ring.deltas_dropped_to;
                self.last_stream_seq = seen;
            }
        }
        // Whoever follows a long answer is woken for each of its deltas, so those seen are not gone through.
        let n_seen = ring.deltas.partition_point(|delta| delta.stream_seq <= seen);
        let new = ring.deltas.range(n_seen..).filter(|delta| delta.stream_seq > seen);
        items.extend(new.map(|delta| (delta.stream_seq, FeedItem::Delta(Arc::clone(delta)))));
        items
    }

    /// Reads from the journal what the ring no longer holds, and returns the number of the newest
    /// event there; `None` if there is no session.
    async fn read_log(&mut self) -> Result<Option<u64>, StorageError> {
        let published = self.feed.ring().next_seq;
        let mut events = Vec::new();
        let each = &mut |event| {
            if (events.len() as u64) < EVENTS_BEHIND_MAX {
                events.push(FeedItem::Event(Arc::new(event)));
            }
        };
        let reading = match self.journal.read(self.feed.id, None, self.last_seq, each).await {
            Ok(reading) => Some(reading),
            // It does not exist yet: its first events will be published.
            Err(error) if error.kind == StorageErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if events.is_empty()
            && let Some(next) = published.filter(|next| *next > self.last_seq + 1)
        {
            // Reading again would bring nothing either.
            self.ready.push_back(
                self.ending().ok_or_else(|| self.missing_events(next, reading.as_ref()))?,
            );
        }
        // Of a longer log the rest is read when this part was taken.
        self.has_read_log = (events.len() as u64) < EVENTS_BEHIND_MAX;
        self.ready.extend(events);
        Ok(reading.map(|reading| reading.head.map_or(0, |head| head.seq)))
    }

    /// The last item of a session that moved or was removed.
    fn ending(&self) -> Option<FeedItem> {
        let ring = self.feed.ring();
        let moved_to = ring.moved_to.filter(|_| ring.n_endings > self.n_endings);
        let moved = moved_to.map(|to| FeedItem::Moved { to });
        moved.or_else(|| ring.is_removed.then_some(FeedItem::Removed))
    }

    /// Why the log does not hold the events up to `next`, which were published.
    fn missing_events(&self, next: u64, reading: Option<&Reading>) -> StorageError {
        let (id, last) = (self.feed.id, next - 1);
        let (kind, why) = match reading.map(|reading| &reading.tail) {
            Some(Tail::Damaged(damage)) => {
                (StorageErrorKind::Damaged(damage.clone()), damage.to_string())
            }
            Some(Tail::Clean | Tail::Torn { .. }) => {
                (StorageErrorKind::Unavailable, "its log is shorter than it was".to_owned())
            }
            None => (StorageErrorKind::NotFound, "its log is gone".to_owned()),
        };
        let read = self.last_seq;
        let message =
            format!("session `{id}` can be read only up to event {read} of {last}: {why}");
        StorageError::new(kind, message)
    }

    /// The newest event of the session, if its feed knows. The log is ahead of the ring between an
    /// append and its publication, and so may a follower be that has read it.
    fn published_head(&self) -> Option<u64> {
        let next_seq = self.feed.ring().next_seq;
        next_seq.filter(|next| self.last_seq < *next).map(|next| next - 1)
    }

    fn skip_to(&mut self, head: u64) {
        self.last_seq = head;
        self.has_read_log = true;
        self.ready.clear();
    }

    fn delivered(&mut self, item: FeedItem) -> FeedItem {
        match &item {
            FeedItem::Event(event) => self.last_seq = event.seq,
            FeedItem::Delta(delta) => self.last_stream_seq = delta.stream_seq,
            FeedItem::Running(running) => self.last_stream_seq = running.stream_seq,
            FeedItem::Moved { .. } => {
                self.n_endings = self.feed.n_endings();
                self.is_over = true;
            }
            FeedItem::Removed => self.is_over = true,
            FeedItem::Failed(_) => (),
        }
        item
    }
}
