//! A session as a person reads it.
//!
//! The only module that turns events into a transcript. Events hidden here are still in the log and in
//! the audit lines, so a person can see everything that reached the model.

pub(crate) mod event_list;
pub(crate) mod markdown;
pub(crate) mod path;

use std::fmt::Write;

use kith_host::priming::record_in_words;
use kith_host::words::{outcome_in_words, short};
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::control::EndReason;
use kith_vocab::event::messages::{HarnessItemEvent, HarnessKind, Origin, StopReason, Visibility};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};

use crate::program::terminal::call_words::without_outcome;

use path::TranscriptPart;

/// Maximum number of entries of a primed history shown when a conversation begins.
const BEGINNING_ENTRIES_MAX: usize = 20;

/// The entries from the root to the leaf.
pub(crate) fn transcript(
    header: &SessionHeader,
    events: &[Event],
    leaf: Option<EventId>,
) -> String {
    let mut text = String::new();
    let mut failures = RepeatedFailure::default();
    for shown in path::along(events, leaf) {
        if let TranscriptPart::Event(event) = &shown
            && failures.take(event)
        {
            continue;
        }
        text.push_str(&failures.end());
        let entry = match shown {
            TranscriptPart::Event(event) if !is_shown(header, event) => None,
            TranscriptPart::Event(event) => entry(event),
            TranscriptPart::Fork { n_others } => Some(fork_in_words(n_others)),
        };
        if let Some(entry) = entry {
            text.push_str(entry.trim_end());
            text.push_str("\n\n");
        }
    }
    text.push_str(&failures.end());
    text
}

/// The same failure several times in a row is told once.
#[derive(Default)]
struct RepeatedFailure {
    message: String,
    n_times: usize,
}

impl RepeatedFailure {
    /// Whether the event belongs to a row of failures, and need not be told by itself.
    fn take(&mut self, event: &Event) -> bool {
        match &event.body {
            Body::ModelFailed(it) if it.retry_at.is_some() && it.fallback.is_none() => {
                if self.n_times > 0 && *self.message != *it.message {
                    return false;
                }
                self.message = it.message.to_string();
                self.n_times += 1;
                true
            }
            Body::ModelRequested(_) => self.n_times > 0,
            _ => false,
        }
    }

    /// The entry of the row that has ended.
    fn end(&mut self) -> String {
        let RepeatedFailure { message, n_times } = std::mem::take(self);
        match n_times {
            0 => String::new(),
            1 => format!("! {message}; retried\n\n"),
            n => format!("! {message}; retried {n} times\n\n"),
        }
    }
}

/// The primed history of a session, or the end of a long one.
pub(crate) fn beginning(events: &[Event], id: SessionId) -> Option<String> {
    let entries = events.iter().filter_map(entry).map(|entry| entry.trim_end().to_owned());
    let mut entries: Vec<String> = entries.collect();
    if entries.is_empty() {
        return None;
    }
    let n_earlier = entries.len().saturating_sub(BEGINNING_ENTRIES_MAX);
    let mut shown = entries.split_off(n_earlier);
    if n_earlier > 0 {
        let whole = format!("`kith session show {}`", short(id));
        shown.insert(0, format!("({n_earlier} earlier entries; see {whole})"));
    }
    Some(shown.join("\n\n"))
}

/// Whether a person sees the event. A primed history may be hidden: the model still gets it, and the
/// audit lines show it.
pub(crate) fn is_shown(header: &SessionHeader, event: &Event) -> bool {
    let is_hidden = header.meta.priming.as_ref().is_some_and(|it| !it.show_in_ui);
    !(is_hidden && event.is_primed())
}

/// A note on events that are not shown.
pub(crate) fn hidden_in_words(n_hidden: usize) -> Option<String> {
    let what = match n_hidden {
        0 => return None,
        1 => "1 primed event is".to_owned(),
        n => format!("{n} primed events are"),
    };
    Some(format!("{what} hidden; `kith session show --all` shows every event"))
}

/// The mark behind the author's name of an event that was primed or cloned.
fn mark(event: &Event) -> &'static str {
    match event {
        _ if event.is_primed() => " (primed)",
        _ if event.is_lived() => "",
        _ => " (copied)",
    }
}

