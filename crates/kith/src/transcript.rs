//! A session as a person reads it.
//!
//! The one place that turns events into a transcript. What is hidden here is still in the log and
//! in the audit lines: nothing that reached the model is out of a person's reach.

pub(crate) mod markdown;
mod path;

use std::fmt::Write;

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::messages::{
    HarnessItemEvent, HarnessKind, Origin, Outcome, StopReason, Visibility,
};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

use path::Shown;

/// What was said and done on the way to the leaf, one entry after the other.
pub(crate) fn transcript(events: &[Event], leaf: Option<EventId>) -> String {
    let mut text = String::new();
    for shown in path::along(events, leaf) {
        let entry = match shown {
            Shown::Event(event) => entry(event),
            Shown::Fork { n_others } => Some(fork_in_words(n_others)),
        };
        if let Some(entry) = entry {
            text.push_str(entry.trim_end());
            text.push_str("\n\n");
        }
    }
    text
}

fn entry(event: &Event) -> Option<String> {
    let primed = if event.is_lived() { "" } else { " (not lived here)" };
    match &event.body {
        Body::UserMessage(it) => {
            let name = &it.author.display_name;
            Some(format!("{name}{primed}:\n{}", indented(&said(&it.message.content))))
        }
        Body::AssistantMessage(it) => {
            let words = indented(&said(&it.message.content));
            let cut = match it.stop_reason {
                StopReason::Cancelled | StopReason::Error => " (broken off)",
                StopReason::MaxTokens => " (cut off at its limit)",
                StopReason::Refusal => " (refused)",
                StopReason::EndTurn | StopReason::ToolCall => "",
            };
            Some(format!("agent{primed}{cut}:\n{words}"))
        }
        Body::ToolResult(it) => {
            let how = outcome_in_words(it.outcome);
            Some(format!("  {} {how}:\n{}", it.tool, folded(&plain_text(&it.content))))
        }
        Body::HarnessItem(it) => harness(it),
        Body::Compact(it) => {
            Some(format!("(compacted: {} characters of summary)", it.summary.chars().count()))
        }
        // One that is not tried again fails the turn, which a notice tells.
        Body::ModelFailed(it) => it.retry_at.map(|_| format!("! {}; tried again", it.message)),
        Body::Notice(it) => Some(format!("! {}", it.text)),
        Body::CancelRequested(_) => Some("(stopped)".to_owned()),
        Body::LogRepaired(it) => {
            Some(format!("(a torn write of {} bytes was set aside)", it.torn_bytes))
        }
        Body::ApprovalRequested(it) => Some(format!("? {} [{}]", it.summary, it.code)),
        Body::ApprovalReplied(it) => Some(format!("  {}: {}", it.author.display_name, it.text)),
        _ => None,
    }
}

fn fork_in_words(n_others: usize) -> String {
    let ways = if n_others == 1 { "way" } else { "ways" };
    format!("(a branch: {n_others} other {ways} on from here; `kith session tree` shows all)")
}

fn harness(event: &HarnessItemEvent) -> Option<String> {
    let item = &event.item;
    if item.visibility == Visibility::Hidden {
        return None;
    }
    if item.kind == HarnessKind::Steer && item.origin == Origin::User {
        return Some(format!("(steer) {}", item.content));
    }
    let kind = serde_json::to_value(item.kind).ok()?.as_str()?.replace('_', " ");
    Some(match item.visibility {
        Visibility::Display => format!("({kind})\n{}", indented(&item.content)),
        _ => format!("({kind}: {})", item.content.lines().next().unwrap_or_default()),
    })
}

fn said(content: &[Block]) -> String {
    let mut text = plain_text(content);
    for block in content {
        let line = match block {
            Block::ToolCall(call) => {
                let input = call.raw_input.as_deref().unwrap_or(call.input.as_str());
                format!("-> {} {input}", call.tool)
            }
            Block::Image(it) | Block::Audio(it) | Block::File(it) => {
                format!("[{} {}, {} bytes]", block.type_name(), it.media_type, it.bytes)
            }
            Block::Text(_) | Block::Thinking(_) => continue,
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}

const FOLDED_LINES_MAX: usize = 6;

fn folded(text: &str) -> String {
    let n_lines = text.lines().count();
    let mut folded = String::new();
    for line in text.lines().take(FOLDED_LINES_MAX) {
        // Writing to a string cannot fail.
        writeln!(folded, "    {line}").unwrap_or_default();
    }
    if n_lines > FOLDED_LINES_MAX {
        let rest = n_lines - FOLDED_LINES_MAX;
        writeln!(folded, "    … {rest} more lines").unwrap_or_default();
    }
    folded
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

pub(crate) fn outcome_in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::Refused => "refused",
        Outcome::Cancelled => "cancelled",
        Outcome::Interrupted => "interrupted, outcome unknown",
    }
}
