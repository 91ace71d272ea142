//! Events of the conversation, and the snapshot that it is based on.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::ids::{CallId, EventId};
use crate::json::Json;
use crate::snapshot::InstructionSnapshot;
use crate::text::Text;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionSnapshotEvent {
    pub snapshot: InstructionSnapshot,
}

/// Someone spoke in the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserMessage {
    pub message: MessageContent,
    pub author: Author,
    pub trust: Trust,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_item_id: Option<String>,
    /// What the record of a priming script that the message came from says besides its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primed: Option<Json>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageContent {
    pub content: Vec<Block>,
    /// Set when the runtime, not a person, wrote the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Author {
    pub user_id: String,
    pub display_name: String,
}

/// How far a text's author is trusted, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Owner,
    Paired,
    Shared,
    Peer,
    Untrusted,
}

/// The platform's own names for a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressRef {
    pub platform: String,
    pub account: String,
    pub message_id: String,
    pub correlation_id: String,
}

/// The model answered. Without calls, it is done for now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssistantMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<EventId>,
    pub message: AnswerContent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    pub stop_reason: StopReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primed: Option<Json>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerContent {
    pub content: Vec<Block>,
}

/// Tokens, and money in micro-USD where a price is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The vendor did not say it: it is estimated from what was sent and what came back. Absent if
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_estimate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolCall,
    Cancelled,
    MaxTokens,
    Refusal,
    Error,
}

/// The result of a call, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolResult {
    pub call_id: CallId,
    pub tool: String,
    pub content: Vec<Block>,
    pub outcome: Outcome,
    pub trust: Trust,
    /// The blob that holds the whole output when `content` is a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primed: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Failed,
    Refused,
    Cancelled,
    /// The process died while the tool ran: it is unknown whether it took effect.
    Interrupted,
}

/// Something that the runtime tells the model, shown to it as a reminder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HarnessItemEvent {
    pub item: HarnessItem,
    pub trust: Trust,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_item_id: Option<String>,
    /// The tool result whose text the reminder joins, decided when it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<EventId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primed: Option<Json>,
}

impl HarnessItemEvent {
    /// A reminder that no person wrote and that stands by itself.
    pub fn new(item: HarnessItem, trust: Trust) -> HarnessItemEvent {
        let (author, queue_item_id, merged_into, primed) = (None, None, None, None);
        HarnessItemEvent { item, trust, author, queue_item_id, merged_into, primed }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HarnessItem {
    pub kind: HarnessKind,
    pub origin: Origin,
    /// The bare text; the envelope exists only in the request.
    pub content: Text,
    pub visibility: Visibility,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarnessKind {
    Attachment,
    SkillListing,
    SkillDelta,
    Memory,
    DateChange,
    Steer,
    RuntimeNotice,
    ChannelContext,
}

impl HarnessKind {
    /// As it is written in a log.
    pub fn name(self) -> &'static str {
        match self {
            HarnessKind::Attachment => "attachment",
            HarnessKind::SkillListing => "skill_listing",
            HarnessKind::SkillDelta => "skill_delta",
            HarnessKind::Memory => "memory",
            HarnessKind::DateChange => "date_change",
            HarnessKind::Steer => "steer",
            HarnessKind::RuntimeNotice => "runtime_notice",
            HarnessKind::ChannelContext => "channel_context",
        }
    }

    /// How much of it a person is shown unless it says otherwise.
    pub fn usual_visibility(self) -> Visibility {
        match self {
            HarnessKind::SkillListing | HarnessKind::SkillDelta => Visibility::Hidden,
            HarnessKind::Attachment | HarnessKind::Steer => Visibility::Display,
            HarnessKind::Memory
            | HarnessKind::DateChange
            | HarnessKind::RuntimeNotice
            | HarnessKind::ChannelContext => Visibility::Compact,
        }
    }
}

/// The actual origin, whatever role it is sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    User,
    System,
    Tool,
    Skill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    Display,
    Hidden,
    Compact,
}

/// From here on the model sees a summary in place of what came before the kept tail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compact {
    pub request_id: EventId,
    pub model: String,
    pub usage: Usage,
    pub summary: Text,
    pub ledger: Ledger,
    pub first_kept_event_id: EventId,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// Facts that code, not the model's summary, carries over a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ledger {
    pub identifiers: Vec<String>,
    pub paths: Vec<String>,
    pub open_tasks: Vec<String>,
    /// So that a summary which forgets it does not open a finished task again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done_tasks: Vec<String>,
}

/// A record of a priming script that has no counterpart here: kept and shown, not sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrimedRecord {
    pub record: Json,
}