/// The mark behind an incomplete answer.
fn incomplete_mark(stop_reason: StopReason) -> &'static str {
    match stop_reason {
        StopReason::Cancelled | StopReason::Error => " (interrupted)",
        StopReason::MaxTokens => " (cut off at the length limit)",
        StopReason::Refusal => " (refused)",
        StopReason::EndTurn | StopReason::ToolCall => "",
    }
}

pub(crate) fn entry(event: &Event) -> Option<String> {
    let mark = mark(event);
    match &event.body {
        Body::UserMessage(it) => {
            let name = &it.author.display_name;
            Some(format!("{name}{mark}:\n{}", indented(&said(&it.message.content))))
        }
        Body::AssistantMessage(it) => {
            let words = indented(&said(&it.message.content));
            // A record of a script may consist of thinking only.
            if words.is_empty() && event.is_primed() {
                return None;
            }
            let cut = incomplete_mark(it.stop_reason);
            Some(format!("agent{mark}{cut}:\n{words}"))
        }
        Body::ToolResult(it) => {
            let how = outcome_in_words(it.outcome);
            let text = plain_text(&it.content);
            Some(format!("  {} {how}{mark}:\n{}", it.tool, folded(without_outcome(&text))))
        }
        Body::HarnessItem(it) => {
            harness(it).map(|text| format!("{mark} {text}").trim_start().to_owned())
        }
        Body::PrimedRecord(it) => record_in_words(&it.record)
            .map(|(name, text)| format!("({name}, primed)\n{}", indented(text.trim_end()))),
        Body::Compact(it) => {
            Some(format!("(compacted into a summary of {} characters)", it.summary.chars().count()))
        }
        // A failure without another attempt ends the turn, and a notice reports it.
        Body::ModelFailed(it) => {
            // A change of model has a notice of its own.
            let is_retried = it.retry_at.is_some() && it.fallback.is_none();
            is_retried.then(|| format!("! {}; retried", it.message))
        }
        Body::Notice(it) => Some(format!("! {}", it.text)),
        // Behind what was said before it was stopped.
        Body::TurnEnded(it) if it.reason == EndReason::Cancelled => Some("(stopped)".to_owned()),
        Body::LogRepaired(it) => {
            Some(format!("(an incomplete write of {} bytes was set aside)", it.torn_bytes))
        }
        Body::ApprovalRequested(it) => Some(format!("? {} [{}]", it.summary, it.code)),
        Body::ApprovalReplied(it) => Some(format!("  {}: {}", it.author.display_name, it.text)),
        _ => None,
    }
}

fn fork_in_words(n_others: usize) -> String {
    let branches = if n_others == 1 { "branch" } else { "branches" };
    format!("({n_others} other {branches} from here; see `kith session tree`)")
}

/// A reminder as a person sees it, never as somebody's message.
pub(crate) fn harness(event: &HarnessItemEvent) -> Option<String> {
    let item = &event.item;
    let kind = item.kind.name().replace('_', " ");
    match item.visibility {
        Visibility::Hidden => None,
        _ if item.kind == HarnessKind::Steer && item.origin == Origin::User => {
            Some(format!("(steer) {}", item.content))
        }
        Visibility::Display => Some(format!("({kind})\n{}", indented(&item.content))),
        Visibility::Compact => Some(format!("({kind}: {})", one_line(&item.content))),
    }
}

const FOLDED_CHARS_MAX: usize = 200;

/// The first line, and how many lines follow.
fn one_line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut line: String = first.chars().take(FOLDED_CHARS_MAX).collect();
    if line.len() < first.len() {
        line.push('…');
    }
    match text.lines().count().saturating_sub(1) {
        0 => line,
        1 => format!("{line} … 1 more line"),
        n_more => format!("{line} … {n_more} more lines"),
    }
}

fn said(content: &[Block]) -> String {
    let mut text = plain_text(content).to_string();
    for block in content {
        let line = match block {
            Block::ToolCall(call) => {
                let (tool, input) = call.meant();
                let input = call.raw_input.as_deref().unwrap_or(input.as_str());
                format!("-> {tool} {input}")
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

#[cfg(test)]
mod tests;
