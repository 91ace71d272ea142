//! An answer growing out of the events of a stream, whatever the wire.
//!
//! Pure: events in, an answer or a fault out. A wire's reader translates its events; the rules are
//! here, once for all wires. An answer is whole when the server has said why it stopped; before
//! that, a call is never given out, because its arguments may be a part of what the model meant.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use kith_vocab::block::Thinking;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::models::{FailureKind, Wire};
use kith_vocab::provider::{Answer, AnswerBlock, Delta, DeltaPart, DeltaSink};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::anthropic::AnthropicReader;
use crate::fault::Fault;
use crate::openai_chat::ChatReader;
use crate::openai_responses::ResponsesReader;
use crate::text_piece::{FirstHalf, TextPiece};
use crate::tool_name;

/// More calls than any honest answer has.
pub(crate) const CALLS_MAX: usize = 128;

/// Texts, thoughts and calls of one answer.
pub(crate) const ANSWER_BLOCKS_MAX: usize = 1024;

/// Reads the events of one wire into an answer.
pub(crate) trait EventReader: Send {
    /// Takes the data of one event. Kinds of events that it does not know are passed over.
    fn read(&mut self, data: &str, answer: &mut AnswerWriter<'_>) -> Result<(), Fault>;

    /// Takes an answer that came in one piece. Says whether it is one.
    fn read_whole(&mut self, body: &str, answer: &mut AnswerWriter<'_>) -> Result<bool, Fault>;
}

/// An answer and the reader that fills it.
pub(crate) struct Accumulator {
    reader: Box<dyn EventReader>,
    answer: GrowingAnswer,
}

impl Accumulator {
    pub(crate) fn of(wire: Wire) -> Accumulator {
        let reader: Box<dyn EventReader> = match wire {
            Wire::OpenaiChat => Box::new(ChatReader::default()),
            Wire::Anthropic => Box::new(AnthropicReader::default()),
            Wire::OpenaiResponses => Box::new(ResponsesReader::default()),
        };
        Accumulator { reader, answer: GrowingAnswer::default() }
    }

    /// Takes the data of one event.
    pub(crate) fn feed(&mut self, data: &str, sink: &dyn DeltaSink) -> Result<(), Fault> {
        match data.trim() {
            "" => Ok(()),
            // Chat Completions end with it, and servers that speak several wires add it to all.
            "[DONE]" => {
                self.answer.is_done = true;
                Ok(())
            }
            data => {
                let answer = &mut AnswerWriter { answer: &mut self.answer, sink };
                self.reader.read(data, answer)
            }
        }
    }

    /// Takes an answer that came in one piece. Says whether it is one.
    pub(crate) fn feed_whole(&mut self, body: &str, sink: &dyn DeltaSink) -> Result<bool, Fault> {
        let answer = &mut AnswerWriter { answer: &mut self.answer, sink };
        let is_answer = self.reader.read_whole(body, answer)?;
        // JSON that came to its end is whole, whether it says why it ended or not.
        self.answer.end(Finish::Ended);
        self.answer.is_done = true;
        Ok(is_answer)
    }

    /// Whether nothing more is to be waited for.
    pub(crate) fn is_done(&self) -> bool {
        self.answer.is_done
    }

    /// Whether an answer can be made of it. A stream that breaks after this lost nothing.
    pub(crate) fn is_whole(&self) -> bool {
        self.answer.finish.is_some()
    }

    /// What came so far.
    pub(crate) fn into_partial(self) -> PartialAnswer {
        self.answer.into_partial()
    }

    /// The answer, once the stream is at its end.
    pub(crate) fn finish(self) -> Result<Answer, UnfinishedAnswer> {
        self.answer.finish()
    }
}

/// An answer that a reader fills, and the sink that is told of each piece.
pub(crate) struct AnswerWriter<'a> {
    answer: &'a mut GrowingAnswer,
    sink: &'a dyn DeltaSink,
}

impl Deref for AnswerWriter<'_> {
    type Target = GrowingAnswer;

    fn deref(&self) -> &GrowingAnswer {
        self.answer
    }
}

impl DerefMut for AnswerWriter<'_> {
    fn deref_mut(&mut self) -> &mut GrowingAnswer {
        self.answer
    }
}

