//! One turn as a stream of chunks, from events and deltas.
//!
//! The parts come from the [`Projection`], so whoever reads the message later sees what the stream
//! told. Deltas only make it faster: the event of an answer sends what they left out, and a stream
//! without any delta is as complete. They cannot be taken back, so what a failed request had said stays
//! on the screen until the conversation is read again; its text is closed, and its calls end as errors.

mod answer;

use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, EventId, SessionId, ThreadId};

use super::chunk::{ProgressView, StreamEnd, UiChunk};
use super::parts::shown_part;
use super::projection::Projection;
use super::{MessagePart, ToolState, UiMessage};
use crate::feed::{DeltaKind, FeedDelta, RunningAnswer};
use answer::PartialChunks;

/// Turns the events and deltas of one turn into chunks. It begins with the message that began the turn.
#[derive(Debug)]
pub struct ChunkStream {
    projection: Projection,
    /// The answer whose deltas are being sent.
    answer: Option<PartialChunks>,
    /// Deltas of requests up to this one are late: their answers, or the message, came after.
    newest_settled: Option<EventId>,
    is_in_step: bool,
    /// How many parts of the message the client has.
    n_parts: usize,
    /// Calls whose end the client has not been told.
    open_calls: Vec<OpenCall>,
    /// The message that is streamed.
    message_id: Option<String>,
    chunks: Vec<UiChunk>,
}

#[derive(Debug)]
struct OpenCall {
    call_id: CallId,
    place: usize,
    state: ToolState,
}

impl ChunkStream {
    pub fn new(agent_id: &str, thread_id: &ThreadId, session_id: SessionId) -> ChunkStream {
        ChunkStream {
            projection: Projection::of_new_turns(agent_id, thread_id, session_id),
            answer: None,
            newest_settled: None,
            is_in_step: false,
            n_parts: 0,
            open_calls: Vec::new(),
            message_id: None,
            chunks: Vec::new(),
        }
    }

    /// Takes an event that the client knows already: from an earlier stream of the same message.
    pub fn skip(&mut self, event: &Event) {
        self.event(event);
        self.is_in_step = false;
    }

    /// Begins the stream of a message of which the client has a part.
    pub fn resume(&self, event: &Event) -> Vec<UiChunk> {
        self.start(event).into_iter().collect()
    }

    /// Takes the next event of the turn.
    pub fn event(&mut self, event: &Event) -> Vec<UiChunk> {
        self.projection.take(event);
        let Some((id, _)) = self.projection.reply_head(event) else { return Vec::new() };
        if self.message_id.as_ref().is_some_and(|it| *it != id) {
            // Another turn, which has a stream of its own.
            return Vec::new();
        }
        if self.message_id.replace(id).is_none() {
            let start = self.start(event);
            self.chunks.extend(start);
        }
        match &event.body {
            Body::UserMessage(_) => self.settle(event.id),
            Body::AssistantMessage(it) => {
                self.begin_step(event.id);
                let answer = self.answer.take().unwrap_or_else(|| PartialChunks::new(event.id));
                let blocks = (0..).zip(&it.message.content);
                let parts = blocks.filter_map(|(block, it)| Some((block, shown_part(it)?)));
                answer.complete(parts, &mut self.chunks);
                self.settle(event.id);
                self.note_answer();
            }
            Body::ModelFailed(it) => {
                self.abandon_answer();
                if let Some(request_id) = it.request_id {
                    self.settle(request_id);
                }
            }
            _ => (),
        }
        self.send_changes();
        std::mem::take(&mut self.chunks)
    }

    /// Takes a piece of an answer, or a line of a call.
    pub fn delta(&mut self, delta: &FeedDelta) -> Vec<UiChunk> {
        if let (DeltaKind::Progress, Some(tool_call_id)) = (delta.kind, delta.call_id) {
            let is_open = self.open_calls.iter().any(|it| it.call_id == tool_call_id);
            let data = ProgressView { tool_call_id, text: delta.text.clone() };
            return Vec::from_iter(is_open.then_some(UiChunk::Progress { data, transient: true }));
        }
        if self.is_answering(delta.request_id)
            && let Some(answer) = &mut self.answer
        {
            answer.add(delta.block, delta.call_id, delta.kind, &delta.text, &mut self.chunks);
        }
        std::mem::take(&mut self.chunks)
    }

