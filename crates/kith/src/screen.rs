//! Who watches a turn: nobody but the log, a person, or a program.

use std::sync::atomic::{AtomicBool, Ordering};

use kith_engine::session::Watcher;
use kith_vocab::event::{Body, Event};
use kith_vocab::provider::{Delta, Tap};
use serde_json::json;

use crate::transcript::{harness, outcome_in_words};
use crate::ui;

/// Waits for the answer; only a wait that takes long is explained.
pub(crate) struct Quiet;

impl Tap for Quiet {
    fn delta(&self, _: Delta<'_>) {}
}

impl Watcher for Quiet {
    fn written(&self, events: &[Event]) {
        for event in events {
            if let Some(retry) = retry_in_words(event) {
                ui::note(&retry);
            }
        }
    }
}

/// Shows an answer as it grows, and a line for each call.
#[derive(Default)]
pub(crate) struct Live {
    in_a_line: AtomicBool,
    has_shown_text: AtomicBool,
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
}

impl Tap for Live {
    fn delta(&self, delta: Delta<'_>) {
        match delta {
            Delta::Text(text) if !text.is_empty() => {
                ui::part(text);
                self.has_shown_text.store(true, Ordering::Relaxed);
                self.in_a_line.store(!text.ends_with('\n'), Ordering::Relaxed);
            }
            _ => (),
        }
    }
}

impl Watcher for Live {
    fn written(&self, events: &[Event]) {
        for event in events {
            match &event.body {
                Body::ToolResult(result) => {
                    self.end_line();
                    let how = outcome_in_words(result.outcome);
                    ui::error_line(&format!("  [{} {how}]", result.tool));
                }
                Body::AssistantMessage(_) => self.end_line(),
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
}

/// One line of JSON per event and per delta.
pub(crate) struct StreamJson;

impl Tap for StreamJson {
    fn delta(&self, delta: Delta<'_>) {
        ui::json(&match delta {
            Delta::Text(text) => json!({ "type": "delta", "text": text }),
            Delta::Thinking(text) => json!({ "type": "delta", "thinking": text }),
            Delta::CallBegun { tool } => json!({ "type": "delta", "tool": tool }),
        });
    }
}

impl Watcher for StreamJson {
    fn written(&self, events: &[Event]) {
        for event in events {
            ui::json(&StreamedEvent { line_type: "event", event });
        }
    }
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
