//! The pieces in which a message travels while it grows: chunks of the AI SDK's UI message stream.
//!
//! Only chunks of version 6 are sent, which clients of version 7 take as well. A client gives up the
//! whole stream for an unknown type or for a `null`, so a field that has no value is left out.

use kith_vocab::event::messages::StopReason;
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::text::Text;
use serde::Serialize;

use super::{MessagePart, Metadata, ToolOutputView};
use crate::report::{MessageEnd, TurnReport};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UiChunk {
    Start {
        message_id: String,
        message_metadata: Box<Metadata>,
    },
    StartStep,
    FinishStep,
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        delta: String,
    },
    TextEnd {
        id: String,
    },
    ReasoningStart {
        id: String,
    },
    ReasoningDelta {
        id: String,
        delta: String,
    },
    ReasoningEnd {
        id: String,
    },
    File {
        url: String,
        media_type: String,
    },
    ToolInputStart {
        tool_call_id: CallId,
        tool_name: String,
        dynamic: bool,
    },
    ToolInputDelta {
        tool_call_id: CallId,
        input_text_delta: String,
    },
    ToolInputAvailable {
        tool_call_id: CallId,
        tool_name: String,
        input: Json,
        dynamic: bool,
    },
    /// The input of a call that never became one: its request failed.
    ToolInputError {
        tool_call_id: CallId,
        tool_name: String,
        input: String,
        error_text: String,
        dynamic: bool,
    },
    ToolApprovalRequest {
        approval_id: String,
        tool_call_id: CallId,
    },
    ToolOutputAvailable {
        tool_call_id: CallId,
        output: ToolOutputView,
        dynamic: bool,
    },
    ToolOutputError {
        tool_call_id: CallId,
        error_text: Text,
        dynamic: bool,
    },
    ToolOutputDenied {
        tool_call_id: CallId,
    },
    /// A line that a running call printed. It is shown and not kept.
    #[serde(rename = "data-progress")]
    Progress {
        data: ProgressView,
        transient: bool,
    },
    /// What the host has to say beside the turn. It is shown and not kept.
    #[serde(rename = "data-note")]
    Note {
        data: NoteView,
        transient: bool,
    },
    MessageMetadata {
        message_metadata: Box<Metadata>,
    },
    Finish {
        finish_reason: FinishReason,
    },
    Abort,
    Error {
        error_text: String,
    },
    /// A `data-*` part, which has the form of its chunk.
    #[serde(untagged)]
    Data(Box<MessagePart>),
}

impl UiChunk {
    pub fn note(text: String) -> UiChunk {
        UiChunk::Note { data: NoteView { text }, transient: true }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoteView {
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressView {
    pub tool_call_id: CallId,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    Stop,
    Length,
    ContentFilter,
    /// Calls wait for an answer of the person.
    ToolCalls,
    /// A limit of the turn; a `data-turn-ended` part names it.
    Other,
}

/// How a stream ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    Finish(FinishReason),
    /// A person stopped the turn, or took the message back.
    Abort,
    Error(String),
}

impl StreamEnd {
    /// How the stream of a message with this outcome ends. `problem` is told where the log does not
    /// say what went wrong.
    pub fn of(report: &TurnReport, problem: &str) -> StreamEnd {
        match report.end {
            MessageEnd::Done => StreamEnd::Finish(match report.stop_reason {
                Some(StopReason::MaxTokens) => FinishReason::Length,
                Some(StopReason::Refusal) => FinishReason::ContentFilter,
                _ => FinishReason::Stop,
            }),
            MessageEnd::Waiting => StreamEnd::Finish(FinishReason::ToolCalls),
            MessageEnd::Bound(_) => StreamEnd::Finish(FinishReason::Other),
            MessageEnd::Cancelled | MessageEnd::Removed => StreamEnd::Abort,
            MessageEnd::Failed => {
                StreamEnd::Error(report.failure.clone().unwrap_or_else(|| problem.to_owned()))
            }
            MessageEnd::Held | MessageEnd::Declined(_) | MessageEnd::Unknown => {
                StreamEnd::Error(problem.to_owned())
            }
        }
    }

    pub(super) fn chunk(self) -> UiChunk {
        match self {
            StreamEnd::Finish(finish_reason) => UiChunk::Finish { finish_reason },
            StreamEnd::Abort => UiChunk::Abort,
            StreamEnd::Error(error_text) => UiChunk::Error { error_text },
        }
    }
}
