//! The events of a session as a script.
//!
//! Events that came from a script become the same records again. Events of this session become the
//! records that would replay them, under our ids, hidden reminders and summaries included. Control
//! events are left out: a script carries a history, not the machinery around it.

use std::collections::{BTreeMap, BTreeSet};

use kith_vocab::block::{Block, Media};
use kith_vocab::event::messages::{
    AssistantMessage, Compact, HarnessItem, HarnessItemEvent, HarnessKind, Origin, ToolResult,
    Trust, UserMessage, Visibility,
};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, EventId};
use kith_vocab::json::Json;
use serde_json::json;

use super::form::from_json;
use super::record_type::RecordType;
use super::script::{GENSEQ_MAX, PrimingRecord, RECORDS_MAX, Script, ScriptField};

/// The origin of a script, for its front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptSource {
    pub title: Option<String>,
    pub owner_agent_id: String,
    /// RFC 3339.
    pub generated_at: String,
    pub session_id: String,
    pub thread_id: String,
    pub branch: String,
    pub state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error("the session has no history to make a script from")]
    Empty,
    #[error(
        "the session has more than {RECORDS_MAX} records, which is more than a script may have"
    )]
    TooLong,
    #[error("the primed record of event `{event_id}` is not a record of a script")]
    NotARecord { event_id: EventId },
}

/// Makes a script of the events from the root of the conversation to its leaf.
pub fn from_events<'a>(
    path: impl IntoIterator<Item = &'a Event>,
    source: &ScriptSource,
) -> Result<Script, HistoryError> {
    let path: Vec<&Event> = path.into_iter().collect();
    let mut history = History {
        records: Vec::new(),
        n_generations: first_generation(&path),
        ids: BTreeMap::new(),
        taken: primed_call_ids(&path),
        answered: BTreeSet::new(),
        trust: Trust::Owner,
    };
    for event in path {
        history.take(event)?;
        if history.records.len() > RECORDS_MAX {
            return Err(HistoryError::TooLong);
        }
    }
    if history.records.is_empty() {
        return Err(HistoryError::Empty);
    }
    Ok(Script { front_matter: front_matter(source, history.trust), records: history.records })
}

struct History {
    records: Vec<PrimingRecord>,
    /// The number of the last answer of a model.
    n_generations: u64,
    /// The id that a call has in the script, and its generation.
    ids: BTreeMap<CallId, (String, u64)>,
    /// Ids that scripts gave and that are not used up yet.
    taken: BTreeSet<String>,
    answered: BTreeSet<CallId>,
    /// The lowest on the way.
    trust: Trust,
}

impl History {
    fn take(&mut self, event: &Event) -> Result<(), HistoryError> {
        match &event.body {
            Body::UserMessage(it) => self.user_message(event, it),
            Body::AssistantMessage(it) => self.answer(it),
            Body::ToolResult(it) => self.result(it),
            Body::HarnessItem(it) => self.reminder(it),
            Body::PrimedRecord(it) => {
                let record = from_json(&it.record).and_then(Result::ok);
                let error = HistoryError::NotARecord { event_id: event.id };
                self.records.push(record.ok_or(error)?);
            }
            Body::Compact(it) => self.runtime_notice(summary(it)),
            // The rest is the machinery, no part of what was said.
            _ => (),
        }
        Ok(())
    }

    fn user_message(&mut self, event: &Event, message: &UserMessage) {
        self.trust = self.trust.max(message.trust);
        let text = said(&message.message.content);
        if let Some(record) = primed_as(RecordType::HumanText, message.primed.as_ref()) {
            self.records.push(PrimingRecord { body: text, ..record });
            return;
        }
        // A message that the runtime wrote is not a person's.
        if message.message.meta == Some(true) {
            return self.runtime_notice(text);
        }
        let fields = vec![
            ScriptField::count("genseq", self.next_generation()),
            ScriptField::text("msgId", &event.id.to_string()),
            ScriptField::text("grammar", "markdown"),
        ];
        self.push(RecordType::HumanText, fields, text);
    }

