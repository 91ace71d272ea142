//! The events of Anthropic Messages.

use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::FailureKind;

use super::wire::{AnthropicAnswer, AnthropicEvent, AnthropicTokens, ContentBlock, ContentDelta};
use crate::answer::{ANSWER_BLOCKS_MAX, AnswerWriter, EventReader, Finish};
use crate::fault::{Fault, not_json};
use crate::text_piece::TextPiece;

/// Blocks as they are numbered by the server, and the counts so far.
#[derive(Default)]
pub(crate) struct AnthropicReader {
    blocks: Vec<NumberedBlock>,
    tokens: AnthropicTokens,
}

struct NumberedBlock {
    index: u64,
    kind: BlockKind,
    /// Its place among the blocks of the answer; `None` while it is empty.
    block: Option<usize>,
    /// The input of a call, where the server gives it at once.
    input: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    Call,
    /// What the vendor's own tools do, and what it may invent.
    Other,
}

impl EventReader for AnthropicReader {
    fn read(&mut self, data: &str, answer: &mut AnswerWriter<'_>) -> Result<(), Fault> {
        let event: AnthropicEvent<'_> = serde_json::from_str(data).map_err(|_| not_json())?;
        let index = event.index.unwrap_or(0);
        match event.kind.as_ref() {
            "message_start" => {
                let message = event.message().ok_or_else(not_json)?;
                self.count(message.usage(), answer);
            }
            "content_block_start" => {
                let content = event.content_block().ok_or_else(not_json)?;
                self.begin(index, content, answer)?;
            }
            "content_block_delta" => {
                let delta = event.delta().ok_or_else(not_json)?;
                self.grow(index, delta, answer)?;
            }
            "content_block_stop" => self.end_block(index, answer),
            "message_delta" => {
                self.count(event.usage(), answer);
                let delta = event.delta().ok_or_else(not_json)?;
                if let Some(reason) = delta.stop_reason {
                    answer.end(finish_of(&reason));
                }
            }
            "message_stop" => answer.is_done = true,
            "error" => return Err(event.error().into_fault()),
            // `ping`, and kinds that came after this was written.
            _ => (),
        }
        Ok(())
    }

    fn read_whole(&mut self, body: &str, answer: &mut AnswerWriter<'_>) -> Result<bool, Fault> {
        let Ok(message) = serde_json::from_str::<AnthropicAnswer<'_>>(body) else {
            return Ok(false);
        };
        if let Some(error) = message.error() {
            return Err(error.into_fault());
        }
        self.count(message.usage(), answer);
        let Some(content) = message.content else { return Ok(false) };
        for (index, content) in (0..).zip(content) {
            self.begin(index, content, answer)?;
            self.end_block(index, answer);
        }
        if let Some(reason) = message.stop_reason {
            answer.end(finish_of(&reason));
        }
        Ok(true)
    }
}

impl AnthropicReader {
    /// Counts are cumulative, and each event says only what it knows.
    fn count(&mut self, tokens: Option<AnthropicTokens>, answer: &mut AnswerWriter<'_>) {
        let Some(tokens) = tokens else { return };
        let known = &mut self.tokens;
        known.input = tokens.input.or(known.input);
        known.output = tokens.output.or(known.output);
        known.cache_read = tokens.cache_read.or(known.cache_read);
        known.cache_write = tokens.cache_write.or(known.cache_write);
        answer.usage = Some(Usage {
            input: known.input.unwrap_or(0),
            output: known.output.unwrap_or(0),
            cache_read: known.cache_read.unwrap_or(0),
            cache_write: known.cache_write.unwrap_or(0),
            ..Usage::default()
        });
    }

    fn begin(
        &mut self,
        index: u64,
        content: ContentBlock<'_>,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        let ContentBlock { kind, text, thinking, signature, data, id, name, input } = content;
        let kind = match kind.as_ref() {
            "text" => BlockKind::Text,
            "thinking" | "redacted_thinking" => BlockKind::Thinking,
            "tool_use" => BlockKind::Call,
            _ => BlockKind::Other,
        };
        let mut numbered = NumberedBlock { index, kind, block: None, input: String::new() };
        match kind {
            BlockKind::Call => {
                let block = answer.begin_call(id.unwrap_or_default())?;
                answer.name_call(block, &name.unwrap_or_default());
                numbered.block = Some(block);
                numbered.input = input.map(|it| it.get().to_owned()).unwrap_or_default();
            }
            BlockKind::Thinking if data.is_some() => {
                let block = answer.thinking_in(&mut numbered.block)?;
                if let Some(thought) = answer.thought_mut(block) {
                    thought.redacted = data;
                }
            }
            BlockKind::Text | BlockKind::Thinking | BlockKind::Other => (),
        }
        // A block of the same number is over: its pieces would not be told apart.
        self.blocks.retain(|it| it.index != index);
        // Also those that are empty or of a kind that is passed over: each event looks through all.
        if self.blocks.len() == ANSWER_BLOCKS_MAX {
            let what = format!(
                "sent more than {ANSWER_BLOCKS_MAX} blocks in one answer: use another model"
            );
            return Err(Fault::new(FailureKind::Malformed, what));
        }
        self.blocks.push(numbered);
        let first =
            ContentDelta { text, thinking, signature, partial_json: None, stop_reason: None };
        self.grow(index, first, answer)
    }

    fn grow(
        &mut self,
        index: u64,
        delta: ContentDelta,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        let Some(numbered) = self.blocks.iter_mut().find(|it| it.index == index) else {
            return Err(not_json());
        };
        let filled = |text: Option<TextPiece>| text.filter(|text| !text.is_empty());
        match numbered.kind {
            BlockKind::Text => {
                let Some(text) = filled(delta.text) else { return Ok(()) };
                let block = answer.text_in(&mut numbered.block)?;
                answer.add_text(block, &text);
            }
            BlockKind::Thinking => {
                let text = filled(delta.thinking);
                let signature = delta.signature.filter(|signature| !signature.is_empty());
                if text.is_none() && signature.is_none() {
                    return Ok(());
                }
                let block = answer.thinking_in(&mut numbered.block)?;
                if let Some(text) = text {
                    answer.add_thinking(block, &text);
                }
                if let (Some(more), Some(thought)) = (signature, answer.thought_mut(block)) {
                    thought.signature.get_or_insert_default().push_str(&more);
                }
            }
            BlockKind::Call => {
                let json = delta.partial_json.unwrap_or_default();
                if let Some(block) = numbered.block.filter(|_| !json.is_empty()) {
                    answer.grow_call(block, "", &json);
                }
            }
            BlockKind::Other => (),
        }
        Ok(())
    }

    fn end_block(&mut self, index: u64, answer: &mut AnswerWriter<'_>) {
        let Some(numbered) = self.blocks.iter().find(|it| it.index == index) else { return };
        let (BlockKind::Call, Some(block)) = (numbered.kind, numbered.block) else { return };
        // The input of the beginning is a placeholder unless nothing follows it.
        let has_arguments = answer.call(block).is_some_and(|call| !call.arguments.is_empty());
        let whole = (!has_arguments && !numbered.input.is_empty()).then_some(&*numbered.input);
        answer.close_call(block, whole);
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Filtered,
        // `end_turn`, `tool_use`, `stop_sequence`, `pause_turn`: whether there are calls is seen from
        // the calls.
        _ => Finish::Ended,
    }
}

#[cfg(test)]
mod tests;
