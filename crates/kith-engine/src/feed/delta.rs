//! Pieces of an answer on their way to screens.

use kith_vocab::ids::{CallId, EventId};
use kith_vocab::provider::{Delta, DeltaPart};
use serde::{Deserialize, Serialize};

/// Bytes of a running answer that are kept for followers that start late.
pub const RUNNING_ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A piece of an answer, or of a call's progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FeedDelta {
    /// Rises within one life of a host, with gaps.
    pub stream_seq: u64,
    /// The request that is answered; for progress, the answer that made the call.
    pub request_id: EventId,
    /// The index of the block among the answer's blocks.
    pub block: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    pub kind: DeltaKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeltaKind {
    Text,
    Thinking,
    /// A call begins; the text is the tool's name.
    ToolName,
    ToolInput,
    /// A line of a call that runs.
    Progress,
}

impl FeedDelta {
    pub(super) fn new(stream_seq: u64, request_id: EventId, delta: Delta<'_>) -> FeedDelta {
        let (call, kind, text) = match delta.part {
            DeltaPart::Text(text) => (None, DeltaKind::Text, text),
            DeltaPart::Thinking(text) => (None, DeltaKind::Thinking, text),
            DeltaPart::CallBegun { call, tool } => (Some(call), DeltaKind::ToolName, tool),
            DeltaPart::CallInput { call, json } => (Some(call), DeltaKind::ToolInput, json),
        };
        let call_id = call.map(|index| request_id.call(index));
        let (block, text) = (delta.block, text.to_owned());
        FeedDelta { stream_seq, request_id, block, call_id, kind, text }
    }

    pub(super) fn progress(stream_seq: u64, call_id: CallId, text: &str) -> FeedDelta {
        FeedDelta {
            stream_seq,
            request_id: call_id.answer,
            block: 0,
            call_id: Some(call_id),
            kind: DeltaKind::Progress,
            text: text.to_owned(),
        }
    }
}

/// The answer of the running request so far, one entry per block and kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunningAnswer {
    pub request_id: EventId,
    /// The last delta that is part of it.
    pub stream_seq: u64,
    pub parts: Vec<RunningPart>,
    /// More was said than is kept.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunningPart {
    pub block: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    pub kind: DeltaKind,
    pub text: String,
}

impl RunningAnswer {
    pub(super) fn begun_by(delta: &FeedDelta) -> RunningAnswer {
        let (request_id, stream_seq) = (delta.request_id, delta.stream_seq);
        RunningAnswer { request_id, stream_seq, parts: Vec::new(), is_cut: false }
    }

    pub(super) fn add(&mut self, delta: &FeedDelta) {
        self.stream_seq = delta.stream_seq;
        let n_bytes: usize = self.parts.iter().map(|part| part.text.len()).sum();
        if n_bytes + delta.text.len() > RUNNING_ANSWER_BYTES_MAX {
            self.is_cut = true;
        }
        if self.is_cut {
            return;
        }
        match self.parts.last_mut() {
            Some(part) if part.block == delta.block && part.kind == delta.kind => {
                part.text.push_str(&delta.text);
            }
            _ => {
                let (block, call_id, kind) = (delta.block, delta.call_id, delta.kind);
                self.parts.push(RunningPart { block, call_id, kind, text: delta.text.clone() });
            }
        }
    }
}
