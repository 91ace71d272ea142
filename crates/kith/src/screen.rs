//! Who watches a turn: nobody but the log, a person, or a program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use kith_host::calls::feed::{AnswerDelta, AnswerDeltaKind, TurnItem};
use kith_host::words::outcome_in_words;
use kith_vocab::block::plain_text;
use kith_vocab::event::messages::AssistantMessage;
use kith_vocab::event::{Body, Event};
use serde_json::json;

use crate::transcript::harness;
use crate::ui;

/// What a turn is shown on.
pub(crate) trait Screen: Send + Sync {
    fn show(&self, item: &TurnItem);
}

/// Waits for the answer; only a wait that takes long is explained.
pub(crate) struct Quiet;

impl Screen for Quiet {
    fn show(&self, item: &TurnItem) {
        if let TurnItem::Event(event) = item
            && let Some(retry) = retry_in_words(event)
        {
            ui::note(&retry);
        }
    }
}

/// Shows an answer as it grows, and a line for each call.
#[derive(Default)]
pub(crate) struct Live {
    in_a_line: AtomicBool,
    has_shown_text: AtomicBool,
    /// What was shown of the answer that grows now.
    shown: Mutex<String>,
}

impl Live {
    pub(crate) fn end_line(&self) {
        if self.in_a_line.swap(false, Ordering::Relaxed) {
            ui::part("\n");
        }
    }

    /// Whether the person has seen an answer grow. One that was given before did not.
    pub(crate) fn has_shown_text(&self) -> bool {
        self.has_shown_text.load(Ordering::Relaxed)
    }

    /// Shows what deltas did not: they may be lost, and the event has all of it.
    fn complete(&self, answer: &AssistantMessage) {
        let shown = std::mem::take(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner));
        let text = plain_text(&answer.message.content);
        let (is_prefix, rest) = missing(&shown, &text);
        if !is_prefix {
            self.end_line();
        }
        self.print(rest);
        self.end_line();
    }

    fn print(&self, text: &str) {
        if !text.is_empty() {
            ui::part(text);
            self.has_shown_text.store(true, Ordering::Relaxed);
            self.in_a_line.store(!text.ends_with('\n'), Ordering::Relaxed);
        }
    }

    fn grow(&self, delta: &AnswerDelta) {
        if delta.kind == AnswerDeltaKind::Text {
            self.print(&delta.text);
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.push_str(&delta.text);
        }
    }

    fn written(&self, event: &Event) {
        match &event.body {
            Body::ToolResult(result) => {
                self.end_line();
                let how = outcome_in_words(result.outcome);
                ui::error_line(&format!("  [{} {how}]", result.tool));
            }
            Body::AssistantMessage(answer) => self.complete(answer),
            Body::HarnessItem(it) => {
                if let Some(line) = harness(it) {
                    self.end_line();
                    ui::error_line(&format!("  {line}"));
                }
            }
            _ => {
                if let Some(retry) = retry_in_words(event) {
                    self.end_line();
                    ui::error_line(&format!("  [{retry}]"));
                }
            }
        }
    }
}

impl Screen for Live {
    fn show(&self, item: &TurnItem) {
        match item {
            TurnItem::Delta(delta) => self.grow(delta),
            TurnItem::Running(parts) => parts.iter().for_each(|part| self.grow(part)),
            TurnItem::Event(event) => self.written(event),
        }
    }
}

/// One line of JSON per event and per delta.
pub(crate) struct StreamJson;

impl Screen for StreamJson {
    fn show(&self, item: &TurnItem) {
        match item {
            TurnItem::Event(event) => ui::json(&StreamedEvent { line_type: "event", event }),
            TurnItem::Delta(delta) => print_delta(delta),
            TurnItem::Running(parts) => parts.iter().for_each(print_delta),
        }
    }
}

/// What of an answer was not seen growing: its end, or all of it if something before it was lost too.
fn missing<'a>(shown: &str, text: &'a str) -> (bool, &'a str) {
    text.strip_prefix(shown).map_or((false, text), |rest| (true, rest))
}

fn print_delta(delta: &AnswerDelta) {
    let key = match delta.kind {
        AnswerDeltaKind::Text => "text",
        AnswerDeltaKind::Thinking => "thinking",
        AnswerDeltaKind::ToolName => "tool",
        AnswerDeltaKind::ToolInput => "toolInput",
        AnswerDeltaKind::Progress => "progress",
    };
    ui::json(&json!({ "type": "delta", key: delta.text }));
}

// Not through a JSON value: that would round the numbers in what the log keeps as text.
#[derive(serde::Serialize)]
struct StreamedEvent<'a> {
    #[serde(rename = "type")]
    line_type: &'static str,
    event: &'a Event,
}

/// A failure that ends the turn is told at its end; here is only what explains a wait.
fn retry_in_words(event: &Event) -> Option<String> {
    let Body::ModelFailed(failed) = &event.body else { return None };
    failed.retry_at?;
    Some(format!("{}; trying again", failed.message))
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn of_an_answer_whose_deltas_were_lost_the_rest_is_shown() {
        assert_eq!(missing("", "One two."), (true, "One two."));
        assert_eq!(missing("One ", "One two."), (true, "two."));
        assert_eq!(missing("One two.", "One two."), (true, ""));
        // The middle was lost: what was shown cannot be completed.
        assert_eq!(missing("One .", "One two."), (false, "One two."));
    }
}
