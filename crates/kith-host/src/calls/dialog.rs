//! The call that creates a session before its first message.

use kith_vocab::header::Priming;
use kith_vocab::ids::{SessionId, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Begins a session, empty or with a history that scripts tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDialog {
    /// The id the session will have. A repeated one makes no second session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// Whose; without it, the default agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[schemars(with = "String")]
    pub thread_id: ThreadId,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub priming: Option<Priming>,
}

call!(Write "create_dialog", CreateDialog => CreatedDialog);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedDialog {
    #[schemars(with = "String")]
    pub session_id: SessionId,
    #[schemars(with = "String")]
    pub thread_id: ThreadId,
    /// How many events its scripts became.
    pub primed: usize,
}
