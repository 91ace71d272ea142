//! The events of OpenAI Responses.

use kith_vocab::event::models::FailureKind;

use super::wire::{OutputItem, ResponseObject, ResponsesEvent};
use crate::answer::{ANSWER_BLOCKS_MAX, AnswerWriter, EventReader, Finish, usage_of};
use crate::fault::{Fault, not_json};
use crate::text_piece::TextPiece;

/// Between the parts of a summary, which are paragraphs.
const PARAGRAPH: &str = "\n\n";

/// The items of an answer as the server names them.
#[derive(Default)]
pub(crate) struct ResponsesReader {
    items: Vec<NamedItem>,
}

/// Servers name an item by its number, its id, or for a call by the call's id; some leave out two
/// of them.
#[derive(Default)]
struct NamedItem {
    output_index: Option<u64>,
    ids: Vec<String>,
    kind: ItemKind,
    /// Its place among the blocks of the answer; `None` while it is empty.
    block: Option<usize>,
    /// A part of the summary has ended, and another follows.
    is_between_parts: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ItemKind {
    Message,
    Reasoning,
    Call,
    /// What the vendor's own tools do, and what it may invent.
    #[default]
    Other,
}

impl EventReader for ResponsesReader {
    fn read(&mut self, data: &str, answer: &mut AnswerWriter<'_>) -> Result<(), Fault> {
        let event: ResponsesEvent<'_> = serde_json::from_str(data).map_err(|_| not_json())?;
        match event.kind.as_ref() {
            "response.output_item.added" => {
                let item = event.item().ok_or_else(not_json)?;
                self.begin(event.output_index, &item, answer)?;
            }
            "response.output_text.delta" => self.say(&event, answer)?,
            "response.refusal.delta" => {
                answer.is_refused = true;
                self.say(&event, answer)?;
            }
            "response.reasoning_summary_part.added" => {
                let place = self.place_of(&event, ItemKind::Reasoning)?;
                self.items[place].is_between_parts = self.items[place].block.is_some();
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let place = self.place_of(&event, ItemKind::Reasoning)?;
                self.think(place, &event.delta(), answer)?;
            }
            "response.function_call_arguments.delta" => {
                if let Some(block) = self.call_of(&event) {
                    answer.grow_call(block, "", &event.delta());
                }
            }
            "response.function_call_arguments.done" => {
                if let Some(block) = self.call_of(&event) {
                    answer.close_call(block, event.arguments().as_deref());
                }
            }
            "response.output_item.done" => {
                let item = event.item().ok_or_else(not_json)?;
                self.end(event.output_index, item, answer)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = event.response().ok_or_else(not_json)?;
                self.conclude(response, &event.kind["response.".len()..], answer)?;
            }
            "error" => return Err(event.error(data).into_fault()),
            // Beginnings and ends of parts, tools of the vendor's own, and kinds that came after this
            // was written.
            _ => (),
        }
        Ok(())
    }

    fn read_whole(&mut self, body: &str, answer: &mut AnswerWriter<'_>) -> Result<bool, Fault> {
        let Ok(response) = serde_json::from_str::<ResponseObject<'_>>(body) else {
            return Ok(false);
        };
        if let Some(error) = response.error() {
            return Err(error.into_fault());
        }
        let is_answer = response.output.is_some();
        let status = response.status.clone().unwrap_or_default();
        self.conclude(response, &status, answer)?;
        Ok(is_answer)
    }
}

impl ResponsesReader {
    fn begin(
        &mut self,
        output_index: Option<u64>,
        item: &OutputItem<'_>,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<usize, Fault> {
        let kind = kind_of(item);
        let ids = [&item.id, &item.call_id].into_iter().flatten();
        let ids = ids.filter(|id| !id.is_empty()).cloned().collect();
        let mut named = NamedItem { output_index, ids, kind, ..NamedItem::default() };
        if kind == ItemKind::Call {
            let id = item.call_id.clone().or_else(|| item.id.clone());
            let block = answer.begin_call(id.unwrap_or_default())?;
            answer.name_call(block, item.name.as_deref().unwrap_or_default());
            named.block = Some(block);
        }
        self.add(named)
    }

    fn add(&mut self, item: NamedItem) -> Result<usize, Fault> {
        if self.items.len() == ANSWER_BLOCKS_MAX {
            let what = format!(
                "sent more than {ANSWER_BLOCKS_MAX} items in one answer: use another model"
            );
            return Err(Fault::new(FailureKind::Malformed, what));
        }
        self.items.push(item);
        Ok(self.items.len() - 1)
    }

    fn say(
        &mut self,
        event: &ResponsesEvent<'_>,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        let place = self.place_of(event, ItemKind::Message)?;
        self.add_text(place, &event.delta(), answer)
    }

    fn add_text(
        &mut self,
        place: usize,
        text: &TextPiece,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        let block = answer.text_in(&mut self.items[place].block)?;
        answer.add_text(block, text);
        Ok(())
    }

    fn think(
        &mut self,
        place: usize,
        text: &TextPiece,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        let item = &mut self.items[place];
        let block = answer.thinking_in(&mut item.block)?;
        if std::mem::take(&mut item.is_between_parts) {
            answer.add_thinking(block, &TextPiece::from(PARAGRAPH));
        }
        answer.add_thinking(block, text);
        Ok(())
    }