    fn answer(&mut self, answer: &AssistantMessage) {
        let content = &answer.message.content;
        if let Some(record) = primed_record(answer.primed.as_ref())
            && let [block] = content.as_slice()
            && self.primed_answer(record, block)
        {
            return;
        }
        self.n_generations = self.next_generation();
        let genseq = || ScriptField::count("genseq", self.n_generations);
        let mut records: Vec<(RecordType, Vec<ScriptField>, String)> = Vec::new();
        for block in content {
            match block {
                Block::Thinking(it) if !it.text.is_empty() => {
                    records.push((RecordType::AgentThought, vec![genseq()], it.text.to_string()));
                }
                Block::Thinking(_) => (),
                Block::ToolCall(it) => {
                    let id = it.call_id.to_string();
                    let fields = vec![
                        genseq(),
                        ScriptField::text("id", &id),
                        ScriptField::text("name", &it.tool),
                        ScriptField::new("arguments", it.input.clone()),
                    ];
                    self.ids.insert(it.call_id, (id, self.n_generations));
                    records.push((RecordType::FuncCall, fields, String::new()));
                }
                Block::Text(_) | Block::Image(_) | Block::Audio(_) | Block::File(_) => {
                    let text = said(std::slice::from_ref(block));
                    // Vendors split one text where they like.
                    match records.last_mut() {
                        Some((RecordType::AgentWords, _, words)) => words.push_str(&text),
                        _ => records.push((RecordType::AgentWords, vec![genseq()], text)),
                    }
                }
            }
        }
        for (record_type, fields, body) in records {
            self.push(record_type, fields, body);
        }
    }

    /// Puts back the record that an answer came from; `false` if it does not fit the answer.
    fn primed_answer(&mut self, mut record: PrimingRecord, block: &Block) -> bool {
        match (record.record_type, block) {
            (RecordType::AgentWords, Block::Text(it)) => record.body = it.text.to_string(),
            (RecordType::AgentThought, Block::Thinking(it)) => record.body = it.text.to_string(),
            (RecordType::FuncCall, Block::ToolCall(it)) => {
                let id = record.get_text("id").unwrap_or_default();
                let genseq = record.genseq().unwrap_or_default();
                // Two scripts may use one id; the second call then goes by ours.
                if !self.taken.remove(&id) {
                    return false;
                }
                self.ids.insert(it.call_id, (id, genseq));
            }
            _ => return false,
        }
        self.records.push(record);
        true
    }

    fn result(&mut self, result: &ToolResult) {
        self.trust = self.trust.max(result.trust);
        let Some((id, genseq)) = self.ids.get(&result.call_id).cloned() else { return };
        if !self.answered.insert(result.call_id) {
            return;
        }
        let body = said(&result.content);
        if let Some(record) = primed_record(result.primed.as_ref())
            && record.record_type == RecordType::FuncResult
            && record.get_text("id").as_ref() == Some(&id)
        {
            self.records.push(PrimingRecord { body, ..record });
            return;
        }
        let fields = vec![
            ScriptField::count("genseq", genseq),
            ScriptField::text("id", &id),
            ScriptField::text("name", &result.tool),
        ];
        self.push(RecordType::FuncResult, fields, body);
    }

    fn reminder(&mut self, event: &HarnessItemEvent) {
        self.trust = self.trust.max(event.trust);
        let HarnessItem { kind, origin, visibility, content, .. } = &event.item;
        match primed_as(RecordType::HarnessItem, event.primed.as_ref()) {
            Some(record) => {
                self.records.push(PrimingRecord { body: content.to_string(), ..record });
            }
            None => self.harness_item((*kind, *origin, *visibility), content.to_string()),
        }
    }

    fn runtime_notice(&mut self, text: String) {
        self.harness_item((HarnessKind::RuntimeNotice, Origin::System, Visibility::Compact), text);
    }

