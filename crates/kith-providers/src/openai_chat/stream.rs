//! An answer growing out of the events of a stream.
//!
//! Pure: events in, an answer or a fault out. An answer is whole when the server has said why it
//! stopped; before that, a call is never given out, because its arguments may be a part of what
//! the model meant.

use kith_vocab::block::Thinking;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::models::FailureKind;
use kith_vocab::provider::{Answer, AnswerBlock, Delta, DeltaPart, DeltaSink};

use super::status::{NO_QUOTA_LEFT, is_about_quota};
use super::wire::{CallDelta, ChoiceDelta, Chunk, FunctionDelta, Tokens, VendorError};
use crate::fault::{Fault, is_about_length};
use crate::tool_name;

/// More calls than any honest answer has.
pub(super) const CALLS_MAX: usize = 128;

const DONE: &str = "[DONE]";

#[derive(Debug, Default)]
pub(super) struct Accumulator {
    /// The blocks in the order in which they began. It is the answer's order too, so that an index
    /// which a sink was told stays true.
    blocks: Vec<GrowingBlock>,
    text: String,
    thinking: String,
    calls: Vec<GrowingCall>,
    finish: Option<Finish>,
    refused: bool,
    /// The server said that nothing more will come.
    done: bool,
    usage: Option<Usage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrowingBlock {
    Text,
    Thinking,
    /// Its place among the calls.
    Call(usize),
}

#[derive(Debug)]
struct GrowingCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finish {
    /// The model came to its end, with calls or without.
    Ended,
    Length,
    Filtered,
}

impl Accumulator {
    /// Takes the data of one event.
    pub(super) fn feed(&mut self, data: &str, sink: &dyn DeltaSink) -> Result<(), Fault> {
        if data.trim() == DONE {
            self.done = true;
            return Ok(());
        }
        if data.trim().is_empty() {
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|_| {
            Fault::new(FailureKind::Malformed, "sent an event that is not valid JSON for this API")
                .retryable()
        })?;
        self.take(chunk, sink)
    }

    /// Takes an answer that came in one piece. Says whether it is one.
    pub(super) fn feed_whole(&mut self, body: &str, sink: &dyn DeltaSink) -> Result<bool, Fault> {
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(body) else { return Ok(false) };
        let has_choices = chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty());
        self.take(chunk, sink)?;
        self.done = true;
        // JSON that came to its end is whole, whether it says why it ended or not.
        self.finish.get_or_insert(Finish::Ended);
        Ok(has_choices)
    }

    /// Whether nothing more is to be waited for.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether an answer can be made of it. A stream that breaks after this lost nothing.
    pub(super) fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    /// What was said so far.
    pub(super) fn into_partial_text(self) -> String {
        self.text
    }

    /// The answer, once the stream is at its end.
    pub(super) fn finish(mut self) -> Result<Answer, (Fault, String)> {
        if !self.is_whole() {
            let fault = Fault::new(
                FailureKind::Cut,
                "closed the connection before the answer was complete",
            );
            return Err((fault.retryable(), self.text));
        }
        let stop_reason = self.stop_reason();
        if stop_reason == StopReason::Refusal {
            // The filter may have struck in the middle of a call.
            self.calls.clear();
        }
        if self.calls.iter().any(|call| call.name.is_empty()) {
            let fault = Fault::new(FailureKind::Malformed, "called a tool without naming it");
            return Err((fault.retryable(), self.text));
        }
        let mut calls: Vec<Option<GrowingCall>> = self.calls.into_iter().map(Some).collect();
        let mut content = Vec::with_capacity(self.blocks.len());
        for block in self.blocks {
            content.extend(match block {
                GrowingBlock::Text => Some(AnswerBlock::Text(std::mem::take(&mut self.text))),
                GrowingBlock::Thinking => {
                    let text = std::mem::take(&mut self.thinking);
                    Some(AnswerBlock::Thinking(Thinking {
                        text: text.into(),
                        signature: None,
                        redacted: None,
                    }))
                }
                GrowingBlock::Call(place) => calls.get_mut(place).and_then(Option::take).map(call),
            });
        }
        Ok(Answer { content, usage: self.usage, stop_reason })
    }

    fn stop_reason(&self) -> StopReason {
        match self.finish {
            Some(Finish::Length) => StopReason::MaxTokens,
            Some(Finish::Filtered) => StopReason::Refusal,
            _ if self.refused => StopReason::Refusal,
            _ if !self.calls.is_empty() => StopReason::ToolCall,
            _ => StopReason::EndTurn,
        }
    }

    fn take(&mut self, chunk: Chunk<'_>, sink: &dyn DeltaSink) -> Result<(), Fault> {
        if let Some(error) = chunk.error() {
            return Err(vendor_fault(&error));
        }
        if let Some(tokens) = chunk.usage() {
            self.usage = Some(usage(&tokens));
        }
        // We ask for one choice; a parameter may have asked for more, and they are not ours.
        let first = |index: Option<u64>| index.unwrap_or(0) == 0;
        let choices = chunk.choices.into_iter().flatten();
        for choice in choices.filter(|choice| first(choice.index)) {
            if let Some(delta) = choice.delta.or(choice.message) {
                self.grow(delta, sink)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(finish_of(&reason));
            }
        }
        Ok(())
    }

