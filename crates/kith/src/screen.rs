//! Shows a running turn: not at all, to a person, or to a program.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kith_host::calls::feed::{AnswerDelta, AnswerDeltaKind, TurnItem};
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::models::{FailureKind, ModelFailed};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, EventId};
use serde_json::json;

use crate::program::progress::ProgressLine;
use crate::program::terminal::call_words::{argument_of, result_in_words};
use crate::program::terminal::words::ScreenLanguage;
use crate::program::transcript::harness;
use crate::program::ui;

/// Where a turn is shown.
pub(crate) trait Screen: Send + Sync {
    fn show(&self, item: &TurnItem);
}

/// Waits for the answer, and explains only a long wait.
#[derive(Default)]
pub(crate) struct Quiet(Mutex<LastWait>);

impl Screen for Quiet {
    fn show(&self, item: &TurnItem) {
        let told = match item {
            TurnItem::Event(event) => retry_in_words(event),
            TurnItem::Note(note) => Some(note.clone()),
            TurnItem::Delta(_) | TurnItem::Running(_) => None,
        };
        if let Some(told) = told
            && self.0.lock().unwrap_or_else(PoisonError::into_inner).is_new(&told)
        {
            ui::note(&told);
        }
    }
}

/// The reason for waiting that was told last: the same one again says nothing new.
#[derive(Default)]
pub(crate) struct LastWait(Option<String>);

impl LastWait {
    fn is_new(&mut self, what: &str) -> bool {
        let before = self.0.replace(what.to_owned());
        before.as_deref() != Some(what)
    }
}

/// Shows an answer as it grows, and a line for each call.
///
/// A client that loses its host gets the same events again from the next one, so the screen remembers
/// what it has shown.
#[derive(Default)]
pub(crate) struct Live(Mutex<ShownTurn>);

#[derive(Default)]
struct ShownTurn {
    language: ScreenLanguage,
    /// Whether stdout is read by a program: calls are not told then, and waits as notes.
    is_piped: bool,
    in_a_line: bool,
    /// Blank space at the end of what was printed. It is printed when more text comes.
    space: String,
    has_shown_text: bool,
    /// The events of this turn that were shown.
    events: HashSet<EventId>,
    /// What each call is for that has not ended.
    arguments: HashMap<CallId, String>,
    /// The answer that grows now, and how much of it was shown.
    growing: Option<(EventId, String)>,
    last_wait: LastWait,
    /// Says that something is waited for, until there is something to print.
    waiting: Option<ProgressLine>,
    /// Text that waits to be printed.
    printed: Vec<Printed>,
}

#[derive(Debug, PartialEq, Eq)]
enum Printed {
    /// A piece of an answer, on stdout.
    Part(String),
    /// A line about the turn, on stderr.
    Line(String),
    /// The same for programs.
    Note(String),
}

impl Live {
    /// Shows an answer to a program: its text, and on stderr only what explains a long wait.
    pub(crate) fn piped() -> Live {
        Live(Mutex::new(ShownTurn { is_piped: true, ..ShownTurn::default() }))
    }

    /// Shows an answer to a person who reads this language.
    pub(crate) fn in_language(language: ScreenLanguage) -> Live {
        Live(Mutex::new(ShownTurn { language, ..ShownTurn::default() }))
    }

    /// Shows how long nothing came, also while an earlier message is answered first.
    pub(crate) fn begin_waiting(&self) {
        self.shown().waiting = Some(ProgressLine::begin("Waiting for the answer"));
    }

    pub(crate) fn end_line(&self) {
        self.shown().waiting = None;
        self.change(ShownTurn::end_line);
    }

    fn change(&self, change: impl FnOnce(&mut ShownTurn)) {
        let mut shown = self.shown();
        change(&mut shown);
        if !shown.printed.is_empty() {
            shown.waiting = None;
        }
        for printed in shown.printed.drain(..) {
            match printed {
                Printed::Part(text) => ui::part(&text),
                Printed::Line(line) => ui::error_line(&line),
                Printed::Note(text) => ui::note(&text),
            }
        }
    }

    /// Whether an answer was printed while it grew. An answer given earlier was not.
    pub(crate) fn has_shown_text(&self) -> bool {
        self.shown().has_shown_text
    }

    fn shown(&self) -> MutexGuard<'_, ShownTurn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShownTurn {
    fn end_line(&mut self) {
        self.space.clear();
        if std::mem::take(&mut self.in_a_line) {
            self.printed.push(Printed::Part("\n".to_owned()));
        }
    }

    fn note(&mut self, line: &str) {
        self.end_line();
        if !self.is_piped {
            self.printed.push(Printed::Line(format!("  {line}")));
        }
    }

    /// Says why it takes longer, or why the text begins again.
    fn note_wait(&mut self, what: String) {
        if self.is_piped {
            self.end_line();
            self.printed.push(Printed::Note(what));
        } else {
            self.note(&format!("[{what}]"));
        }
    }

