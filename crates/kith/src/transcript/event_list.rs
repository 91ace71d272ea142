//! Every event of a session, for a person who wants to see all that happened.
//!
//! An event is a line with its number, time, id and kind, and the text it carries below. A transcript
//! leaves out what nobody said; this leaves out nothing but what only programs need, which `--json` has.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kith_host::priming::record_in_words;
use kith_host::words::{outcome_in_words, place_in_words, short, short_event, size_in_words};
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::control::{QueueUpdate, SkillEntry};
use kith_vocab::event::messages::{AssistantMessage, Usage, Visibility};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, LeafId};
use kith_vocab::json::Json;
use serde::Serialize;

use super::path::{self, TranscriptPart};
use super::{indented, mark, said};

/// Characters of a hash that are shown: enough to tell requests apart.
const HASH_CHARS_SHOWN: usize = 12;
/// The columns before the texts that belong to an event.
const TEXT_INDENT: &str = "       ";

/// The lines of every event, in the order of the log.
pub(crate) fn event_list(events: &[Event], leaf: Option<EventId>, zone: &TimeZone) -> Vec<String> {
    let on_path: HashSet<EventId> = path::along(events, leaf)
        .into_iter()
        .filter_map(|part| match part {
            TranscriptPart::Event(event) => Some(event.id),
            TranscriptPart::Fork { .. } => None,
        })
        .collect();
    let mut lines = Vec::new();
    for event in events {
        let is_left = event.is_tree() && !on_path.contains(&event.id);
        let branch = if is_left { " (on another branch)" } else { "" };
        let (summary, text) = in_words(&event.body);
        let kind = event.body.type_name().replace('_', " ");
        let summary = if summary.is_empty() { summary } else { format!(": {summary}") };
        lines.push(format!(
            "{:>5}  {}  {}  {kind}{}{branch}{summary}",
            event.seq,
            time_of(event, zone),
            short_event(event.id),
            mark(event),
        ));
        lines.extend(text.lines().map(|line| format!("{TEXT_INDENT}{line}")));
    }
    lines
}

