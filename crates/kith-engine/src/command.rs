//! Commands: requests of clients to a session other than messages.

use kith_vocab::block::Block;
use kith_vocab::event::Body;
use kith_vocab::event::calls::{Decision, Via};
use kith_vocab::event::control::{Queue, QueueItem};
use kith_vocab::event::models::ModelRef;
use kith_vocab::ids::{EventId, LeafId};

use crate::state::State;
use crate::state::ended_turn::EndedTurn;

/// A command, who gives it, and the id that its first event will have: a command that is repeated
/// under its id gets the first answer again.
#[derive(Clone, Debug)]
pub struct DriverCommand {
    pub id: EventId,
    pub client_id: String,
    pub user_id: String,
    pub action: CommandAction,
}

impl DriverCommand {
    pub(crate) fn is_retry(&self) -> bool {
        matches!(self.action, CommandAction::Retry { .. })
    }

    /// Whether it retries a turn that the message of this key began.
    pub(crate) fn retries(&self, message_key: Option<&str>) -> bool {
        match &self.action {
            CommandAction::Retry { key, .. } => key.is_none() || key.as_deref() == message_key,
            _ => false,
        }
    }

    /// The turn that it retries.
    pub(crate) fn retried<'a>(&self, state: &'a State) -> Option<&'a EndedTurn> {
        match &self.action {
            CommandAction::Retry { key, .. } => state.retried_by(key.as_deref()),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub enum CommandAction {
    /// Stops the turn that runs. With the key of a message: takes back that message if it waits,
    /// and stops the turn only if the message began it.
    Cancel {
        key: Option<String>,
    },
    /// Moves the leaf to a turn boundary. A turn that runs is stopped first.
    Branch {
        to: LeafId,
        expected_leaf: Option<LeafId>,
    },
    /// Takes up the last turn again, if it did not end well. With the key of a message: only if that
    /// message began it.
    Retry {
        key: Option<String>,
        attended: bool,
    },
    EditQueue {
        queue: Queue,
        edit: QueueEdit,
    },
    /// Goes on with the first item of a queue that is held.
    TakeNext,
    /// Answers a question by a button or a command.
    Decide(DecideAction),
    /// Asks for a compaction, of these models if no turn is open.
    Compact {
        models: Vec<ModelRef>,
    },
    /// Stops the summary that is being made between two turns; refused while a turn is open.
    CancelCompaction,
    /// Writes one event that is not part of the conversation: a title, a delivery.
    Append(Box<Body>),
}

/// Bytes of the reason of a decision, which the model reads.
pub const DECISION_REASON_BYTES_MAX: usize = 4 * 1024;

/// A decision about one question.
#[derive(Clone, Debug)]
pub struct DecideAction {
    pub approval_id: String,
    pub decision: Decision,
    pub via: Via,
    /// Also allows the same for this long.
    pub grant_minutes: Option<u32>,
    pub reason: Option<String>,
}

/// Why a reason is not accepted; `None` if it is.
pub fn refusal_of_reason(reason: Option<&str>) -> Option<String> {
    let is_too_long = reason.is_some_and(|it| it.len() > DECISION_REASON_BYTES_MAX);
    is_too_long.then(|| {
        format!("the reason of a decision is longer than {DECISION_REASON_BYTES_MAX} bytes")
    })
}

/// A change of a queue. The time says which version of the item its author has seen.
#[derive(Clone, Debug)]
pub enum QueueEdit {
    Replace {
        item_id: String,
        updated_at: u64,
        content: Vec<Block>,
    },
    Remove {
        item_id: String,
        updated_at: Option<u64>,
    },
    /// Moves the item to this index.
    Move {
        item_id: String,
        updated_at: Option<u64>,
        to: usize,
    },
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAnswer {
    /// The command's first event; `None` if there was nothing to do.
    pub event_id: Option<EventId>,
    /// Where the conversation ends now.
    pub leaf: LeafId,
    /// The inbox row of the message whose turn is open, or was the last.
    pub message_key: Option<String>,
    pub follow_ups: Vec<QueueItem>,
    pub steers: Vec<QueueItem>,
}