    /// Takes all that the running request has said so far.
    pub fn running(&mut self, running: &RunningAnswer) -> Vec<UiChunk> {
        if self.is_answering(running.request_id)
            && let Some(answer) = &mut self.answer
        {
            for part in &running.parts {
                let (block, text) = (part.block, part.text.as_str());
                answer.catch_up(block, part.call_id, part.kind, text, &mut self.chunks);
            }
        }
        std::mem::take(&mut self.chunks)
    }

    /// Ends the stream.
    pub fn end(&mut self, end: StreamEnd) -> Vec<UiChunk> {
        self.abandon_answer();
        self.finish_step();
        if let Some(reply) = self.projection.reply() {
            let message_metadata = Box::new(reply.metadata.clone());
            self.chunks.push(UiChunk::MessageMetadata { message_metadata });
        }
        self.chunks.push(end.chunk());
        std::mem::take(&mut self.chunks)
    }

    fn start(&self, event: &Event) -> Option<UiChunk> {
        let (message_id, metadata) = self.projection.reply_head(event)?;
        Some(UiChunk::Start { message_id, message_metadata: Box::new(metadata) })
    }

    /// Whether deltas of this request are wanted; the first one begins a step.
    fn is_answering(&mut self, request_id: EventId) -> bool {
        let is_late = self.newest_settled.is_none_or(|settled| request_id <= settled);
        if is_late {
            return false;
        }
        self.begin_step(request_id);
        self.answer.get_or_insert_with(|| PartialChunks::new(request_id));
        true
    }

    /// Begins the step of this request, if it has not begun.
    fn begin_step(&mut self, request_id: EventId) {
        if self.answer.as_ref().is_some_and(|it| it.request_id() == request_id) {
            return;
        }
        self.abandon_answer();
        self.finish_step();
        self.is_in_step = true;
        self.chunks.push(UiChunk::StartStep);
    }

    /// Closes what a request had begun to say that has no answer.
    fn abandon_answer(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer.abandon(&mut self.chunks);
        }
    }

    fn finish_step(&mut self) {
        if std::mem::take(&mut self.is_in_step) {
            self.chunks.push(UiChunk::FinishStep);
        }
    }

    fn settle(&mut self, id: EventId) {
        self.newest_settled = self.newest_settled.max(Some(id));
    }

    /// Counts the parts of an answer, which have been sent, and keeps its calls in view.
    fn note_answer(&mut self) {
        let Some(reply) = self.projection.reply() else { return };
        for (place, part) in (0..).zip(&reply.parts).skip(self.n_parts) {
            if let MessagePart::DynamicTool(it) = part {
                let state = it.state.clone();
                self.open_calls.push(OpenCall { call_id: it.tool_call_id, place, state });
            }
        }
        self.n_parts = reply.parts.len();
    }

    /// Sends what is new in the message: states of calls, and parts beside the answers.
    fn send_changes(&mut self) {
        let Some(reply) = self.projection.reply() else { return };
        for call in &mut self.open_calls {
            let Some(state) = state_at(reply, call.place) else { continue };
            if *state != call.state {
                self.chunks.extend(state_chunk(call.call_id, state));
                call.state = state.clone();
            }
        }
        self.open_calls.retain(|call| !call.state.is_settled());
        let new = reply.parts.iter().skip(self.n_parts);
        self.chunks.extend(new.map(|part| UiChunk::Data(Box::new(part.clone()))));
        self.n_parts = reply.parts.len();
    }
}

fn state_at(reply: &UiMessage, place: usize) -> Option<&ToolState> {
    match reply.parts.get(place)? {
        MessagePart::DynamicTool(part) => Some(&part.state),
        _ => None,
    }
}

/// What a client is told of a call in this state. Version 6 has no chunk for an answer to a question:
/// the client that gave it knows, and the others see what came of it.
fn state_chunk(tool_call_id: CallId, state: &ToolState) -> Option<UiChunk> {
    let dynamic = true;
    match state {
        ToolState::InputAvailable { .. } | ToolState::ApprovalResponded { .. } => None,
        ToolState::ApprovalRequested { approval, .. } => {
            let approval_id = approval.id.clone();
            Some(UiChunk::ToolApprovalRequest { approval_id, tool_call_id })
        }
        ToolState::OutputAvailable { output, .. } => {
            let output = output.clone();
            Some(UiChunk::ToolOutputAvailable { tool_call_id, output, dynamic })
        }
        ToolState::OutputError { error_text, .. } => {
            let error_text = error_text.clone();
            Some(UiChunk::ToolOutputError { tool_call_id, error_text, dynamic })
        }
        ToolState::OutputDenied { .. } => Some(UiChunk::ToolOutputDenied { tool_call_id }),
    }
}

#[cfg(test)]
mod tests;
