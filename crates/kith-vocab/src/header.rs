//! The first line of a session.

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, EventId, SessionId, ThreadId};

/// The version of the log format that this program writes.
pub const LOG_FORMAT_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionHeader {
    pub v: u32,
    #[serde(rename = "type")]
    pub line_type: HeaderType,
    pub session_id: SessionId,
    pub agent_id: String,
    pub device_id: String,
    pub created_at: u64,
    pub thread_id: ThreadId,
    pub audience: Audience,
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloned_from: Option<CloneOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<DelegationOrigin>,
    pub meta: HeaderMeta,
}

/// Always `"session_header"`; a type of its own so that any other word is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeaderType {
    #[serde(rename = "session_header")]
    SessionHeader,
}

/// Who can read a thread. Decides what of the agent's self enters its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    Owner,
    Shared,
    Peer,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloneOrigin {
    pub session_id: SessionId,
    pub event_id: EventId,
}

/// The call of another session whose work this one does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DelegationOrigin {
    pub session_id: SessionId,
    pub call_id: CallId,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priming: Option<Priming>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Priming {
    pub script_refs: Vec<String>,
    pub show_in_ui: bool,
}
