//! The content of a request, independent of vendors.
//!
//! The engine projects the log onto this list; the wires only translate it. The list alternates
//! strictly between user and assistant and begins and ends with the user, every call has exactly one result,
//! and results come first in the message after their calls, in the order of the calls.

use serde::{Deserialize, Serialize};

use crate::block::{Media, Thinking, ToolCall};
use crate::ids::{CallId, EventId};
use crate::json::Json;
use crate::snapshot::ToolSpec;
use crate::text::{FramedText, framed_in_pieces};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub elements: Vec<Element>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    User,
    Assistant,
}

/// One content block of a request. What was sent once never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The event it came from; `None` for text of our own that is in no event.
    pub from: Option<EventId>,
    pub kind: ElementKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementKind {
    #[serde(with = "framed_in_pieces")]
    Text(FramedText),
    /// Text that no one in the conversation said: a reminder, or a fixed line that keeps the
    /// request well formed.
    #[serde(with = "framed_in_pieces")]
    Meta(FramedText),
    Media(Media),
    /// With the provider and model that wrote it: no other may be shown it.
    Thinking {
        thinking: Thinking,
        provider: String,
        model: String,
    },
    Call(ToolCall),
    Result(CallResult),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub call_id: CallId,
    pub tool: String,
    /// Anything but a finished run.
    pub failed: bool,
    /// The result's own blocks, then the reminders that joined it. A joined reminder begins with
    /// the blank line that sets it off, so a wire may simply concatenate the texts.
    pub parts: Vec<ResultPart>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultPart {
    pub from: Option<EventId>,
    pub kind: ResultPartKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResultPartKind {
    #[serde(with = "framed_in_pieces")]
    Text(FramedText),
    Media(Media),
}

/// Everything a request body is made of. Rendering it is a pure function.
#[derive(Clone, Debug)]
pub struct ModelRequest<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    /// A JSON object whose members enter the body as they are.
    pub parameters: &'a Json,
    pub system: &'a str,
    pub tools: &'a [ToolSpec],
    pub messages: Vec<&'a Message>,
}