impl AnswerWriter<'_> {
    pub(crate) fn add_text(&mut self, block: usize, piece: &TextPiece) {
        let text = &*self.answer.joined(block, piece);
        if let Some(GrowingBlock::Text(so_far)) = self.answer.blocks.get_mut(block)
            && !text.is_empty()
        {
            so_far.push_str(text);
            self.sink.delta(Delta { block: index(block), part: DeltaPart::Text(text) });
        }
    }

    pub(crate) fn add_thinking(&mut self, block: usize, piece: &TextPiece) {
        let text = &*self.answer.joined(block, piece);
        if let Some(GrowingBlock::Thinking(thought)) = self.answer.blocks.get_mut(block)
            && !text.is_empty()
        {
            thought.text.push_str(text);
            self.sink.delta(Delta { block: index(block), part: DeltaPart::Thinking(text) });
        }
    }

    pub(crate) fn name_call(&mut self, block: usize, name: &str) {
        self.grow_call(block, name, &TextPiece::default());
    }

    /// Adds a piece of a call. Both parts may be empty.
    pub(crate) fn grow_call(&mut self, block: usize, name: &str, arguments: &TextPiece) {
        let AnswerWriter { answer, sink } = self;
        let arguments = &*answer.joined(block, arguments);
        let Some(GrowingBlock::Call(call)) = answer.blocks.get_mut(block) else { return };
        call.arguments.push_str(arguments);
        let was_named = !call.name.is_empty();
        // Some servers repeat the name with every piece, a few send the name in pieces.
        if !name.is_empty() && call.name != name {
            call.name.push_str(name);
        }
        if call.name.is_empty() {
            return;
        }
        let (place, block) = (call.place, index(block));
        if !was_named {
            let tool = &tool_name::unescape(&call.name);
            sink.delta(Delta { block, part: DeltaPart::CallBegun { call: place, tool } });
        }
        // Arguments that came before the name are told with it.
        let news = if was_named { arguments } else { call.arguments.as_str() };
        if !news.is_empty() {
            sink.delta(Delta { block, part: DeltaPart::CallInput { call: place, json: news } });
        }
    }

    /// The arguments of a call are complete; `whole` are all of them, where the server repeats them.
    pub(crate) fn close_call(&mut self, block: usize, whole: Option<&str>) {
        self.answer.end_half(block);
        let Some(GrowingBlock::Call(call)) = self.answer.blocks.get_mut(block) else { return };
        call.is_closed = true;
        let Some(whole) = whole.filter(|whole| *whole != call.arguments) else { return };
        match whole.strip_prefix(call.arguments.as_str()).map(str::to_owned) {
            Some(rest) => self.grow_call(block, "", &TextPiece::from(rest.as_str())),
            None => whole.clone_into(&mut call.arguments),
        }
    }
}

/// Why an answer is not one, and what came of it.
pub(crate) type UnfinishedAnswer = Box<(Fault, PartialAnswer)>;

/// What came of an answer that is not one.
#[derive(Debug, Default)]
pub(crate) struct PartialAnswer {
    /// Half a call or unsigned thinking is useless and not kept.
    pub(crate) text: String,
    /// What the vendor said that it used, if it did.
    pub(crate) usage: Option<Usage>,
}

/// Vendors that count as they go say the whole only at the end; a token has so many bytes or more,
/// save in few scripts.
const BYTES_PER_TOKEN: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct GrowingAnswer {
    /// The blocks in the order in which they began. It is the answer's order too, so that an index
    /// which a sink was told stays true.
    blocks: Vec<GrowingBlock>,
    n_calls: usize,
    /// The halves of characters that blocks end with for now.
    halves: BTreeMap<usize, FirstHalf>,
    finish: Option<Finish>,
    /// The model refused in words of its own.
    pub(crate) is_refused: bool,
    /// The server said that nothing more will come.
    pub(crate) is_done: bool,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug)]
enum GrowingBlock {
    Text(String),
    Thinking(Thought),
    Call(GrowingCall),
}

impl GrowingBlock {
    fn n_bytes(&self) -> usize {
        match self {
            GrowingBlock::Text(text) => text.len(),
            GrowingBlock::Thinking(thought) => thought.text.len(),
            GrowingBlock::Call(call) => call.arguments.len(),
        }
    }
}

