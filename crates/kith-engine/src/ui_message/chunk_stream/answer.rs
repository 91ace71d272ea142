//! The answer of one request while it is streamed.

use std::collections::BTreeMap;

use kith_vocab::ids::{CallId, EventId};
use kith_vocab::tool::USE_TOOL;

use crate::feed::DeltaKind;
use crate::ui_message::chunk::UiChunk;
use crate::ui_message::{MessagePart, ToolPart, ToolState};

const DYNAMIC: bool = true;

#[derive(Debug)]
pub(super) struct PartialChunks {
    request_id: EventId,
    blocks: BTreeMap<u32, StreamedBlock>,
}

/// What a client has been sent of a block.
#[derive(Debug)]
struct StreamedBlock {
    content: StreamedContent,
    sent: String,
    is_open: bool,
}

#[derive(Debug)]
enum StreamedContent {
    Text { id: String },
    Reasoning { id: String },
    Call { call_id: CallId, tool: String },
}

impl PartialChunks {
    pub(super) fn new(request_id: EventId) -> PartialChunks {
        PartialChunks { request_id, blocks: BTreeMap::new() }
    }

    pub(super) fn request_id(&self) -> EventId {
        self.request_id
    }

    /// Sends the next piece of a block.
    pub(super) fn add(
        &mut self,
        block: u32,
        call_id: Option<CallId>,
        kind: DeltaKind,
        text: &str,
        chunks: &mut Vec<UiChunk>,
    ) {
        if let Some(streamed) = self.open(block, call_id, kind, text, chunks) {
            streamed.send(text, chunks);
        }
    }

    /// Sends what the client lacks of a block that has this text so far.
    pub(super) fn catch_up(
        &mut self,
        block: u32,
        call_id: Option<CallId>,
        kind: DeltaKind,
        text: &str,
        chunks: &mut Vec<UiChunk>,
    ) {
        if let Some(streamed) = self.open(block, call_id, kind, text, chunks) {
            // If it does not begin with what was sent, the event will tell.
            if let Some(rest) = text.strip_prefix(streamed.sent.as_str()).map(str::to_owned) {
                streamed.send(&rest, chunks);
            }
        }
    }

    /// The block to which this piece adds; `None` if it cannot be sent.
    fn open(
        &mut self,
        block: u32,
        call_id: Option<CallId>,
        kind: DeltaKind,
        text: &str,
        chunks: &mut Vec<UiChunk>,
    ) -> Option<&mut StreamedBlock> {
        let fits = |it: &StreamedBlock| it.is_open && it.content.takes(kind, call_id);
        if self.blocks.contains_key(&block) {
            let is_piece = kind != DeltaKind::ToolName;
            return self.blocks.get_mut(&block).filter(|it| is_piece && fits(it));
        }
        let id = format!("{}-{block}", self.request_id);
        let content = match (kind, call_id) {
            (DeltaKind::Text, _) => StreamedContent::Text { id },
            (DeltaKind::Thinking, _) => StreamedContent::Reasoning { id },
            // Which tool is meant stands in its input.
            (DeltaKind::ToolName, Some(call_id)) if text != USE_TOOL => {
                StreamedContent::Call { call_id, tool: text.to_owned() }
            }
            // The beginning of the call was lost, or is not shown.
            (DeltaKind::ToolName | DeltaKind::ToolInput | DeltaKind::Progress, _) => return None,
        };
        for earlier in self.blocks.values_mut() {
            earlier.close(chunks);
        }
        chunks.push(content.start());
        let is_piece = kind != DeltaKind::ToolName;
        let streamed = StreamedBlock { content, sent: String::new(), is_open: true };
        let streamed = self.blocks.entry(block).or_insert(streamed);
        is_piece.then_some(streamed)
    }

    /// Sends what the whole answer has beyond what was sent.
    pub(super) fn complete(
        mut self,
        parts: impl Iterator<Item = (u32, MessagePart)>,
        chunks: &mut Vec<UiChunk>,
    ) {
        for (block, part) in parts {
            let streamed = self.blocks.remove(&block);
            match part {
                MessagePart::Text { text } => {
                    let id = format!("{}-{block}", self.request_id);
                    let content = StreamedContent::Text { id };
                    complete_text(streamed, &content, &text, chunks);
                }
                MessagePart::Reasoning { text } => {
                    let id = format!("{}-{block}", self.request_id);
                    let content = StreamedContent::Reasoning { id };
                    complete_text(streamed, &content, &text, chunks);
                }
                MessagePart::DynamicTool(part) => {
                    if let Some(other) =
                        streamed.filter(|it| !it.content.is_call(part.tool_call_id))
                    {
                        other.abandon(chunks);
                    }
                    chunks.extend(input_chunk(part));
                }
                MessagePart::File(file) => {
                    chunks.push(UiChunk::File { url: file.url, media_type: file.media_type });
                }
                _ => (),
            }
        }
        self.abandon(chunks);
    }

