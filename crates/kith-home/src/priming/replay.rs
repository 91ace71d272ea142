//! A script as events of a new session.
//!
//! One event per record, in order. What the log has a word for becomes that word and reaches the
//! model; the rest is kept as it is and only shown. The writer of the events must give them
//! the ids named here, because a call's id is made from the id of its answer. Nothing here obliges to
//! anything: the events carry a source tag, and such events are never judged, run or answered.

use std::collections::BTreeMap;

use kith_vocab::block::{Block, Thinking, ToolCall};
use kith_vocab::event::messages::{
    AnswerContent, AssistantMessage, Author, HarnessItem, HarnessItemEvent, MessageContent,
    Outcome, PrimedRecord, StopReason, ToolResult, Trust, UserMessage,
};
use kith_vocab::event::{Body, SourceTag};
use kith_vocab::ids::{CallId, EventId};
use kith_vocab::json::Json;
use serde::Deserialize;

use super::form::{BodyText, to_json};
use super::record_type::RecordType;
use super::script::{PrimingRecord, Script};

/// The author of a script's user messages, and the trust of its content unless the script lowers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    pub author: Author,
    pub trust: Trust,
}

/// An event to be written, with [`Draft::SOURCE_TAG`] and the one before it as its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The event must get this id.
    pub id: EventId,
    pub body: Body,
    /// The script's generation, numbered from 1 in the order of first sight over all scripts.
    pub genseq: Option<u64>,
}

impl Draft {
    pub const SOURCE_TAG: SourceTag = SourceTag::PrimingScript;
}

/// The events of several scripts, one after the other.
pub fn replay(
    scripts: &[Script],
    speaker: &Speaker,
    new_id: &mut dyn FnMut() -> EventId,
) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let mut n_generations = 0;
    for script in scripts {
        // A script may lower what it is trusted with, never raise it.
        let trust = script.trust().map_or(speaker.trust, |trust| trust.max(speaker.trust));
        let mut replay = Replay { speaker, trust, calls: BTreeMap::new() };
        let mut generations: BTreeMap<u64, u64> = BTreeMap::new();
        for record in &script.records {
            let id = new_id();
            let genseq = record.genseq().map(|genseq| {
                *generations.entry(genseq).or_insert_with(|| {
                    n_generations += 1;
                    n_generations
                })
            });
            let body = replay.body(id, NumberedRecord { record, genseq });
            drafts.push(Draft { id, body, genseq });
        }
    }
    drafts
}

/// A record, and the number that its generation has here.
#[derive(Clone, Copy)]
struct NumberedRecord<'a> {
    record: &'a PrimingRecord,
    genseq: Option<u64>,
}

struct Replay<'a> {
    speaker: &'a Speaker,
    trust: Trust,
    /// Ours by the script's.
    calls: BTreeMap<String, CallId>,
}

impl Replay<'_> {
    fn body(&mut self, id: EventId, numbered: NumberedRecord<'_>) -> Body {
        let record = numbered.record;
        match record.record_type {
            RecordType::HumanText => Body::UserMessage(self.user_message(numbered)),
            RecordType::AgentWords => numbered.answer(Block::text(record.body.as_str())),
            RecordType::AgentThought => {
                let text = record.body.clone();
                let thinking = Thinking { text: text.into(), signature: None, redacted: None };
                numbered.answer(Block::Thinking(thinking))
            }
            RecordType::FuncCall => numbered.answer(self.call(id, record)),
            RecordType::FuncResult => self.result(numbered),
            RecordType::HarnessItem => self.reminder(numbered),
            RecordType::UiOnlyMarkdown
            | RecordType::GenStart
            | RecordType::GenFinish
            | RecordType::WebSearchCall
            | RecordType::QuestForSup
            | RecordType::TeammateCallResult
            | RecordType::TeammateResponse
            | RecordType::TeammateCallAnchor => numbered.kept(),
        }
    }

    fn user_message(&self, numbered: NumberedRecord<'_>) -> UserMessage {
        let text = numbered.record.body.as_str();
        UserMessage {
            message: MessageContent { content: vec![Block::text(text)], meta: None },
            author: self.speaker.author.clone(),
            trust: self.trust,
            ingress: None,
            queue_item_id: None,
            primed: Some(numbered.primed()),
        }
    }

    fn call(&mut self, id: EventId, record: &PrimingRecord) -> Block {
        let call_id = id.call(0);
        let provider_call_id = record.get_text("id").unwrap_or_default();
        self.calls.insert(provider_call_id.clone(), call_id);
        let input = record.get("arguments").cloned().unwrap_or_else(Json::empty_object);
        let tool = record.get_text("name").unwrap_or_default();
        Block::ToolCall(ToolCall { call_id, provider_call_id, tool, input, raw_input: None })
    }

    fn result(&self, numbered: NumberedRecord<'_>) -> Body {
        let record = numbered.record;
        let call_id = record.get_text("id").and_then(|id| self.calls.get(&id).copied());
        // The parser refuses a result without its call; one that was made otherwise is only shown.
        let Some(call_id) = call_id else { return numbered.kept() };
        Body::ToolResult(ToolResult {
            call_id,
            tool: record.get_text("name").unwrap_or_default(),
            content: vec![Block::text(record.body.as_str())],
            outcome: Outcome::Done,
            trust: self.trust,
            full_output: None,
            primed: Some(numbered.primed()),
        })
    }

    fn reminder(&self, numbered: NumberedRecord<'_>) -> Body {
        let record = numbered.record;
        let (Some(kind), Some(origin), Some(visibility)) =
            (word(record, "kind"), word(record, "origin"), word(record, "visibility"))
        else {
            return numbered.kept();
        };
        let content = record.body.clone().into();
        let item = HarnessItem { kind, origin, content, visibility, data: None };
        let primed = Some(numbered.primed());
        Body::HarnessItem(HarnessItemEvent { primed, ..HarnessItemEvent::new(item, self.trust) })
    }
}

impl NumberedRecord<'_> {
    fn answer(self, block: Block) -> Body {
        let stop_reason = match block {
            Block::ToolCall(_) => StopReason::ToolCall,
            _ => StopReason::EndTurn,
        };
        Body::AssistantMessage(AssistantMessage {
            request_id: None,
            message: AnswerContent { content: vec![block] },
            provider: None,
            model: None,
            usage: None,
            stop_reason,
            primed: Some(self.primed()),
        })
    }

    fn kept(self) -> Body {
        let record = to_json(self.record, self.genseq, BodyText::Included);
        Body::PrimedRecord(PrimedRecord { record })
    }

    /// The record's own fields; its text is in the event.
    fn primed(self) -> Json {
        to_json(self.record, self.genseq, BodyText::LeftOut)
    }
}

fn word<T: for<'de> Deserialize<'de>>(record: &PrimingRecord, name: &str) -> Option<T> {
    record.get(name)?.read().ok()
}

#[cfg(test)]
pub(crate) mod tests;
