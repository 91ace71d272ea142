//! Calls about the branches of a session.

use kith_vocab::ids::{EventId, LeafId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Shows every branch of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowTree {
    pub session: String,
}

call!(Read "show_tree", ShowTree => TreeView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeView {
    pub session_id: SessionId,
    pub leaf: Option<EventId>,
    /// In the order of the log.
    pub nodes: Vec<TreeNode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    pub event_id: EventId,
    pub parent_id: Option<EventId>,
    /// The type of the event.
    pub kind: String,
    /// How it begins.
    pub text: String,
    pub ts: String,
    pub on_path: bool,
}

/// Goes on from an earlier place of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BranchSession {
    pub session: String,
    /// An event id, a beginning or an end of one, or `start`.
    pub to: String,
    /// It is done only if the conversation ends there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf: Option<LeafId>,
    /// A repeated id gets the first answer again.
    pub branch_id: EventId,
}

call!(Write "branch_session", BranchSession => SessionPlace);

/// Begins a new session with a copy of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloneSession {
    pub session: String,
    /// The last event that is copied; all if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The session to be made. A repeated id gets the first answer again.
    pub clone_id: SessionId,
}

call!(Write "clone_session", CloneSession => SessionPlace);

/// Where a session goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPlace {
    pub session_id: SessionId,
    pub leaf: Option<EventId>,
}