    fn print(&mut self, text: &str) {
        let text = std::mem::take(&mut self.space) + text;
        let (text, space) = text.split_at(text.trim_end().len());
        space.clone_into(&mut self.space);
        if !text.is_empty() {
            self.printed.push(Printed::Part(text.to_owned()));
            (self.has_shown_text, self.in_a_line) = (true, true);
        }
    }

    /// How much of this answer was shown. An answer that was cut off is not continued by the next.
    fn growing(&mut self, request_id: EventId) -> String {
        match self.growing.take() {
            Some((id, text)) if id == request_id => text,
            Some(_) => {
                self.cut_off();
                String::new()
            }
            None => String::new(),
        }
    }

    fn cut_off(&mut self) {
        self.growing = None;
        if self.in_a_line {
            self.note_wait("the answer was cut off".to_owned());
        }
    }

    fn add(&mut self, delta: &AnswerDelta) {
        if delta.kind == AnswerDeltaKind::Text {
            let mut shown = self.growing(delta.request_id);
            self.print(&delta.text);
            shown.push_str(&delta.text);
            self.growing = Some((delta.request_id, shown));
        }
    }

    /// Shows the text of the running request so far, when this client connects or reconnects.
    fn catch_up(&mut self, parts: &[AnswerDelta]) {
        let texts = parts.iter().filter(|part| part.kind == AnswerDeltaKind::Text);
        let text: String = texts.map(|part| part.text.as_str()).collect();
        if let Some(part) = parts.first() {
            self.complete(part.request_id, &text);
        }
    }

    /// Shows the part of `text` that was not shown yet: deltas may be lost.
    fn complete(&mut self, request_id: EventId, text: &str) {
        let shown = self.growing(request_id);
        if let Some(rest) = text.strip_prefix(shown.as_str()) {
            self.print(rest);
        } else if shown.starts_with(text) {
            self.growing = Some((request_id, shown));
            return;
        } else {
            self.end_line();
            self.print(text);
        }
        self.growing = Some((request_id, text.to_owned()));
    }

    fn write(&mut self, event: &Event) {
        if !self.events.insert(event.id) {
            return;
        }
        match &event.body {
            Body::ToolResult(result) => {
                let argument = self.arguments.remove(&result.call_id).unwrap_or_default();
                let what = format!("{} {argument}", result.tool);
                let text = plain_text(&result.content);
                let told = result_in_words(result.outcome, &text, self.language);
                self.note(&format!("• {} · {told}", what.trim_end()));
            }
            Body::AssistantMessage(answer) => {
                for block in &answer.message.content {
                    if let Block::ToolCall(call) = block {
                        let (_, input) = call.meant();
                        self.arguments.insert(call.call_id, argument_of(input.as_str()));
                    }
                }
                self.complete(
                    answer.request_id.unwrap_or(event.id),
                    &plain_text(&answer.message.content),
                );
                self.growing = None;
                self.end_line();
            }
            Body::HarnessItem(it) => {
                if let Some(line) = harness(it) {
                    self.note(&line);
                }
            }
            _ => {
                if let Some(retry) = retry_in_words(event) {
                    self.cut_off();
                    if self.last_wait.is_new(&retry) {
                        self.note_wait(retry);
                    }
                }
            }
        }
    }
}

impl Screen for Live {
    fn show(&self, item: &TurnItem) {
        match item {
            TurnItem::Delta(delta) => self.change(|shown| shown.add(delta)),
            TurnItem::Running(parts) => self.change(|shown| shown.catch_up(parts)),
            TurnItem::Event(event) => self.change(|shown| shown.write(event)),
            TurnItem::Note(note) => {
                let was_waiting = self.shown().waiting.is_some();
                self.change(|shown| shown.printed.push(Printed::Note(note.clone())));
                if was_waiting {
                    self.begin_waiting();
                }
            }
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
            TurnItem::Note(text) => ui::json(&json!({ "type": "note", "text": text })),
        }
    }
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

// Not through a JSON value: that would round numbers that the log keeps as text.
#[derive(serde::Serialize)]
struct StreamedEvent<'a> {
    #[serde(rename = "type")]
    line_type: &'static str,
    event: &'a Event,
}

/// The line for a failed request, if it explains a wait or a change of model. A failure that ends the
/// turn is reported at its end.
pub(crate) fn retry_in_words(event: &Event) -> Option<String> {
    let Body::ModelFailed(failed) = &event.body else { return None };
    if !tells_of_retry(event.ts, failed) {
        return None;
    }
    Some(match &failed.fallback {
        Some(next) => format!("{}; `{next}` is asked instead", failed.message),
        None => format!("{}; retrying", failed.message),
    })
}

/// Whether a person is told that a failed request is made again. Two that are due at once are not worth
/// a line: the last one of a turn whose time is over, which a notice tells, and one on a connection
/// that the server had just closed.
pub(crate) fn tells_of_retry(ts: u64, failed: &ModelFailed) -> bool {
    let is_quiet = matches!(failed.kind, FailureKind::Timeout | FailureKind::Network);
    failed.retry_at.is_some_and(|at| !is_quiet || failed.fallback.is_some() || at > ts)
}

#[cfg(test)]
mod tests;