    fn grow(&mut self, delta: ChoiceDelta, sink: &dyn DeltaSink) -> Result<(), Fault> {
        // Servers that know both names for thinking send the same text under each.
        let thinking = match delta.reasoning_content.as_str() {
            "" => &delta.reasoning,
            text => text,
        };
        if !thinking.is_empty() {
            self.thinking.push_str(thinking);
            let block = self.index_of(GrowingBlock::Thinking);
            sink.delta(Delta { block, part: DeltaPart::Thinking(thinking) });
        }
        self.refused |= !delta.refusal.is_empty();
        for text in [&delta.content, &delta.refusal].into_iter().filter(|text| !text.is_empty()) {
            self.text.push_str(text);
            let block = self.index_of(GrowingBlock::Text);
            sink.delta(Delta { block, part: DeltaPart::Text(text) });
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.grow_call(call, sink)?;
        }
        match delta.function_call {
            Some(function) => self
                .grow_call(CallDelta { index: Some(0), id: None, function: Some(function) }, sink),
            None => Ok(()),
        }
    }

    fn grow_call(&mut self, delta: CallDelta, sink: &dyn DeltaSink) -> Result<(), Fault> {
        let CallDelta { index, id, function } = delta;
        let id = id.unwrap_or_default();
        let FunctionDelta { name, arguments } =
            function.unwrap_or(FunctionDelta { name: None, arguments: String::new() });
        let name = name.unwrap_or_default();

        let position = match self.position_of(index, &id, &name) {
            Some(position) => position,
            None if self.calls.len() == CALLS_MAX => {
                let what = format!("made more than {CALLS_MAX} calls in one answer");
                return Err(Fault::new(FailureKind::Malformed, what));
            }
            None => {
                let arguments = String::new();
                self.calls.push(GrowingCall { index, id, name: String::new(), arguments });
                self.calls.len() - 1
            }
        };
        let block = self.index_of(GrowingBlock::Call(position));
        let call = &mut self.calls[position];
        call.arguments.push_str(&arguments);
        let was_named = !call.name.is_empty();
        // Some servers repeat the name with every piece, a few send the name in pieces.
        if !name.is_empty() && call.name != name {
            call.name.push_str(&name);
        }
        if call.name.is_empty() {
            return Ok(());
        }
        // Arguments that came before the name are told with it.
        let news = if was_named { arguments.as_str() } else { call.arguments.as_str() };
        let place = u32::try_from(position).unwrap_or(u32::MAX);
        if !was_named {
            let tool = &tool_name::unescape(&call.name);
            sink.delta(Delta { block, part: DeltaPart::CallBegun { call: place, tool } });
        }
        if !news.is_empty() {
            sink.delta(Delta { block, part: DeltaPart::CallInput { call: place, json: news } });
        }
        Ok(())
    }

    /// The index of a block, which begins now if it has not begun before.
    fn index_of(&mut self, block: GrowingBlock) -> u32 {
        let known = self.blocks.iter().rposition(|it| *it == block);
        let index = known.unwrap_or_else(|| {
            self.blocks.push(block);
            self.blocks.len() - 1
        });
        // There are at most as many as calls are allowed, and two.
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Which call a piece belongs to; `None` for a new one.
    ///
    /// The protocol says: the one with the same index. Servers that send whole calls number all
    /// of them 0 or none at all, so another id, or without an index another name, begins a call.
    fn position_of(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let position = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[position];
        let is_other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let is_other_name = !name.is_empty() && !call.name.is_empty();
        let begins = match index {
            Some(_) => is_other_id && is_other_name,
            None => is_other_id || (id.is_empty() && is_other_name),
        };
        (!begins).then_some(position)
    }
}

fn call(call: GrowingCall) -> AnswerBlock {
    AnswerBlock::Call {
        provider_call_id: call.id,
        tool: tool_name::unescape(&call.name).into_owned(),
        arguments: call.arguments,
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "content_filter" => Finish::Filtered,
        // `stop`, `tool_calls`, `function_call` and what servers have invented: whether there are
        // calls is seen from the calls.
        _ => Finish::Ended,
    }
}

fn usage(tokens: &Tokens) -> Usage {
    let cached = tokens.cached();
    Usage {
        input: tokens.prompt.unwrap_or(0).saturating_sub(cached),
        output: tokens.completion.unwrap_or(0),
        cache_read: cached,
        ..Usage::default()
    }
}

/// An error reported in the middle of a stream, after the status was sent.
fn vendor_fault(error: &VendorError) -> Fault {
    if is_about_length(&error.message) || is_about_length(&error.code) {
        return Fault::new(FailureKind::ContextLength, "rejected the conversation as too long")
            .said(&error.message);
    }
    if is_about_quota(&error.code) {
        let what = format!("has {NO_QUOTA_LEFT}: check its plan and billing");
        return Fault::new(FailureKind::Status, what).said(&error.message);
    }
    let fault = Fault::new(FailureKind::Status, "reported an error instead of an answer")
        .said(&error.message);
    let code = error.code.to_lowercase();
    let passes =
        ["429", "500", "502", "503", "504", "529", "rate_limit", "overloaded", "server_error"];
    if passes.iter().any(|word| code.contains(word)) { fault.retryable() } else { fault }
}

#[cfg(test)]
mod tests;