    /// Closes what was begun.
    pub(super) fn abandon(self, chunks: &mut Vec<UiChunk>) {
        for streamed in self.blocks.into_values() {
            streamed.abandon(chunks);
        }
    }
}

impl StreamedBlock {
    fn send(&mut self, text: &str, chunks: &mut Vec<UiChunk>) {
        if text.is_empty() {
            return;
        }
        self.sent.push_str(text);
        chunks.push(self.content.delta(text));
    }

    /// Ends a text. The input of a call ends with the answer.
    fn close(&mut self, chunks: &mut Vec<UiChunk>) {
        let end = self.content.end();
        if end.is_some() && std::mem::take(&mut self.is_open) {
            chunks.extend(end);
        }
    }

    fn abandon(mut self, chunks: &mut Vec<UiChunk>) {
        self.close(chunks);
        if let StreamedContent::Call { call_id, tool } = self.content {
            chunks.push(UiChunk::ToolInputError {
                tool_call_id: call_id,
                tool_name: tool,
                input: self.sent,
                error_text: "the request failed before the call was complete".to_owned(),
                dynamic: DYNAMIC,
            });
        }
    }
}

impl StreamedContent {
    fn takes(&self, kind: DeltaKind, call: Option<CallId>) -> bool {
        match self {
            StreamedContent::Text { .. } => kind == DeltaKind::Text,
            StreamedContent::Reasoning { .. } => kind == DeltaKind::Thinking,
            StreamedContent::Call { call_id, .. } => {
                kind == DeltaKind::ToolInput && call == Some(*call_id)
            }
        }
    }

    fn is_call(&self, call: CallId) -> bool {
        matches!(self, StreamedContent::Call { call_id, .. } if *call_id == call)
    }

    fn start(&self) -> UiChunk {
        match self {
            StreamedContent::Text { id } => UiChunk::TextStart { id: id.clone() },
            StreamedContent::Reasoning { id } => UiChunk::ReasoningStart { id: id.clone() },
            StreamedContent::Call { call_id, tool } => UiChunk::ToolInputStart {
                tool_call_id: *call_id,
                tool_name: tool.clone(),
                dynamic: DYNAMIC,
            },
        }
    }

    fn delta(&self, text: &str) -> UiChunk {
        let delta = text.to_owned();
        match self {
            StreamedContent::Text { id } => UiChunk::TextDelta { id: id.clone(), delta },
            StreamedContent::Reasoning { id } => UiChunk::ReasoningDelta { id: id.clone(), delta },
            StreamedContent::Call { call_id, .. } => {
                UiChunk::ToolInputDelta { tool_call_id: *call_id, input_text_delta: delta }
            }
        }
    }

    fn end(&self) -> Option<UiChunk> {
        match self {
            StreamedContent::Text { id } => Some(UiChunk::TextEnd { id: id.clone() }),
            StreamedContent::Reasoning { id } => Some(UiChunk::ReasoningEnd { id: id.clone() }),
            StreamedContent::Call { .. } => None,
        }
    }
}

/// Sends what is left of a text. One that was sent otherwise, or closed too early, is followed by a
/// part of its own.
fn complete_text(
    streamed: Option<StreamedBlock>,
    content: &StreamedContent,
    text: &str,
    chunks: &mut Vec<UiChunk>,
) {
    let is_same_kind =
        |it: &StreamedBlock| std::mem::discriminant(&it.content) == std::mem::discriminant(content);
    let mut rest = text;
    match streamed {
        Some(mut streamed) if is_same_kind(&streamed) => {
            if let Some(unsent) = text.strip_prefix(streamed.sent.as_str()) {
                rest = unsent;
                if streamed.is_open {
                    streamed.send(unsent, chunks);
                    rest = "";
                }
            }
            streamed.close(chunks);
        }
        Some(other) => other.abandon(chunks),
        None => (),
    }
    if !rest.is_empty() {
        chunks.push(content.start());
        chunks.push(content.delta(rest));
        chunks.extend(content.end());
    }
}

fn input_chunk(part: ToolPart) -> Option<UiChunk> {
    let ToolPart { tool_name, tool_call_id, state } = part;
    let ToolState::InputAvailable { input } = state else { return None };
    Some(UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, dynamic: DYNAMIC })
}
