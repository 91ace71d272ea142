//! The conversation as a screen reads it: AI SDK `UIMessage`s.
//!
//! The one module that turns events into `UIMessage`s, for thread files, exports and every screen
//! to come. The types hold the subset of version 6, which clients of version 7 accept as well; what
//! a part must and must not hold in a state is decided by its type, because a client refuses the
//! whole conversation for one stray key. Nothing a model is told in private has a place here.

mod builder;
mod chunk;
mod chunk_stream;
mod parts;
mod projection;
mod tool_state;

use kith_vocab::event::calls::ReplyVerdict;
use kith_vocab::event::control::{Bound, EndReason, Level};
use kith_vocab::event::messages::{Author, HarnessKind, Origin, Visibility};
use kith_vocab::event::models::FailureKind;
use kith_vocab::ids::{CallId, EventId, SessionId, ThreadId};
use kith_vocab::json::Json;
use kith_vocab::text::Text;
use serde::Serialize;

pub use builder::{ProjectionBuilder, project};
pub use chunk::{FinishReason, NoteView, ProgressView, StreamEnd, UiChunk};
pub use chunk_stream::ChunkStream;
pub use projection::Projection;
pub use tool_state::{ApprovalRequestView, ApprovalResponseView, ToolOutputView, ToolState};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UiMessage {
    /// Of a person's message the id of its event; of an answer that of the message that began its
    /// turn and `_reply`, so that it is known before there is an answer.
    pub id: String,
    pub role: UiRole,
    pub metadata: Metadata,
    pub parts: Vec<MessagePart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UiRole {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// When it began, in RFC 3339.
    pub timestamp: String,
    pub platform: String,
    pub thread_id: ThreadId,
    /// The id of the author: a person, or the agent.
    pub user_id: String,
    /// The platform's id of the message; where it has none, that of the message here.
    pub message_id: String,
    /// The same for a message and the answer to it.
    pub correlation_id: String,
    /// Where the log of it is.
    pub session_id: SessionId,
    /// The last event that this message takes into account; while its turn is open, the message
    /// that began that.
    pub seq: u64,
}

/// One piece of a message. `data-*` parts are shown to people and never sent to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum MessagePart {
    Text {
        text: Text,
    },
    Reasoning {
        text: Text,
    },
    File(FilePart),
    /// Before what one answer of the model holds.
    StepStart,
    DynamicTool(ToolPart),
    #[serde(rename = "data-reminder")]
    Reminder(DataPart<ReminderView>),
    #[serde(rename = "data-notice")]
    Notice(DataPart<NoticeView>),
    /// The model could not be asked.
    #[serde(rename = "data-error")]
    Error(DataPart<ErrorView>),
    /// A question to a person; the part of the call shows its state.
    #[serde(rename = "data-approval")]
    Approval(DataPart<ApprovalView>),
    #[serde(rename = "data-approval-reply")]
    ApprovalReply(DataPart<ReplyView>),
    #[serde(rename = "data-delegated")]
    Delegated(DataPart<DelegatedView>),
    #[serde(rename = "data-compact")]
    Compact(DataPart<CompactView>),
    /// A record of a priming script that has no other form here.
    #[serde(rename = "data-record")]
    Record(DataPart<Json>),
    /// The conversation went on from here.
    #[serde(rename = "data-branch")]
    Branch(DataPart<BranchView>),
    /// The turn did not end well.
    #[serde(rename = "data-turn-ended")]
    TurnEnded(DataPart<EndView>),
}

/// The content of a `data-*` part, under the id of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataPart<T> {
    pub id: EventId,
    pub data: T,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FilePart {
    pub media_type: String,
    /// `kith-blob:` and the hash of the bytes; a client fetches them from the house.
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// A call. All tools are `dynamic-tool`s, so that a conversation stays valid when a tool is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPart {
    pub tool_name: String,
    pub tool_call_id: CallId,
    #[serde(flatten)]
    pub state: ToolState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReminderView {
    pub kind: HarnessKind,
    pub origin: Origin,
    pub visibility: Visibility,
    /// All of it, or the first line of one that is shown folded.
    pub text: Text,
    /// The author, if it is a person's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeView {
    pub text: Text,
    pub level: Level,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    pub kind: FailureKind,
    pub text: Text,
    pub attempt: u32,
    /// Whether it was tried again.
    pub retried: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    pub approval_id: String,
    pub tool_call_id: CallId,
    pub code: String,
    pub summary: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    pub paths: Vec<String>,
    pub risk: Text,
    pub expires_at: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplyView {
    pub text: Text,
    pub author: Author,
    pub verdict: ReplyVerdict,
    pub approvals: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DelegatedView {
    pub tool_call_id: CallId,
    pub session_id: SessionId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactView {
    pub summary: Text,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchView {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndView {
    pub reason: EndReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
}

#[cfg(test)]
mod tests;
