//! Calls that cancel or retry a turn.

use kith_vocab::ids::{EventId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feed::TurnItem;
use super::message::MessageReply;
use crate::call::{Access, Call, Follow};

/// Stops the turn that runs in a session, whoever began it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelTurn {
    pub session: String,
    /// A repeated id gets the first answer again.
    #[schemars(with = "String")]
    pub cancel_id: EventId,
}

impl Call for CancelTurn {
    const NAME: &'static str = "cancel_turn";
    const ACCESS: Access = Access::Write;
    type Answer = CancelledTurn;
}

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

impl Call for RetryTurn {
    const NAME: &'static str = "retry_turn";
    const ACCESS: Access = Access::Write;
    type Answer = MessageReply;
}

impl Follow for RetryTurn {
    type Item = TurnItem;
}
