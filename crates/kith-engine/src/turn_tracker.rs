//! Where the turns of a log begin and end, read event by event.
//!
//! The tree of a session, the outcome of a message and the messages of a screen share this reading.
//! The state folds the same events to much more; a test holds the two together.

use std::collections::HashSet;

use kith_vocab::event::control::{Bound, EndReason};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

/// Follows the turns of a log. It may begin anywhere in the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnTracker {
    is_open: bool,
    /// The messages of people that were copied or primed into the session.
    copied: HashSet<EventId>,
}

/// What an event changes in the turns of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnChange {
    /// A person's message begins a turn.
    Begun,
    /// Another message of a person is part of the same turn.
    Joined,
    /// A `turn_started` without a new message: the last turn goes on.
    Retried,
    Ended {
        reason: EndReason,
        bound: Option<Bound>,
    },
    /// A turn that was open stays behind on another path of the conversation.
    LeftBehind,
}

impl TurnTracker {
    /// Whether a turn is open. What was copied or primed opens none.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(crate) fn read(&mut self, event: &Event) -> Option<TurnChange> {
        if !event.is_lived() {
            return self.read_copied(event);
        }
        let was_open = self.is_open;
        let change = match &event.body {
            Body::UserMessage(_) if was_open => TurnChange::Joined,
            Body::UserMessage(_) => TurnChange::Begun,
            Body::TurnStarted(_) if !was_open => TurnChange::Retried,
            Body::TurnEnded(it) => TurnChange::Ended { reason: it.reason, bound: it.bound },
            Body::LeafMoved(_) => TurnChange::LeftBehind,
            _ => return None,
        };
        self.is_open = !matches!(change, TurnChange::Ended { .. } | TurnChange::LeftBehind);
        Some(change)
    }

    /// Of a copied turn there are only the messages: it begins with one that follows no other.
    fn read_copied(&mut self, event: &Event) -> Option<TurnChange> {
        let Body::UserMessage(_) = event.body else { return None };
        self.copied.insert(event.id);
        let joins = event.parent_id.is_some_and(|id| self.copied.contains(&id));
        Some(if joins { TurnChange::Joined } else { TurnChange::Begun })
    }
}

#[cfg(test)]
mod tests;
