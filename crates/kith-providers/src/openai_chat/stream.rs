//! The events of Chat Completions.

use super::wire::{CallDelta, ChoiceDelta, Chunk, FunctionDelta};
use crate::answer::{AnswerWriter, EventReader, Finish, GrowingAnswer, usage_of};
use crate::fault::{Fault, not_json};
use crate::text_piece::TextPiece;

/// Calls as they are numbered by the server.
#[derive(Default)]
pub(crate) struct ChatReader {
    calls: Vec<NumberedCall>,
}

struct NumberedCall {
    index: Option<u64>,
    /// Its place among the blocks of the answer.
    block: usize,
}

impl EventReader for ChatReader {
    fn read(&mut self, data: &str, answer: &mut AnswerWriter<'_>) -> Result<(), Fault> {
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|_| not_json())?;
        self.take(chunk, answer)
    }

    fn read_whole(&mut self, body: &str, answer: &mut AnswerWriter<'_>) -> Result<bool, Fault> {
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(body) else { return Ok(false) };
        let has_choices = chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty());
        self.take(chunk, answer)?;
        answer.close_calls();
        Ok(has_choices)
    }
}

impl ChatReader {
    fn take(&mut self, chunk: Chunk<'_>, answer: &mut AnswerWriter<'_>) -> Result<(), Fault> {
        if let Some(error) = chunk.error() {
            return Err(error.into_fault());
        }
        if let Some(tokens) = chunk.usage() {
            answer.usage = Some(usage_of(tokens.prompt, tokens.completion, tokens.cached()));
        }
        // We ask for one choice; a parameter may have asked for more, and they are not ours.
        let first = |index: Option<u64>| index.unwrap_or(0) == 0;
        let choices = chunk.choices.into_iter().flatten();
        for choice in choices.filter(|choice| first(choice.index)) {
            if let Some(delta) = choice.delta.or(choice.message) {
                self.grow(delta, answer)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                answer.close_calls();
                answer.end(finish_of(&reason));
            }
        }
        Ok(())
    }

    fn grow(&mut self, delta: ChoiceDelta, answer: &mut AnswerWriter<'_>) -> Result<(), Fault> {
        // Servers that know both names for thinking send the same text under each.
        let thinking = match &delta.reasoning_content {
            empty if empty.is_empty() => &delta.reasoning,
            text => text,
        };
        if !thinking.is_empty() {
            let block = answer.only_thinking()?;
            answer.add_thinking(block, thinking);
        }
        answer.is_refused |= !delta.refusal.is_empty();
        for text in [&delta.content, &delta.refusal].into_iter().filter(|text| !text.is_empty()) {
            let block = answer.only_text()?;
            answer.add_text(block, text);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.grow_call(call, answer)?;
        }
        match delta.function_call {
            Some(function) => {
                let call = CallDelta { index: Some(0), id: None, function: Some(function) };
                self.grow_call(call, answer)
            }
            None => Ok(()),
        }
    }

    fn grow_call(&mut self, delta: CallDelta, answer: &mut AnswerWriter<'_>) -> Result<(), Fault> {
        let CallDelta { index, id, function } = delta;
        let id = id.unwrap_or_default();
        let FunctionDelta { name, arguments } =
            function.unwrap_or(FunctionDelta { name: None, arguments: TextPiece::default() });
        let name = name.unwrap_or_default();
        let block = if let Some(block) = self.block_of(index, &id, &name, answer) {
            block
        } else {
            let block = answer.begin_call(id)?;
            self.calls.push(NumberedCall { index, block });
            block
        };
        answer.grow_call(block, &name, &arguments);
        Ok(())
    }

    /// Which call a piece belongs to; `None` for a new one.
    ///
    /// The protocol says: the one with the same index. Servers that send whole calls number all
    /// of them 0 or none at all, so another id, or without an index another name, begins a call.
    fn block_of(
        &self,
        index: Option<u64>,
        id: &str,
        name: &str,
        answer: &GrowingAnswer,
    ) -> Option<usize> {
        let mut calls = self.calls.iter().rev();
        let block = match index {
            Some(_) => calls.find(|call| call.index == index)?.block,
            None => calls.next()?.block,
        };
        let call = answer.call(block)?;
        let is_other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let is_other_name = !name.is_empty() && !call.name.is_empty();
        let begins = match index {
            Some(_) => is_other_id && is_other_name,
            None => is_other_id || (id.is_empty() && is_other_name),
        };
        (!begins).then_some(block)
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

#[cfg(test)]
mod tests;
