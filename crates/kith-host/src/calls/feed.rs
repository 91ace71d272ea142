//! What followers of a session are sent.

use kith_engine::feed::{DeltaKind, FeedDelta, RunningAnswer, RunningPart};
use kith_vocab::event::Event;
use kith_vocab::ids::{CallId, EventId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a turn does while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnItem {
    /// It is on disk.
    Event(Box<Event>),
    /// A piece of an answer. Some may be missing; the event has them all.
    Delta(AnswerDelta),
    /// What the running request had said before this client came, or while it was behind.
    Running(Vec<AnswerDelta>),
    /// Why nothing comes of the message yet, in words. Subscriptions have none.
    Note(String),
}

/// A piece of an answer, and what it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerDelta {
    /// Rises within one life of a host, with gaps.
    pub stream_seq: u64,
    /// The id that the answer's event will have.
    pub request_id: EventId,
    /// The index of the block among the answer's blocks.
    pub block: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    pub kind: AnswerDeltaKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AnswerDeltaKind {
    Text,
    Thinking,
    /// A call begins; the text is the tool's name.
    ToolName,
    ToolInput,
    /// A line of a call that runs.
    Progress,
}

impl From<&FeedDelta> for AnswerDelta {
    fn from(delta: &FeedDelta) -> AnswerDelta {
        AnswerDelta {
            stream_seq: delta.stream_seq,
            request_id: delta.request_id,
            block: delta.block,
            call_id: delta.call_id,
            kind: delta.kind.into(),
            text: delta.text.clone(),
        }
    }
}

impl From<DeltaKind> for AnswerDeltaKind {
    fn from(kind: DeltaKind) -> AnswerDeltaKind {
        match kind {
            DeltaKind::Text => AnswerDeltaKind::Text,
            DeltaKind::Thinking => AnswerDeltaKind::Thinking,
            DeltaKind::ToolName => AnswerDeltaKind::ToolName,
            DeltaKind::ToolInput => AnswerDeltaKind::ToolInput,
            DeltaKind::Progress => AnswerDeltaKind::Progress,
        }
    }
}

impl TurnItem {
    /// What a running request has said so far, block by block.
    pub(crate) fn running(answer: RunningAnswer) -> TurnItem {
        let (request_id, stream_seq) = (answer.request_id, answer.stream_seq);
        let part = |RunningPart { block, call_id, kind, text }| AnswerDelta {
            stream_seq,
            request_id,
            block,
            call_id,
            kind: AnswerDeltaKind::from(kind),
            text,
        };
        TurnItem::Running(answer.parts.into_iter().map(part).collect())
    }
}
