//! Events that wake an agent.
//!
//! A person's message, a button, a slot of the schedule, a peer's message: all enter by the same
//! door and are accepted once. Nothing bypasses the inbox.

use serde::{Deserialize, Serialize};

use crate::block::Media;
use crate::event::messages::{Author, IngressRef, Trust};
use crate::event::models::ModelRef;
use crate::header::Audience;
use crate::ids::{LeafId, ThreadId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressEvent {
    /// `platform:account:id`. The same key is the same event, however often it is delivered.
    pub key: String,
    pub agent_id: String,
    pub thread_id: ThreadId,
    pub audience: Audience,
    pub client_id: String,
    pub author: Author,
    pub trust: Trust,
    pub ingress: IngressRef,
    /// When the platform says it happened.
    pub ts: u64,
    /// Where a session begins, should this event begin one.
    pub cwd: String,
    /// Where the conversation must end for this to be said: its author has seen it up to there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf: Option<LeafId>,
    /// What the message does if a turn is running when it is written.
    #[serde(default, skip_serializing_if = "RunningBehavior::is_follow_up")]
    pub running_behavior: RunningBehavior,
    /// The models that may be asked, the chosen one first. No other gets to see the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRef>,
    /// Whether its author is there to be asked.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub attended: bool,
    /// The language of its author's client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    pub content: IngressContent,
}

/// What a message does if a turn is running when it is written into the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunningBehavior {
    /// It waits in the queue for the end of the turn.
    #[default]
    FollowUp,
    /// The model reads it before its next request of this turn.
    Steer,
}

impl RunningBehavior {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_follow_up(&self) -> bool {
        *self == RunningBehavior::FollowUp
    }
}

pub(crate) fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_yes(value: &bool) -> bool {
    *value
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum IngressContent {
    Text {
        text: String,
        /// Images and files. Their bytes are blobs that were durable before the message was accepted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Media>,
    },
}

impl IngressContent {
    pub fn text(text: impl Into<String>) -> IngressContent {
        IngressContent::Text { text: text.into(), attachments: Vec::new() }
    }
}

/// Maximum number of attachments of one message.
pub const ATTACHMENTS_MAX: usize = 32;
/// Bytes of all attachments of one message together: as many as one request can carry.
pub const ATTACHMENT_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// A message longer than this is refused at the door.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A key longer than this is refused at the door.
pub const INGRESS_KEY_BYTES_MAX: usize = 512;

#[cfg(test)]
mod tests;