    fn harness_item(
        &mut self,
        (kind, origin, visibility): (HarnessKind, Origin, Visibility),
        text: String,
    ) {
        let fields = vec![
            ScriptField::count("genseq", self.next_generation()),
            ScriptField::new("kind", Json::of(&kind)),
            ScriptField::new("origin", Json::of(&origin)),
            ScriptField::new("visibility", Json::of(&visibility)),
        ];
        self.push(RecordType::HarnessItem, fields, text);
    }

    /// What is said now is answered by the next answer, and has its number.
    fn next_generation(&self) -> u64 {
        self.n_generations.saturating_add(1).min(GENSEQ_MAX)
    }

    fn push(&mut self, record_type: RecordType, fields: Vec<ScriptField>, body: String) {
        self.records.push(PrimingRecord { record_type, fields, body, line: 0 });
    }
}

fn front_matter(source: &ScriptSource, trust: Trust) -> Vec<ScriptField> {
    let mut fields = Vec::new();
    if let Some(title) = source.title.as_deref().map(str::trim).filter(|it| !it.is_empty()) {
        fields.push(ScriptField::text("title", title));
    }
    fields.push(ScriptField::text("ownerAgentId", &source.owner_agent_id));
    fields.push(ScriptField::text("generatedAt", &source.generated_at));
    let dialog = json!({
        "rootId": source.session_id,
        "selfId": source.thread_id,
        "course": source.branch,
        "status": source.state,
    });
    fields.push(ScriptField::new("sourceDialog", Json::of(&dialog)));
    // Below `paired` a session is tainted, and so is what is replayed of it.
    if trust > Trust::Paired {
        fields.push(ScriptField::new("trust", Json::of(&trust)));
    }
    fields
}

/// Lived generations are numbered after those of the scripts.
fn first_generation(path: &[&Event]) -> u64 {
    path.iter().filter_map(|event| primed_of(event)?.genseq()).max().unwrap_or(0)
}

fn primed_call_ids(path: &[&Event]) -> BTreeSet<String> {
    let calls = path.iter().filter_map(|event| primed_of(event));
    calls
        .filter(|record| record.record_type == RecordType::FuncCall)
        .filter_map(|record| record.get_text("id"))
        .collect()
}

fn primed_of(event: &Event) -> Option<PrimingRecord> {
    match &event.body {
        Body::UserMessage(it) => primed_record(it.primed.as_ref()),
        Body::AssistantMessage(it) => primed_record(it.primed.as_ref()),
        Body::ToolResult(it) => primed_record(it.primed.as_ref()),
        Body::HarnessItem(it) => primed_record(it.primed.as_ref()),
        Body::PrimedRecord(it) => primed_record(Some(&it.record)),
        _ => None,
    }
}

fn primed_as(record_type: RecordType, primed: Option<&Json>) -> Option<PrimingRecord> {
    primed_record(primed).filter(|record| record.record_type == record_type)
}

fn primed_record(json: Option<&Json>) -> Option<PrimingRecord> {
    from_json(json?)?.ok()
}

/// A compaction as the model was told it.
fn summary(compact: &Compact) -> String {
    let mut text = format!("Summary of the conversation so far:\n\n{}", compact.summary);
    let ledger = &compact.ledger;
    for (title, entries) in [
        ("Identifiers", &ledger.identifiers),
        ("Paths", &ledger.paths),
        ("Open tasks", &ledger.open_tasks),
    ] {
        if !entries.is_empty() {
            text = format!("{text}\n\n{title}:\n- {}", entries.join("\n- "));
        }
    }
    text
}

/// The texts, and a mark in the place of what a script cannot hold.
fn said(blocks: &[Block]) -> String {
    let mark = |word: &str, media: &Media| {
        format!("[{word}: {}]", media.name.as_deref().unwrap_or(&media.media_type))
    };
    let words = blocks.iter().map(|block| match block {
        Block::Text(it) => it.text.to_string(),
        Block::Image(it) => mark("image", it),
        Block::Audio(it) => mark("audio", it),
        Block::File(it) => mark("file", it),
        Block::Thinking(_) | Block::ToolCall(_) => String::new(),
    });
    words.collect()
}

#[cfg(test)]
pub(crate) mod tests;
