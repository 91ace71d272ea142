//! A script as events of a new session.
//!
//! One event per record, in order. What the log has a word for becomes that word and reaches the
//! model; the rest is kept as it is and only shown. Whoever writes the events gives them the ids
//! named here, because a call's id is made from the id of its answer. Nothing here obliges to
//! anything: the events carry a source tag, and such events are never judged, run or answered.

use std::collections::BTreeMap;

use kith_vocab::block::{Block, Thinking, ToolCall};
use kith_vocab::event::messages::{
    AnswerContent, AssistantMessage, Author, HarnessItem, HarnessItemEvent, IngressRef,
    MessageContent, Outcome, PrimedRecord, StopReason, ToolResult, Trust, UserMessage,
};
use kith_vocab::event::{Body, SourceTag};
use kith_vocab::ids::{CallId, EventId};
use kith_vocab::json::Json;
use serde::Deserialize;

use super::form::{self, object, to_json};
use super::record_type::RecordType;
use super::script::{Record, Script};

/// The platform of a primed message: no channel has this name.
pub(crate) const PRIMING_PLATFORM: &str = "priming_script";
/// The key under which a reminder keeps the fields of its record.
pub(crate) const PRIMED: &str = "primed";

/// Who speaks in a script, and how far that is trusted unless the script says less.
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
        let mut stage = Stage { speaker, trust, calls: BTreeMap::new() };
        let mut generations: BTreeMap<u64, u64> = BTreeMap::new();
        for record in &script.records {
            let id = new_id();
            let genseq = record.genseq().map(|genseq| {
                *generations.entry(genseq).or_insert_with(|| {
                    n_generations += 1;
                    n_generations
                })
            });
            drafts.push(Draft { id, body: stage.body(id, record), genseq });
        }
    }
    drafts
}

struct Stage<'a> {
    speaker: &'a Speaker,
    trust: Trust,
    /// Ours by the script's.
    calls: BTreeMap<String, CallId>,
}

impl Stage<'_> {
    fn body(&mut self, id: EventId, record: &Record) -> Body {
        match record.record_type {
            RecordType::HumanText => Body::UserMessage(self.user_message(record)),
            RecordType::AgentWords => answer(record, Block::text(record.body.as_str())),
            RecordType::AgentThought => {
                let text = record.body.clone();
                answer(record, Block::Thinking(Thinking { text, signature: None, redacted: None }))
            }
            RecordType::FuncCall => answer(record, self.call(id, record)),
            RecordType::FuncResult => self.result(record),
            RecordType::HarnessItem => self.reminder(record),
            RecordType::UiOnlyMarkdown
            | RecordType::GenStart
            | RecordType::GenFinish
            | RecordType::WebSearchCall
            | RecordType::QuestForSup
            | RecordType::TeammateCallResult
            | RecordType::TeammateResponse
            | RecordType::TeammateCallAnchor => kept(record),
        }
    }

    fn user_message(&self, record: &Record) -> UserMessage {
        // The word for a message has no `primed`; the platform's own names for it are what the
        // record says of itself.
        let ingress = IngressRef {
            platform: PRIMING_PLATFORM.to_owned(),
            account: String::new(),
            message_id: record.get_text("msgId").unwrap_or_default(),
            correlation_id: primed(record).as_str().to_owned(),
        };
        UserMessage {
            message: MessageContent {
                content: vec![Block::text(record.body.as_str())],
                meta: None,
            },
            author: self.speaker.author.clone(),
            trust: self.trust,
            ingress: Some(ingress),
            queue_item_id: None,
        }
    }

    fn call(&mut self, id: EventId, record: &Record) -> Block {
        let call_id = id.call(0);
        let provider_call_id = record.get_text("id").unwrap_or_default();
        self.calls.insert(provider_call_id.clone(), call_id);
        let input = record.get("arguments").cloned().unwrap_or_else(Json::empty_object);
        let tool = record.get_text("name").unwrap_or_default();
        Block::ToolCall(ToolCall { call_id, provider_call_id, tool, input, raw_input: None })
    }

    fn result(&self, record: &Record) -> Body {
        let call_id = record.get_text("id").and_then(|id| self.calls.get(&id).copied());
        // The parser refuses a result without its call; one that was made otherwise is only shown.
        let Some(call_id) = call_id else { return kept(record) };
        Body::ToolResult(ToolResult {
            call_id,
            tool: record.get_text("name").unwrap_or_default(),
            content: vec![Block::text(record.body.as_str())],
            outcome: Outcome::Done,
            trust: self.trust,
            full_output: None,
            primed: Some(primed(record)),
        })
    }

    fn reminder(&self, record: &Record) -> Body {
        let (Some(kind), Some(origin), Some(visibility)) =
            (word(record, "kind"), word(record, "origin"), word(record, "visibility"))
        else {
            return kept(record);
        };
        let data = object([(PRIMED, &primed(record))].into_iter());
        let content = record.body.clone();
        Body::HarnessItem(HarnessItemEvent {
            item: HarnessItem { kind, origin, content, visibility, data: Some(data) },
            trust: self.trust,
            author: None,
            queue_item_id: None,
            merged_into: None,
        })
    }
}

fn answer(record: &Record, block: Block) -> Body {
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
        primed: Some(primed(record)),
    })
}

fn kept(record: &Record) -> Body {
    Body::PrimedRecord(PrimedRecord { record: record.to_json() })
}

/// The record's own fields; its text stands in the event.
fn primed(record: &Record) -> Json {
    to_json(record, form::Body::LeftOut)
}

fn word<T: for<'de> Deserialize<'de>>(record: &Record, name: &str) -> Option<T> {
    record.get(name)?.read().ok()
}

#[cfg(test)]
pub(crate) mod tests;
