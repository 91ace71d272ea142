//! What wakes an agent.
//!
//! A person's message, a button, a slot of the schedule, a peer's message: all enter by the same
//! door and are accepted once. Nothing bypasses the inbox.

use serde::{Deserialize, Serialize};

use crate::event::messages::{Author, IngressRef, Trust};
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
    pub content: IngressContent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum IngressContent {
    Text { text: String },
}

/// A message longer than this is refused at the door.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A key longer than this is refused at the door.
pub const INGRESS_KEY_BYTES_MAX: usize = 512;