/// Thinking with the vendor's marks, empty where it gave none.
#[derive(Debug, Default)]
pub(crate) struct Thought {
    pub(crate) text: String,
    pub(crate) signature: Option<String>,
    pub(crate) redacted: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct GrowingCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    /// Its place among the calls.
    place: u32,
    /// The server said that the arguments are complete.
    pub(crate) is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model came to its end, with calls or without.
    Ended,
    Length,
    Filtered,
}

impl GrowingAnswer {
    /// The server says why the answer ended. The first reason counts.
    pub(crate) fn end(&mut self, finish: Finish) {
        self.finish.get_or_insert(finish);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The answer's only text, for a wire that does not number its blocks.
    pub(crate) fn only_text(&mut self) -> Result<usize, Fault> {
        let known = self.blocks.iter().rposition(|it| matches!(it, GrowingBlock::Text(_)));
        known.map_or_else(|| self.begin_text(), Ok)
    }

    pub(crate) fn only_thinking(&mut self) -> Result<usize, Fault> {
        let known = self.blocks.iter().rposition(|it| matches!(it, GrowingBlock::Thinking(_)));
        known.map_or_else(|| self.begin_thinking(), Ok)
    }

    /// The block at this place, which begins now if there is none.
    pub(crate) fn text_in(&mut self, place: &mut Option<usize>) -> Result<usize, Fault> {
        let block = place.map_or_else(|| self.begin_text(), Ok)?;
        Ok(*place.insert(block))
    }

    pub(crate) fn thinking_in(&mut self, place: &mut Option<usize>) -> Result<usize, Fault> {
        let block = place.map_or_else(|| self.begin_thinking(), Ok)?;
        Ok(*place.insert(block))
    }

    fn begin_text(&mut self) -> Result<usize, Fault> {
        self.begin(GrowingBlock::Text(String::new()))
    }

    fn begin_thinking(&mut self) -> Result<usize, Fault> {
        self.begin(GrowingBlock::Thinking(Thought::default()))
    }

    pub(crate) fn begin_call(&mut self, id: String) -> Result<usize, Fault> {
        if self.n_calls == CALLS_MAX {
            let what = format!("made more than {CALLS_MAX} calls in one answer: use another model");
            return Err(Fault::new(FailureKind::Malformed, what));
        }
        let place = index(self.n_calls);
        self.n_calls += 1;
        self.begin(GrowingBlock::Call(GrowingCall { id, place, ..GrowingCall::default() }))
    }

    fn begin(&mut self, block: GrowingBlock) -> Result<usize, Fault> {
        if self.blocks.len() == ANSWER_BLOCKS_MAX {
            let what = format!(
                "sent more than {ANSWER_BLOCKS_MAX} blocks in one answer: use another model"
            );
            return Err(Fault::new(FailureKind::Malformed, what));
        }
        self.blocks.push(block);
        Ok(self.blocks.len() - 1)
    }

    /// The text of a piece, with the half of a character that the piece before it ended with.
    fn joined<'a>(&mut self, block: usize, piece: &'a TextPiece) -> Cow<'a, str> {
        let (text, half) = piece.after(self.halves.remove(&block));
        self.halves.extend(half.map(|half| (block, half)));
        text
    }

    /// Nothing follows in this block: half of a character is none.
    fn end_half(&mut self, block: usize) {
        let half = self.halves.remove(&block).map(|_| char::REPLACEMENT_CHARACTER);
        match self.blocks.get_mut(block) {
            Some(GrowingBlock::Text(text)) => text.extend(half),
            Some(GrowingBlock::Thinking(thought)) => thought.text.extend(half),
            Some(GrowingBlock::Call(call)) => call.arguments.extend(half),
            None => (),
        }
    }

    fn end_halves(&mut self) {
        while let Some((&block, _)) = self.halves.first_key_value() {
            self.end_half(block);
        }
    }

    pub(crate) fn thought_mut(&mut self, block: usize) -> Option<&mut Thought> {
        match self.blocks.get_mut(block)? {
            GrowingBlock::Thinking(thought) => Some(thought),
            _ => None,
        }
    }

    pub(crate) fn call(&self, block: usize) -> Option<&GrowingCall> {
        match self.blocks.get(block)? {
            GrowingBlock::Call(call) => Some(call),
            _ => None,
        }
    }

    /// For a wire that does not say where a call ends: it has with the answer.
    pub(crate) fn close_calls(&mut self) {
        for block in &mut self.blocks {
            if let GrowingBlock::Call(call) = block {
                call.is_closed = true;
            }
        }
    }

    fn into_partial(mut self) -> PartialAnswer {
        self.end_halves();
        let n_bytes: usize = self.blocks.iter().map(GrowingBlock::n_bytes).sum();
        let at_least = if self.finish.is_some() { 0 } else { n_bytes / BYTES_PER_TOKEN };
        let usage = self.usage.map(|usage| {
            let output = usage.output.max(at_least as u64);
            Usage { output, ..usage }
        });
        let texts = self.blocks.into_iter().filter_map(|block| match block {
            GrowingBlock::Text(text) => Some(text),
            _ => None,
        });
        PartialAnswer { text: texts.collect(), usage }
    }

    fn finish(mut self) -> Result<Answer, UnfinishedAnswer> {
        self.end_halves();
        let Some(stop_reason) = self.stop_reason() else {
            let what = "closed the connection before the answer was complete";
            let fault = Fault::new(FailureKind::Cut, what).retryable();
            return Err(Box::new((fault, self.into_partial())));
        };
        if let Some(what) = self.flaw(stop_reason) {
            let fault = Fault::new(FailureKind::Malformed, what).retryable();
            return Err(Box::new((fault, self.into_partial())));
        }
        let usage = self.usage;
        let is_kept = |block: &GrowingBlock| {
            // The filter may have struck in the middle of a call.
            stop_reason != StopReason::Refusal || !matches!(block, GrowingBlock::Call(_))
        };
        let content = self.blocks.into_iter().filter(is_kept).map(answer_block).collect();
        Ok(Answer { content, usage, stop_reason })
    }

    /// `None` before the answer is whole.
    fn stop_reason(&self) -> Option<StopReason> {
        Some(match self.finish? {
            Finish::Length => StopReason::MaxTokens,
            Finish::Filtered => StopReason::Refusal,
            Finish::Ended if self.is_refused => StopReason::Refusal,
            Finish::Ended if self.n_calls > 0 => StopReason::ToolCall,
            Finish::Ended => StopReason::EndTurn,
        })
    }

    /// What is wrong with the calls of an answer that has ended.
    fn flaw(&self, stop_reason: StopReason) -> Option<&'static str> {
        if stop_reason == StopReason::Refusal {
            return None;
        }
        let mut calls = self.blocks.iter().filter_map(|block| match block {
            GrowingBlock::Call(call) => Some(call),
            _ => None,
        });
        if calls.clone().any(|call| call.name.is_empty()) {
            return Some("called a tool without naming it");
        }
        // Whoever reads the answer takes its last call for cut off when the tokens ran out.
        if stop_reason == StopReason::MaxTokens {
            calls.next_back();
        }
        let is_open = calls.any(|call| !call.is_closed);
        is_open.then_some("ended its answer in the middle of a call")
    }
}

fn answer_block(block: GrowingBlock) -> AnswerBlock {
    match block {
        GrowingBlock::Text(text) => AnswerBlock::Text(text),
        GrowingBlock::Thinking(Thought { text, signature, redacted }) => {
            AnswerBlock::Thinking(Thinking {
                text: text.into(),
                signature: signature.map(Into::into),
                redacted: redacted.map(Into::into),
            })
        }
        GrowingBlock::Call(call) => AnswerBlock::Call {
            provider_call_id: call.id,
            tool: tool_name::unescape(&call.name).into_owned(),
            arguments: call.arguments,
        },
    }
}

/// A member of an event. One that is missing, or in a form that is not known, is passed over.
pub(crate) fn read_member<'a, T: Deserialize<'a>>(member: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(member?.get()).ok()
}

/// The usage of a vendor that counts what it had cached as part of the input.
pub(crate) fn usage_of(input: Option<u64>, output: Option<u64>, cached: u64) -> Usage {
    Usage {
        input: input.unwrap_or(0).saturating_sub(cached),
        output: output.unwrap_or(0),
        cache_read: cached,
        ..Usage::default()
    }
}

/// Both kinds of indexes have limits far below.
fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub(crate) mod words;
