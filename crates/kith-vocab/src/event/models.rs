//! Events of a request to a model.

use serde::{Deserialize, Serialize};

use super::messages::Usage;
use crate::ids::EventId;
use crate::json::Json;
use crate::text::Text;

/// Written before a model is asked, so that every byte it was sent can be proven afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelRequested {
    /// The id the answer's event will have.
    pub request_id: EventId,
    pub purpose: Purpose,
    pub provider: String,
    pub wire: Wire,
    pub model: String,
    /// What the body carries besides model, prompt, tools and messages.
    pub parameters: Json,
    pub renderer_version: u32,
    pub body_sha256: String,
    pub body_bytes: u64,
    pub reserved: Reserved,
    /// Of a request for a summary: how much of the conversation it shows. Absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SummaryScope>,
}

/// The part of a conversation that a request for a summary shows, when the whole does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SummaryScope {
    /// The message at which it ends; that message is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<EventId>,
    /// Whether the results of calls are shortened.
    pub cut_results: bool,
    /// The bytes to which each text of a message or an answer is shortened. Absent: it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_bytes_max: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Turn,
    Compact,
}

/// A vendor's form of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    OpenaiChat,
    Anthropic,
    OpenaiResponses,
}

/// A model as a message names it. The log says with it where a resumed turn may go.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelRef {
    /// Its name in the settings.
    pub name: String,
    pub provider: String,
    pub wire: Wire,
    /// The vendor's name for it.
    pub model: String,
    /// The first 16 hex digits of the SHA-256 of wire, scheme, host, port and path.
    pub endpoint: String,
}

/// What the request may cost at most, until its usage is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reserved {
    pub tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelFailed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<EventId>,
    pub kind: FailureKind,
    pub message: Text,
    /// From 1.
    pub attempt: u32,
    /// When it will be tried again; absent: it will not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<u64>,
    /// The model that is asked from now on, until the turn ends: this one was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// What it used all the same: as the vendor said, or an estimate if an answer had begun. Absent
    /// in earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The vendor could not be reached.
    Network,
    /// It answered with an error status.
    Status,
    /// A server on this machine is starting, or is loading its model.
    Loading,
    /// It refused the key.
    Auth,
    /// The stream ended before the answer did.
    Cut,
    /// No byte came for too long.
    Timeout,
    /// It answered something that is not its protocol.
    Malformed,
    /// An answer without text and without calls.
    Empty,
    /// A call was cut off by the limit on tokens, twice.
    Truncated,
    /// The conversation is longer than the model can read.
    ContextLength,
    /// It does not take an image or a file of the conversation.
    Media,
    /// The reservation was refused.
    Budget,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactRequested {
    pub by: String,
    /// The models that may be asked for the summary when no turn is open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRef>,
}