fn time_of(event: &Event, zone: &TimeZone) -> String {
    let timestamp =
        i64::try_from(event.ts).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let time = timestamp.unwrap_or(Timestamp::MAX).to_zoned(zone.clone());
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// What happened in a few words, and the text that came with it, which may be empty.
fn in_words(body: &Body) -> (String, String) {
    match body {
        Body::UserMessage(it) => (it.author.display_name.clone(), said(&it.message.content)),
        Body::AssistantMessage(it) => (answer_in_words(it), answer_text(it)),
        Body::ToolResult(it) => {
            let summary = format!("{} {}", it.tool, outcome_in_words(it.outcome));
            (summary, plain_text(&it.content).to_string())
        }
        Body::HarnessItem(it) => {
            let hidden = if it.item.visibility == Visibility::Hidden { " (hidden)" } else { "" };
            let kind = it.item.kind.name().replace('_', " ");
            (format!("{kind}{hidden}"), it.item.content.to_string())
        }
        Body::Compact(it) => {
            let (before, after) = (it.tokens_before, it.tokens_after);
            let summary = format!("by {}, {before} tokens became {after}", it.model);
            (summary, it.summary.to_string())
        }
        Body::PrimedRecord(it) => match record_in_words(&it.record) {
            Some((name, text)) => (name, text),
            None => (String::new(), it.record.as_str().to_owned()),
        },
        Body::QueueUpdate(it) => queue_in_words(it),
        Body::Notice(it) => (word(&it.level), it.text.to_string()),
        Body::ModelFailed(it) => {
            let again = if it.retry_at.is_some() { ", will retry" } else { "" };
            (format!("attempt {}{again}", it.attempt), it.message.to_string())
        }
        Body::ApprovalRequested(it) => (format!("code {}", it.code), it.summary.to_string()),
        Body::ApprovalReplied(it) => {
            (format!("{} by {}", word(&it.verdict), it.author.display_name), it.text.to_string())
        }
        _ => (control_in_words(body), String::new()),
    }
}

/// Events that carry no text of their own.
fn control_in_words(body: &Body) -> String {
    match body {
        Body::InstructionSnapshot(it) => {
            let sections = it.snapshot.sections.iter().map(|section| word(&section.kind));
            sections.collect::<Vec<_>>().join(", ")
        }
        Body::ToolsetSnapshot(it) => {
            it.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")
        }
        Body::TurnStarted(it) => format!("model {}", it.model),
        Body::TurnEnded(it) => match it.bound {
            Some(bound) => format!("limit of {} reached", word(&bound)),
            None => word(&it.reason),
        },
        Body::SkillIndexSnapshot(it) => names_of(&it.entries),
        Body::SkillIndexDelta(it) => {
            let parts = [
                ("added", names_of(&it.added)),
                ("changed", names_of(&it.changed)),
                ("removed", it.removed.join(", ")),
            ];
            let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
            parts.map(|(what, names)| format!("{what} {names}")).collect::<Vec<_>>().join("; ")
        }
        Body::LeafMoved(it) => format!("continues {}", place_in_words(LeafId::from(it.to))),
        Body::SessionTitleUpdated(it) => it.title.clone(),
        Body::ModelRequested(it) => {
            let size = size_in_words(it.body_bytes);
            let hash: String = it.body_sha256.chars().take(HASH_CHARS_SHOWN).collect();
            format!("{} of {}, {size}, sha256 {hash}…", it.model, it.provider)
        }
        Body::CompactRequested(it) => format!("by {}", it.by),
        Body::CallJudged(it) => {
            let (verdict, effect) = (word(&it.verdict), word(&it.effect));
            format!("{} ({effect}): {verdict}, {}", it.tool, it.reason)
        }
        Body::ApprovalDecided(it) => {
            format!("{} by {} via {}", word(&it.decision), it.by, word(&it.via))
        }
        Body::ToolStarted(it) => format!("call {}", it.call_id),
        Body::Delegated(it) => format!("call {} to session {}", it.call_id, short(it.session_id)),
        Body::CancelRequested(it) => format!("by {}", it.by),
        Body::Resumed(it) => match it.open_calls.len() {
            0 => String::new(),
            1 => "1 call was open".to_owned(),
            n => format!("{n} calls were open"),
        },
        Body::EgressIntended(it) => format!("to {}", it.thread_id),
        Body::EgressSettled(it) => {
            let error = it.error.as_ref().map(|it| format!(", {it}")).unwrap_or_default();
            format!("{}{error}", word(&it.outcome))
        }
        Body::LogRepaired(it) => format!("{} bytes set aside in {}", it.torn_bytes, it.torn_file),
        // Those that carry a text are told above.
        _ => String::new(),
    }
}

fn answer_in_words(answer: &AssistantMessage) -> String {
    let mut parts = Vec::new();
    parts.extend(answer.model.clone());
    parts.extend(answer.usage.map(tokens_in_words));
    parts.push(word(&answer.stop_reason));
    parts.join(", ")
}

fn tokens_in_words(usage: Usage) -> String {
    let n_in = usage.input + usage.cache_read + usage.cache_write;
    let about = if usage.is_estimate { "about " } else { "" };
    format!("{about}{n_in} tokens in, {} out", usage.output)
}

/// Thinking, then what was said and called.
fn answer_text(answer: &AssistantMessage) -> String {
    let mut text = String::new();
    for block in &answer.message.content {
        if let Block::Thinking(it) = block
            && !it.text.is_empty()
        {
            text.extend(["(thinking)\n", &indented(&it.text), "\n"]);
        }
    }
    text + &said(&answer.message.content)
}

fn queue_in_words(update: &QueueUpdate) -> (String, String) {
    let queue = word(&update.queue);
    let summary = match update.items.len() {
        0 => format!("{queue}, empty"),
        n => format!("{queue}, {n} waiting"),
    };
    let texts = update.items.iter().map(|item| plain_text(&item.content).to_string());
    (summary, texts.collect::<Vec<_>>().join("\n"))
}

fn names_of(entries: &[SkillEntry]) -> String {
    entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A word of the log, as people write it.
fn word(value: &impl Serialize) -> String {
    Json::of(value).as_str().trim_matches('"').replace('_', " ")
}

#[cfg(test)]
mod tests;
