//! The call that explains a request.

use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::{Purpose, Wire};
use kith_vocab::ids::{EventId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Explains what a model was sent: every byte with its source, and what changed since the request
/// before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainRequest {
    pub session: String,
    /// The number of the turn, from 1, whose last request is explained (default: the last).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The id of the request itself, which wins over the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<EventId>,
    /// Whether the answer holds the body itself.
    #[serde(default)]
    pub with_body: bool,
}

call!(Read "explain_request", ExplainRequest => RequestExplanation);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestExplanation {
    pub session_id: SessionId,
    pub request_id: EventId,
    /// Milliseconds, as in the log.
    pub at: u64,
    pub turn: u32,
    pub purpose: Purpose,
    pub provider: String,
    pub model: String,
    pub wire: Wire,
    pub body_bytes: u64,
    pub body_sha256: String,
    pub proof: RequestProof,
    /// In the order of the body. What lies between them is the form of the vendor.
    pub spans: Vec<SpanView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Whether the bytes, rebuilt from the log, are those that were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RequestProof {
    Same,
    Different,
    /// Another version of the program made them.
    OtherRenderer,
    /// An image or file that was sent is gone.
    BlobLost,
}

/// Bytes of a body, from `start` up to `end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpanView {
    pub start: u64,
    pub end: u64,
    pub source: SourceView,
}

/// Where bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SourceView {
    /// A section of the instructions, with the files it was made of.
    Section {
        name: String,
        files: Vec<String>,
    },
    Tool {
        name: String,
    },
    Event {
        id: EventId,
        event_type: String,
    },
    /// A fixed text of the runtime.
    Runtime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeView {
    pub request_before: EventId,
    /// The bytes at the beginning of both that are the same.
    pub stable_bytes: u64,
    pub cause: CauseView,
    /// The first part that differs, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<PartChangeView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CauseView {
    Continued,
    Branched,
    Compacted,
    OtherModel,
    OtherPurpose,
    Unexplained,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PartChangeView {
    Added { source: SourceView },
    Replaced { before: SourceView, now: SourceView },
    Removed { source: SourceView },
}
