//! A session as a Markdown document.
//!
//! Messages are copied unchanged: they are Markdown already. The input and output of a tool are put in
//! a fence that is longer than any fence inside.

use kith_host::priming::record_in_words;
use kith_host::words::rfc3339;
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::control::EndReason;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;

use super::{harness, incomplete_mark, mark, outcome_in_words};

/// The head of the document, above the conversation.
pub(crate) fn heading(header: &SessionHeader, title: Option<&str>) -> String {
    let title = title.unwrap_or("A conversation").replace(['\n', '\r'], " ");
    let (id, thread, begun) = (header.session_id, &header.thread_id, rfc3339(header.created_at));
    format!("# {title}\n\nSession `{id}` of thread `{}`, started {begun}.\n\n", thread.as_str())
}

/// The part of the document for one event, with a blank line behind it.
pub(crate) fn entry(event: &Event) -> Option<String> {
    let told = mark(event);
    let text = match &event.body {
        Body::UserMessage(it) => {
            let name = it.author.display_name.replace(['\n', '\r'], " ");
            format!("## {name}{told}\n\n{}", said(&it.message.content))
        }
        // A record of a script may consist of thinking only.
        Body::AssistantMessage(it) if event.is_primed() && said(&it.message.content).is_empty() => {
            return None;
        }
        Body::AssistantMessage(it) => {
            let cut = incomplete_mark(it.stop_reason);
            format!("## agent{told}{cut}\n\n{}", said(&it.message.content))
        }
        Body::ToolResult(it) => {
            let how = outcome_in_words(it.outcome);
            format!("**{}** {how}{told}:\n\n{}", it.tool, fenced("", &plain_text(&it.content)))
        }
        Body::HarnessItem(it) => quoted(format!("{told} {}", harness(it)?).trim_start()),
        Body::PrimedRecord(it) => {
            let (name, text) = record_in_words(&it.record)?;
            quoted(&format!("({name}, primed)\n{text}"))
        }
        Body::Notice(it) => quoted(&it.text),
        Body::Compact(it) => {
            format!("{}\n\n{}", quoted("Summary of the conversation so far:"), it.summary)
        }
        Body::TurnEnded(it) if it.reason == EndReason::Cancelled => quoted("stopped"),
        Body::LeafMoved(_) => quoted("the conversation continues from an earlier point"),
        _ => return None,
    };
    Some(format!("{}\n\n", text.trim_end()))
}

fn said(content: &[Block]) -> String {
    let mut parts = vec![plain_text(content).to_string()];
    for block in content {
        match block {
            Block::ToolCall(call) => {
                let (tool, input) = call.meant();
                let input = call.raw_input.as_deref().unwrap_or(input.as_str());
                parts.push(format!("Called **{tool}** with:\n\n{}", fenced("json", input)));
            }
            Block::Image(it) | Block::Audio(it) | Block::File(it) => {
                let kind = block.type_name();
                parts.push(format!("*({kind}, {}, {} bytes)*", it.media_type, it.bytes));
            }
            Block::Text(_) | Block::Thinking(_) => (),
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|ch| ch != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests;
