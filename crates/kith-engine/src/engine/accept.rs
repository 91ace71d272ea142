//! Messages, from their acceptance to the follower who waits for their end.

use kith_sessions::desk::{AcceptOutcome, RowTarget, Wakeup, WakeupReason};
use kith_sessions::journal::NewBlob;
use kith_vocab::event::Event;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;

use super::{Engine, EngineError, RowFollower};
use crate::observer::Observation;
use crate::report::{RowReader, TurnReport};

impl Engine {
    /// Accepts a message once, durably. When this returns `Ok`, it will be answered, whatever
    /// happens to this process.
    ///
    /// The turn does not start yet: a caller that wants to follow it calls [`Engine::follow_row`]
    /// before [`Engine::wake`].
    pub async fn accept(
        &self,
        event: &IngressEvent,
        target: RowTarget,
    ) -> Result<AcceptOutcome, EngineError> {
        let shared = &self.shared;
        let fresh = SessionId::from_uuid(shared.clock.new_id());
        let accepted = shared.desk.accept(event, target, fresh, shared.clock.now()).await?;
        if accepted.first {
            shared.feed.observe(accepted.session_id, Observation::Accepted(event));
        }
        Ok(accepted)
    }

    /// The same for a message with attachments, whose bytes are put first: when it is accepted, they
    /// are durable too.
    pub async fn accept_with(
        &self,
        event: &IngressEvent,
        target: RowTarget,
        blobs: Vec<NewBlob>,
    ) -> Result<AcceptOutcome, EngineError> {
        if blobs.is_empty() {
            return self.accept(event, target).await;
        }
        // No session is removed before the row names them.
        let _no_removal = self.shared.attachments.lock().await;
        self.shared.journal.put_blobs(blobs).await?;
        self.accept(event, target).await
    }

    /// Accepts a message, starts its session and follows it.
    pub async fn send(
        &self,
        event: &IngressEvent,
        target: RowTarget,
    ) -> Result<RowFollower, EngineError> {
        let accepted = self.accept(event, target).await?;
        let follower = self.follow_row(&accepted).await;
        // It is accepted, whether or not it can be followed.
        if follower.as_ref().map_or(accepted.status.is_open(), |it| !it.is_closed()) {
            self.wake(accepted.session_id);
        }
        follower
    }

    /// Follows a message until its author need wait no longer. Dropping the follower cancels
    /// nothing.
    pub async fn follow_row(&self, accepted: &AcceptOutcome) -> Result<RowFollower, EngineError> {
        let (id, event) = (accepted.session_id, &accepted.event);
        let (thread_id, key) = (&event.thread_id, event.key.as_str());
        // A reply is about questions that may stand before what the desk knows of the log.
        if !accepted.first || self.may_wait_for_person(id).await? {
            return self.follow_known_row(id, thread_id, key, accepted.status.is_open()).await;
        }
        // Not what the desk knows by now: a driver may have dealt with the message already.
        let after = accepted.head.map_or(0, |head| head.seq);
        let reader = RowReader::new(id, thread_id, key);
        let mut follower = self.row_follower(reader, after, accepted.status.is_open());
        // Asked when it follows already: whatever moves from here on, it is told of.
        if self.shared.feed.has_moved(id) {
            follower.find_copy().await?;
        }
        Ok(follower)
    }

    /// Whether the session may be waiting for an approval.
    async fn may_wait_for_person(&self, id: SessionId) -> Result<bool, EngineError> {
        let wakeups = self.shared.desk.wakeups().await?;
        let expires = |it: &Wakeup| it.reason == WakeupReason::ApprovalExpiry;
        Ok(wakeups.iter().any(|it| expires(it) && it.session_id == Some(id)))
    }

    /// Follows the message that the session is occupied with: the first that waits or is being
    /// answered, or else the last that was answered. `None` if nothing was ever said in it.
    pub async fn follow_last_row(&self, id: SessionId) -> Result<Option<RowFollower>, EngineError> {
        if let Some(row) = self.shared.desk.open_rows(id).await?.into_iter().next() {
            let thread_id = &row.event.thread_id;
            return self.follow_known_row(id, thread_id, &row.key, true).await.map(Some);
        }
        let mut last = None;
        let each = &mut |event: Event| {
            if event.is_tree() && event.is_lived() {
                last = event.ingress_key.or(last.take());
            }
        };
        self.shared.journal.read(id, None, 0, each).await?;
        let Some(key) = last else { return Ok(None) };
        let header = self.shared.journal.header(id).await?;
        self.follow_known_row(id, &header.thread_id, &key, false).await.map(Some)
    }

    /// Follows a message of the session that was accepted before.
    pub async fn follow_key(&self, id: SessionId, key: &str) -> Result<RowFollower, EngineError> {
        let header = self.shared.journal.header(id).await?;
        self.follow_known_row(id, &header.thread_id, key, false).await
    }

    async fn follow_known_row(
        &self,
        id: SessionId,
        thread_id: &ThreadId,
        key: &str,
        is_open: bool,
    ) -> Result<RowFollower, EngineError> {
        let mut reader = RowReader::new(id, thread_id, key);
        if self.shared.journal.exists(id).await? {
            let each = &mut |event| reader.read(&event);
            self.shared.journal.read(id, None, 0, each).await?;
            if !is_open && !reader.has_seen() {
                reader = self.shared.answer_in_copy(id, &reader).await?.unwrap_or(reader);
            }
        }
        let after = reader.last_seq();
        Ok(self.row_follower(reader, after, is_open))
    }

    fn row_follower(&self, reader: RowReader, after: u64, is_open: bool) -> RowFollower {
        let id = reader.session_id();
        let subscription = self.shared.feed.follow(&self.shared.journal, id, after);
        let subscription =
            if is_open { subscription.expecting_a_driver() } else { subscription.up_to_date() };
        // A turn that was retried after its row was closed is waited for.
        let is_closed = !is_open && !reader.is_in_turn();
        RowFollower::new(self.clone(), subscription, reader, is_closed)
    }

    /// The report on a message whose row is closed.
    pub async fn report(
        &self,
        id: SessionId,
        event: &IngressEvent,
    ) -> Result<TurnReport, EngineError> {
        let mut reader = RowReader::new(id, &event.thread_id, &event.key);
        let each = &mut |event| reader.read(&event);
        self.shared.journal.read(id, None, 0, each).await?;
        Ok(reader.into_report())
    }
}
