//! Calls about threads.

use kith_vocab::event::Event;
use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::json::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Lists the threads of an agent, the last spoken in first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListThreads {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

call!(Read "list_threads", ListThreads => ThreadList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadList {
    pub threads: Vec<ThreadRowView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRowView {
    pub thread_id: ThreadId,
    pub audience: Audience,
    /// The one that the next message goes to.
    pub session_id: SessionId,
    pub title: Option<String>,
    pub updated_at: Option<String>,
    pub pending_approvals: Vec<String>,
}

/// Names the sessions of a thread, from the oldest to the newest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListThreadSessions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// A thread id, or a beginning or an end that only one has.
    pub thread: String,
}

call!(Read "list_thread_sessions", ListThreadSessions => ThreadSessions);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSessions {
    pub sessions: Vec<SessionId>,
}

/// Tells the session that the next message of a thread goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetThread {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub thread_id: ThreadId,
}

call!(Read "get_thread", GetThread => ThreadView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadView {
    /// `null` where nothing was said yet.
    pub session: Option<CurrentSession>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentSession {
    pub session_id: SessionId,
    pub title: Option<String>,
    /// What it was primed with, for someone who is about to say the first thing in it. Empty where
    /// something was said already, and where the history is not to be seen.
    pub history: Vec<Event>,
}

/// Finds the session in which the next message of a thread goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindCurrentSession {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub thread_id: ThreadId,
}

call!(Read "find_current_session", FindCurrentSession => CurrentSessionId);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentSessionId {
    /// `null` where nothing was said yet.
    pub session_id: Option<SessionId>,
}

/// Gives a thread or a session as UI messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListMessages {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub of: MessageSource,
}

call!(Read "list_messages", ListMessages => MessageList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageSource {
    Thread(String),
    Session(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageList {
    /// An array of AI SDK `UIMessage`s.
    pub messages: Json,
}

/// Makes the file of a thread, or of all, again from the logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RebuildThreads {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

call!(Write "rebuild_threads", RebuildThreads => ThreadFilesSummary);

/// Leaves of each message in the file of a thread, or of all, only the last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactThreads {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

call!(Write "compact_threads", CompactThreads => ThreadFilesSummary);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadFilesSummary {
    pub threads: u64,
    pub messages: u64,
}
