//! What is said to begin a session before anything is said in it.

use kith_vocab::header::Priming;
use kith_vocab::ids::{SessionId, ThreadId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateDialog {
    /// The id the session will have. A repeated one makes no second session.
    pub(crate) session_id: SessionId,
    /// Whose; without it, the one that is meant when nobody is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<String>,
    pub(crate) thread_id: ThreadId,
    pub(crate) cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) priming: Option<Priming>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Created {
    pub(crate) session_id: SessionId,
    pub(crate) thread_id: ThreadId,
    /// How many events its scripts became.
    pub(crate) primed: usize,
}
