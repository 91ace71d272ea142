//! Calls about messages that wait in a session until the running turn ends, or that steer it.

use kith_vocab::event::control::Queue;
use kith_vocab::ids::{EventId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Changes, removes or moves a message that waits in a queue of a session. Whoever is not the owner
/// of the house may do so with their own messages only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditQueue {
    pub session: String,
    /// A repeated id gets the first answer again.
    pub edit_id: EventId,
    /// `follow_up` or `steer`.
    pub queue: Queue,
    pub change: QueueChange,
}

call!(Write "edit_queue", EditQueue => QueueView);

/// What is done to an item. `updatedAt` says which version of it the client has seen: if it was
/// changed since, the call is refused (`conflict`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum QueueChange {
    Replace {
        item_id: String,
        updated_at: u64,
        text: String,
    },
    Remove {
        item_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_at: Option<u64>,
    },
    Move {
        item_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_at: Option<u64>,
        /// The index it has afterwards; one that is too high means the end.
        to: u32,
    },
}

impl QueueChange {
    pub(crate) fn item_id(&self) -> &str {
        let (QueueChange::Replace { item_id, .. }
        | QueueChange::Remove { item_id, .. }
        | QueueChange::Move { item_id, .. }) = self;
        item_id
    }
}

/// Lists what waits in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListQueue {
    pub session: String,
}

call!(Read "list_queue", ListQueue => WaitingMessages);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingMessages {
    pub session_id: SessionId,
    /// Those that steer the running turn.
    pub steers: Vec<QueuedMessage>,
    /// Those that are answered after it.
    pub follow_ups: Vec<QueuedMessage>,
    /// The last turn did not end well, so they wait until a person lets them go on.
    pub is_held: bool,
}

/// The queue as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    pub session_id: SessionId,
    pub queue: Vec<QueuedMessage>,
}

/// A message that waits. Its times are milliseconds, as in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedMessage {
    pub id: String,
    /// What was said, or the beginning of it; the session's events have it whole.
    pub content: String,
    pub created_at: u64,
    pub updated_at: u64,
}

/// Goes on with the first message that waits in a session, if its queue is held because the last turn
/// did not end well. Refused while a turn runs. Whoever is not the owner of the house may do so if the
/// message is their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TakeNext {
    pub session: String,
    /// A repeated id begins no second turn.
    pub take_id: EventId,
}

call!(Write "take_next", TakeNext => TakenMessage);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TakenMessage {
    pub session_id: SessionId,
    /// Whether a turn has begun; false if nothing waited.
    pub has_begun: bool,
    /// What waits behind it.
    pub queue: Vec<QueuedMessage>,
}
