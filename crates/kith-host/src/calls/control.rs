//! Calls that cancel or retry a turn.

use kith_vocab::ids::{EventId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feed::TurnItem;
use super::message::MessageReply;
use crate::call::call;

/// Stops the turn that runs in a session, whoever began it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelTurn {
    pub session: String,
    /// A repeated id gets the first answer again.
    #[schemars(with = "String")]
    pub cancel_id: EventId,
}

call!(Write "cancel_turn", CancelTurn => CancelledTurn);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelledTurn {
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// Whether a turn was running.
    pub was_running: bool,
}

/// Takes up the last turn of a session, if it did not end well, with the model it began with; or
/// goes on with one that was cut short. Follows it until it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryTurn {
    pub session: String,
    /// A repeated id begins no second turn.
    #[schemars(with = "String")]
    pub retry_id: EventId,
}

call!(Write "retry_turn", RetryTurn => MessageReply, items TurnItem);
