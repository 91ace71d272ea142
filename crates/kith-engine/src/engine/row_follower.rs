//! Follows one message until its turn has ended.

use kith_sessions::desk::RowStatus;
use kith_vocab::ids::SessionId;

use super::{Engine, EngineError};
use crate::feed::{FeedItem, Subscription, SubscriptionError};
use crate::report::{MessageEnd, RowReader, TurnReport};

pub struct RowFollower {
    engine: Engine,
    subscription: Subscription,
    reader: RowReader,
    /// The row is closed on the desk, so nothing more follows.
    is_closed: bool,
    /// Up to this event the log is told again, so what it says is over there may go on.
    told_again_to: u64,
    /// The session moved to this copy, and the desk has not yet said whether the row did.
    unchecked_move: Option<SessionId>,
}

#[derive(Debug)]
pub enum RowProgress {
    /// Something happened in the session.
    Item(FeedItem),
    /// The message's author need wait no longer.
    Settled(TurnReport),
}

impl RowFollower {
    pub(super) fn new(
        engine: Engine,
        subscription: Subscription,
        reader: RowReader,
        is_closed: bool,
    ) -> RowFollower {
        RowFollower {
            engine,
            subscription,
            reader,
            is_closed,
            told_again_to: 0,
            unchecked_move: None,
        }
    }

    /// Follows a message from an event before it, although the log goes on up to `head` already.
    pub(super) fn telling_again(
        engine: Engine,
        subscription: Subscription,
        reader: RowReader,
        head: u64,
    ) -> RowFollower {
        RowFollower { told_again_to: head, ..RowFollower::new(engine, subscription, reader, false) }
    }

    pub fn session_id(&self) -> SessionId {
        self.subscription.session_id()
    }

    /// Whether nothing more follows for the message.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The key of the message's row.
    pub fn key(&self) -> &str {
        self.reader.key()
    }

    /// Whether the turn that answers the message is open.
    pub fn is_in_turn(&self) -> bool {
        self.reader.is_in_turn()
    }

    /// What is known of the message so far.
    pub fn report(&self) -> TurnReport {
        self.reader.clone().into_report()
    }

    /// Waits for the next thing that happens.
    pub async fn next(&mut self) -> Result<RowProgress, EngineError> {
        if self.reader.last_seq() >= self.told_again_to
            && let Some(report) = self.reader.settled()
        {
            return Ok(RowProgress::Settled(report));
        }
        if self.is_closed {
            return Ok(RowProgress::Settled(self.reader.clone().into_report()));
        }
        let item = match self.unchecked_move {
            Some(to) => FeedItem::Moved { to },
            None => self.subscription.next().await.map_err(|error| match error {
                SubscriptionError::Storage(error) => EngineError::Storage(error),
                SubscriptionError::Ended { session_id } => EngineError::InUse { session_id },
            })?,
        };
        match &item {
            FeedItem::Event(event) => self.reader.read(event),
            FeedItem::Failed(failure) => return Err(EngineError::Failed((**failure).clone())),
            FeedItem::Moved { to } => {
                // Kept in case this call is dropped while the desk is asked.
                self.unchecked_move = Some(*to);
                self.go_on_in_copy().await?;
                self.unchecked_move = None;
            }
            FeedItem::Removed => self.is_closed = true,
            FeedItem::Delta(_) | FeedItem::Running(_) => (),
        }
        Ok(RowProgress::Item(item))
    }

    /// Waits for the end, and returns the report on the message.
    pub async fn end(mut self) -> Result<TurnReport, EngineError> {
        loop {
            if let RowProgress::Settled(report) = self.next().await? {
                return Ok(report);
            }
        }
    }

    /// The session was damaged, and its rows wait for a copy. A message that the damaged log holds
    /// is not said again: that could do twice what was done once.
    async fn go_on_in_copy(&mut self) -> Result<(), EngineError> {
        let damaged = self.session_id();
        let status = self.find_copy().await?;
        if self.session_id() != damaged {
            return Ok(());
        }
        if status.is_some_and(RowStatus::is_open) {
            // It was accepted a moment too late, and moves when the session is opened for it.
            self.subscription.continue_after_move();
            // Whoever repaired the session may have kept a driver from starting when it was accepted.
            self.engine.wake(damaged);
        } else {
            self.is_closed = true;
        }
        Ok(())
    }

    /// Follows the message in the copy that its row waits for, if it waits for one, and returns what
    /// the desk knows of the row.
    pub(super) async fn find_copy(&mut self) -> Result<Option<RowStatus>, EngineError> {
        let shared = &self.engine.shared;
        let status = shared.desk.row(self.reader.key()).await?;
        // The copy may have dealt with it by now, or may be damaged as well.
        if let Some(to) = status.map(RowStatus::session_id).filter(|to| *to != self.session_id()) {
            self.reader = self.reader.in_copy(to);
            self.subscription = shared.feed.follow(&shared.journal, to, 0);
        }
        Ok(status)
    }
}

impl TurnReport {
    /// Whether the message stands in the log.
    pub fn is_known(&self) -> bool {
        self.end != MessageEnd::Unknown
    }
}