    /// The server repeats the whole item at its end; what was not streamed is taken from there.
    fn end(
        &mut self,
        output_index: Option<u64>,
        item: OutputItem<'_>,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        let kind = kind_of(&item);
        let id = item.id.as_deref().or(item.call_id.as_deref());
        let place = match self.find(output_index, id, kind) {
            Some(place) => place,
            None => self.begin(output_index, &item, answer)?,
        };
        match kind {
            ItemKind::Message if self.items[place].block.is_none() => {
                for part in item.content.into_iter().flatten() {
                    answer.is_refused |= part.refusal.is_some();
                    let text = part.text.or(part.refusal).unwrap_or_default();
                    self.add_text(place, &text, answer)?;
                }
            }
            ItemKind::Reasoning => self.end_reasoning(place, item, answer)?,
            ItemKind::Call => {
                if let Some(block) = self.items[place].block {
                    let is_named = answer.call(block).is_some_and(|call| !call.name.is_empty());
                    let name = item.name.as_deref().filter(|_| !is_named).unwrap_or_default();
                    answer.name_call(block, name);
                    // An item that the tokens did not suffice for is ended too, and says so.
                    if item.status.as_deref() != Some("incomplete") {
                        answer.close_call(block, item.arguments().as_deref());
                    }
                }
            }
            ItemKind::Message | ItemKind::Other => (),
        }
        Ok(())
    }

    fn end_reasoning(
        &mut self,
        place: usize,
        item: OutputItem<'_>,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        if self.items[place].block.is_none() {
            let parts =
                [item.summary, item.content].into_iter().flatten().find(|it| !it.is_empty());
            for part in parts.into_iter().flatten() {
                self.think(place, &part.text.unwrap_or_default(), answer)?;
                self.items[place].is_between_parts = self.items[place].block.is_some();
            }
        }
        let Some(encrypted) = item.encrypted_content.filter(|it| !it.is_empty()) else {
            return Ok(());
        };
        let block = answer.thinking_in(&mut self.items[place].block)?;
        if let Some(thought) = answer.thought_mut(block) {
            thought.signature = Some(item.id.unwrap_or_default());
            thought.redacted = Some(encrypted);
        }
        Ok(())
    }

    fn conclude(
        &mut self,
        response: ResponseObject<'_>,
        status: &str,
        answer: &mut AnswerWriter<'_>,
    ) -> Result<(), Fault> {
        if let Some(error) = response.error() {
            return Err(error.into_fault());
        }
        if status == "failed" {
            let what = "reported that the answer failed, without saying why";
            return Err(Fault::new(FailureKind::Status, what).retryable());
        }
        let usage = response.usage().map(|it| usage_of(it.input, it.output, it.cached()));
        answer.usage = usage.or(answer.usage);
        let finish = match (status, response.incomplete_reason().as_deref()) {
            (_, Some("content_filter")) => Finish::Filtered,
            (_, Some(_)) | ("incomplete", None) => Finish::Length,
            _ => Finish::Ended,
        };
        if answer.is_empty() {
            for (index, item) in (0..).zip(response.output.into_iter().flatten()) {
                self.end(Some(index), item, answer)?;
            }
        }
        answer.end(finish);
        answer.is_done = true;
        Ok(())
    }

    /// The item that an event belongs to. It begins now if the server did not say so before.
    fn place_of(&mut self, event: &ResponsesEvent<'_>, kind: ItemKind) -> Result<usize, Fault> {
        if let Some(place) = self.find(event.output_index, event.item_id.as_deref(), kind) {
            return Ok(place);
        }
        let ids = event.item_id.iter().cloned().collect();
        self.add(NamedItem { output_index: event.output_index, ids, kind, ..NamedItem::default() })
    }

    fn call_of(&self, event: &ResponsesEvent<'_>) -> Option<usize> {
        let id = event.item_id.as_deref();
        let place = self.find(event.output_index, id, ItemKind::Call)?;
        self.items[place].block
    }

    fn find(&self, output_index: Option<u64>, id: Option<&str>, kind: ItemKind) -> Option<usize> {
        let of_kind = |item: &NamedItem| item.kind == kind;
        let last = |is_it: &dyn Fn(&NamedItem) -> bool| {
            self.items.iter().rposition(|item| of_kind(item) && is_it(item))
        };
        let numbered = last(&|item| output_index.is_some() && item.output_index == output_index);
        if numbered.is_some() {
            return numbered;
        }
        match id {
            // Of items that are both numbered, the numbers decide: ids may be repeated.
            Some(id) => last(&|item| {
                let is_unnumbered = output_index.is_none() || item.output_index.is_none();
                is_unnumbered && item.ids.iter().any(|it| it == id)
            }),
            // Only a server that names nothing at all is taken to mean the last one.
            None if output_index.is_none() => last(&|_| true),
            None => None,
        }
    }
}

fn kind_of(item: &OutputItem<'_>) -> ItemKind {
    match item.kind.as_ref() {
        "message" => ItemKind::Message,
        "reasoning" => ItemKind::Reasoning,
        "function_call" => ItemKind::Call,
        _ => ItemKind::Other,
    }
}

#[cfg(test)]
mod tests;
