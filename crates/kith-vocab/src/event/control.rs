//! Events outside the conversation: turns, queues, branches, notices, deliveries.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::event::messages::{Author, IngressRef, Trust, Usage};
use crate::event::models::ModelRef;
use crate::ids::{CallId, EventId, ThreadId};
use crate::json::Json;
use crate::text::Text;

/// What a turn may use, and whom it speaks to; without one the defaults hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnStarted {
    pub limits: Limits,
    pub context_window: u64,
    pub model: String,
    pub language: String,
    /// Whether a person is there to be asked.
    pub attended: bool,
    /// The models that may be asked, the chosen one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRef>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Requests to the model.
    pub steps: u32,
    /// Identical calls in a row.
    pub repeats: u32,
    pub wall_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

pub const TURN_STEPS_MAX: u32 = 50;
pub const CALL_REPEATS_MAX: u32 = 5;
pub const TURN_WALL_MS_MAX: u64 = 60 * 60 * 1000;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            steps: TURN_STEPS_MAX,
            repeats: CALL_REPEATS_MAX,
            wall_ms: TURN_WALL_MS_MAX,
            tokens: None,
            cost_micros: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillIndexSnapshot {
    pub entries: Vec<SkillEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillIndexDelta {
    pub added: Vec<SkillEntry>,
    pub changed: Vec<SkillEntry>,
    pub removed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillEntry {
    pub name: String,
    pub display_name: String,
    pub description: String,
    pub path: String,
    pub scope: String,
    pub sha256: String,
}

/// The whole queue as it is now: adding, editing, moving and deleting are rewrites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueUpdate {
    pub queue: Queue,
    pub items: Vec<QueueItem>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    FollowUp,
    Steer,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueItem {
    pub id: String,
    pub content: Vec<Block>,
    pub created_at: u64,
    pub updated_at: u64,
    pub client_id: String,
    pub author: Author,
    pub trust: Trust,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressRef>,
    /// The inbox row that the item came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress_key: Option<String>,
    /// The models that may be asked, the chosen one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRef>,
    /// Whether its author's client said that a person is there to be asked.
    #[serde(default = "crate::ingress::yes", skip_serializing_if = "crate::ingress::is_yes")]
    pub attended: bool,
    /// The language of its author's client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// The conversation continues from another place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeafMoved {
    /// `null`: before the first message. The key is always there.
    #[serde(deserialize_with = "Option::deserialize")]
    pub to: Option<EventId>,
    pub reason: LeafReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeafReason {
    Branch,
    Silent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTitleUpdated {
    pub title: String,
    pub source: TitleSource,
}

/// A title given by hand is not replaced by a generated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TitleSource {
    User,
    Generated,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelRequested {
    pub by: String,
}

/// The session was left with something open and is worked on again: what precedes this line and
/// is still open was cut short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resumed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_request: Option<EventId>,
    pub open_calls: Vec<CallId>,
}

/// A line from the runtime to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    pub text: Text,
    pub level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warn,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnEnded {
    pub reason: EndReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    pub steps: u32,
    /// What the request used that was stopped with the turn, if no answer of it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Done,
    Cancelled,
    Failed,
    Bound,
}

/// Which limit of the turn was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Steps,
    Repeats,
    Wall,
    Tokens,
    Cost,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EgressIntended {
    pub egress_id: String,
    pub of: EventId,
    pub thread_id: ThreadId,
    pub parts: Json,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EgressSettled {
    pub egress_id: String,
    pub outcome: EgressOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EgressOutcome {
    Sent,
    Failed,
    Unknown,
}

/// A write that a crash cut short was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogRepaired {
    pub torn_bytes: u64,
    pub torn_file: String,
}
