//! The state of a call as a screen shows it.
//!
//! Each state holds exactly what clients demand of it. A call only moves forward, so every change
//! takes the state and gives the next one; what does not fit leaves it as it is.

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::messages::{Outcome, ToolResult};
use kith_vocab::json::Json;
use kith_vocab::text::Text;
use serde::Serialize;

use super::FilePart;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ToolState {
    InputAvailable {
        input: Json,
    },
    ApprovalRequested {
        input: Json,
        approval: ApprovalRequestView,
    },
    ApprovalResponded {
        input: Json,
        approval: ApprovalResponseView,
    },
    OutputAvailable {
        input: Json,
        output: ToolOutputView,
        /// Never one that was not approved.
        #[serde(skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalResponseView>,
    },
    OutputError {
        input: Json,
        error_text: Text,
        /// Never one that was not approved.
        #[serde(skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalResponseView>,
    },
    OutputDenied {
        input: Json,
        /// Never one that was approved.
        approval: ApprovalResponseView,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalRequestView {
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalResponseView {
    pub id: String,
    pub approved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

/// The output of a tool: a text, and files if there are any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ToolOutputView {
    Text(Text),
    Rich { text: Text, files: Vec<FilePart> },
}

impl ToolState {
    /// Whether nothing can follow.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            ToolState::InputAvailable { .. }
            | ToolState::ApprovalRequested { .. }
            | ToolState::ApprovalResponded { .. } => false,
            ToolState::OutputAvailable { .. }
            | ToolState::OutputError { .. }
            | ToolState::OutputDenied { .. } => true,
        }
    }

    pub(super) fn with_approval_request(self, id: &str) -> ToolState {
        match self {
            ToolState::InputAvailable { input } => ToolState::ApprovalRequested {
                input,
                approval: ApprovalRequestView { id: id.to_owned() },
            },
            other => other,
        }
    }

    pub(super) fn with_approval_response(self, answer: ApprovalResponseView) -> ToolState {
        match self {
            ToolState::ApprovalRequested { input, approval } if approval.id == answer.id => {
                ToolState::ApprovalResponded { input, approval: answer }
            }
            other => other,
        }
    }

    pub(super) fn with_result(self, result: &ToolResult) -> ToolState {
        let (input, answer) = match self {
            ToolState::InputAvailable { input } | ToolState::ApprovalRequested { input, .. } => {
                (input, None)
            }
            ToolState::ApprovalResponded { input, approval } => (input, Some(approval)),
            settled => return settled,
        };
        match (result.outcome, answer) {
            (Outcome::Refused, Some(approval)) if !approval.approved => {
                ToolState::OutputDenied { input, approval }
            }
            (Outcome::Done, answer) => ToolState::OutputAvailable {
                input,
                output: output(&result.content),
                approval: answer.filter(|it| it.approved),
            },
            (outcome, answer) => ToolState::OutputError {
                input,
                error_text: error_text(&result.content, outcome),
                approval: answer.filter(|it| it.approved),
            },
        }
    }
}

fn output(content: &[Block]) -> ToolOutputView {
    let text = plain_text(content);
    let files: Vec<FilePart> = content.iter().filter_map(FilePart::of).collect();
    if files.is_empty() { ToolOutputView::Text(text) } else { ToolOutputView::Rich { text, files } }
}

/// Never empty: a screen has nothing else to say why.
fn error_text(content: &[Block], outcome: Outcome) -> Text {
    let text = plain_text(content);
    if !text.trim().is_empty() {
        return text;
    }
    let word = match outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::Refused => "refused",
        Outcome::Cancelled => "cancelled",
        Outcome::Interrupted => "interrupted: it may or may not have taken effect",
    };
    word.into()
}

impl FilePart {
    /// The scheme under which a house keeps what is too large for a message.
    pub const BLOB_SCHEME: &str = "kith-blob:";

    pub(super) fn of(block: &Block) -> Option<FilePart> {
        match block {
            Block::Image(it) | Block::Audio(it) | Block::File(it) => Some(FilePart {
                media_type: it.media_type.clone(),
                url: format!("{}{}", FilePart::BLOB_SCHEME, it.blob),
                filename: it.name.clone(),
            }),
            Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) => None,
        }
    }
}
