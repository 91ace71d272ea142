//! The user message being made: the results of the last answer's calls, then new messages.
//!
//! Once a request has carried it, it is *sealed*: more may be said, but no result or reminder that
//! comes later changes what the model has seen.

use kith_vocab::block::Media;
use kith_vocab::conversation::{
    CallResult, Element, ElementKind, Message, ResultPart, ResultPartKind, Role,
};
use kith_vocab::event::messages::ToolResult;
use kith_vocab::ids::{CallId, EventId};
use kith_vocab::text::FramedText;
use serde::{Deserialize, Serialize};

use super::elements::{self, media_of_element, media_of_result};
use crate::context::escaped::EscapedTexts;
use crate::context::words;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TailMessage {
    slots: Vec<Slot>,
    said: Vec<Element>,
    sealed: bool,
}

/// The place for the result of one call of the last answer, in the order of the calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    call_id: CallId,
    tool: String,
    /// With the event it came from; `None` when we state that there is none.
    result: Option<(Option<EventId>, CallResult)>,
}

impl TailMessage {
    pub(super) fn after(calls: impl Iterator<Item = (CallId, String)>) -> TailMessage {
        let slots = calls.map(|(call_id, tool)| Slot { call_id, tool, result: None }).collect();
        TailMessage { slots, ..TailMessage::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.said.is_empty()
    }

    pub(super) fn say(&mut self, elements: impl IntoIterator<Item = Element>) {
        self.said.extend(elements);
    }

    /// False if the call is not one of the last answer's, has a result, or was reported without.
    pub(super) fn set_result(
        &mut self,
        id: EventId,
        result: &ToolResult,
        escaped: &mut EscapedTexts,
    ) -> bool {
        let open = |slot: &&mut Slot| slot.call_id == result.call_id && slot.result.is_none();
        // Sealing fills what is missing, so a slot that is open was never shown without a result.
        let Some(slot) = self.slots.iter_mut().find(open) else { return false };
        slot.result = Some((Some(id), elements::of_result(id, &slot.tool, result, escaped)));
        true
    }

    /// Adds a reminder to a result. False if that result cannot take it any more.
    pub(super) fn join(&mut self, target: EventId, from: EventId, reminder: &FramedText) -> bool {
        let results = self.slots.iter_mut().filter_map(|slot| slot.result.as_mut());
        let found = results.filter(|(id, _)| *id == Some(target)).map(|(_, result)| result).next();
        match found {
            Some(result) if !self.sealed && takes_text(result) => {
                let [before, _, after] = reminder.pieces();
                let before = format!("\n\n{before}");
                let text = FramedText::new(&before, reminder.text().clone(), after);
                let kind = ResultPartKind::Text(text);
                result.parts.push(ResultPart { from: Some(from), kind });
                true
            }
            _ => false,
        }
    }

    /// The result a reminder written now would join: the last one, if nothing follows it yet.
    pub(super) fn merge_target(&self) -> Option<EventId> {
        let all_settled = self.slots.iter().all(|slot| slot.result.is_some());
        if self.sealed || !self.said.is_empty() || !all_settled {
            return None;
        }
        let (id, result) = self.slots.last()?.result.as_ref()?;
        if takes_text(result) { *id } else { None }
    }

    pub(super) fn seal(&mut self, is_first: bool) {
        if !self.sealed {
            self.complete(is_first);
            self.sealed = true;
        }
    }

    /// The images and files in it.
    pub(super) fn media(&self) -> impl Iterator<Item = &Media> {
        let results = self.slots.iter().filter_map(|slot| slot.result.as_ref());
        let in_results = results.flat_map(|(_, result)| media_of_result(result));
        in_results.chain(self.said.iter().flat_map(media_of_element))
    }

    /// Never empty, every call answered.
    pub(super) fn into_message(mut self, is_first: bool) -> Message {
        self.complete(is_first);
        let results = self.slots.into_iter().filter_map(|slot| slot.result);
        let results =
            results.map(|(from, result)| Element { from, kind: ElementKind::Result(result) });
        Message { role: Role::User, elements: results.chain(self.said).collect() }
    }

    fn complete(&mut self, is_first: bool) {
        for slot in &mut self.slots {
            if slot.result.is_none() {
                let kind = ResultPartKind::Text(words::NO_RESULT.into());
                let parts = vec![ResultPart { from: None, kind }];
                let (call_id, tool) = (slot.call_id, slot.tool.clone());
                slot.result = Some((None, CallResult { call_id, tool, failed: true, parts }));
            }
        }
        if self.is_empty() {
            let text = if is_first { words::BEGINNING } else { words::CONTINUE };
            self.say([Element { from: None, kind: ElementKind::Meta(text.into()) }]);
        }
    }
}

fn takes_text(result: &CallResult) -> bool {
    result.parts.iter().any(|part| matches!(part.kind, ResultPartKind::Text(_)))
}
