//! The conversation as the terminal shows it: events and deltas become lines that are printed once, and
//! a few rows that change.
//!
//! Nothing here touches the terminal or asks anyone, so every screen can be made in a test.

mod growing;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use kith_host::calls::feed::{AnswerDelta, AnswerDeltaKind, TurnItem};
use kith_host::calls::subscription::SubscriptionItem;
use kith_host::words::outcome_in_words;
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::control::{EndReason, Level, Queue, QueueItem};
use kith_vocab::event::messages::{
    AssistantMessage, IngressRef, Outcome, ToolResult, Usage, UserMessage,
};
use kith_vocab::event::models::{ModelFailed, Purpose};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, SessionId};

use self::growing::ShownAnswer;
use super::styled::{Colour, Line, Style, fitted};
use super::words::{ScreenLanguage, ScreenText};
use crate::program::screen::retry_in_words;
use crate::program::transcript::harness;

const ERROR: Style = Style::coloured(Colour::Red);
const WARNING: Style = Style::coloured(Colour::Yellow);
const MARK: Style = Style { bold: true, ..Style::coloured(Colour::Green) };
/// Columns of a call's argument.
const ARGUMENT_COLUMNS_MAX: usize = 60;
/// How much of a long message is shown again once it was sent.
const SAID_BYTES_MAX: usize = 4_000;
const SAID_ROWS_MAX: usize = 20;

/// What a call was asked to do, in one word or path.
type CallArgument = (String, String);

pub(crate) struct ShownConversation {
    language: ScreenLanguage,
    /// 0: unknown.
    context_window: u64,
    /// Ids of the messages that were sent from here.
    own: HashSet<String>,
    /// Messages that were sent and are not in the log yet, with their ids.
    pending: Vec<(String, String)>,
    pub(crate) session: Option<SessionId>,
    turn: Option<RunningTurn>,
    growing: ShownAnswer,
    calls: HashMap<CallId, CallArgument>,
    pub(crate) follow_ups: Vec<QueuedText>,
    pub(crate) steers: Vec<QueuedText>,
    is_held: bool,
    /// Of the last call, to be opened on demand.
    last_result: Option<(String, String)>,
    context_tokens: u64,
    is_past: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueuedText {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) updated_at: u64,
    /// It was sent from here and is nothing but text.
    pub(crate) is_own: bool,
}

/// The turn that runs.
struct RunningTurn {
    began: Duration,
    activity: Activity,
    usage: Usage,
    has_price: bool,
    failure: Option<String>,
    /// A notice has said what went wrong.
    has_notice: bool,
    /// It is no turn, but a summary between turns.
    is_summary: bool,
}

/// What is being waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Activity {
    Waiting,
    Thinking { n_chars: usize },
    Answering,
    Calling(String),
    Summarising,
    Stopping,
}

impl ShownConversation {
    pub(crate) fn new(language: ScreenLanguage, context_window: u64) -> ShownConversation {
        ShownConversation {
            language,
            context_window,
            own: HashSet::new(),
            pending: Vec::new(),
            session: None,
            turn: None,
            growing: ShownAnswer::default(),
            calls: HashMap::new(),
            follow_ups: Vec::new(),
            steers: Vec::new(),
            is_held: false,
            last_result: None,
            context_tokens: 0,
            is_past: false,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.turn.is_some()
    }

    pub(crate) fn set_context_window(&mut self, tokens: u64) {
        self.context_window = tokens;
    }

    /// A message is on its way.
    pub(crate) fn sent(&mut self, id: String, text: String) {
        self.own.insert(id.clone());
        self.pending.push((id, text));
    }

    /// A message could not be sent. False if it had arrived.
    pub(crate) fn forget_pending(&mut self, id: &str) -> bool {
        let n_before = self.pending.len();
        self.pending.retain(|(pending, _)| pending != id);
        self.pending.len() < n_before
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The texts that have not arrived.
    pub(crate) fn take_pending(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pending).into_iter().map(|(_, text)| text).collect()
    }

    /// What was said before this terminal was opened has no place of its own.
    pub(crate) fn of_the_past(self) -> ShownConversation {
        ShownConversation { is_past: true, ..self }
    }

    /// The same terminal in another session.
    pub(crate) fn in_session(&mut self, session: SessionId) -> ShownConversation {
        let mut other = ShownConversation::new(self.language, self.context_window);
        other.own = std::mem::take(&mut self.own);
        other.pending = std::mem::take(&mut self.pending);
        other.session = Some(session);
        other
    }

    /// Takes in what came from the feed, and gives the lines to print. `now` is the time since the
    /// terminal was opened.
    pub(crate) fn take(
        &mut self,
        item: &SubscriptionItem,
        columns: usize,
        now: Duration,
    ) -> Vec<Line> {
        let lines = self.lines_of(item, columns, now);
        let fit = |line: Line| {
            if line.width() > columns { line.wrapped(columns, 2) } else { vec![line] }
        };
        lines.into_iter().flat_map(fit).collect()
    }

    fn lines_of(&mut self, item: &SubscriptionItem, columns: usize, now: Duration) -> Vec<Line> {
        match item {
            SubscriptionItem::Started { session_id, .. } => {
                self.session = *session_id;
                Vec::new()
            }
            SubscriptionItem::Turn(TurnItem::Event(event)) => self.event(event, columns, now),
            SubscriptionItem::Turn(TurnItem::Delta(delta)) => self.delta(delta, columns),
            SubscriptionItem::Turn(TurnItem::Running(parts)) => {
                parts.iter().flat_map(|part| self.delta(part, columns)).collect()
            }
            SubscriptionItem::Failed(why) => vec![Line::styled(why, ERROR)],
            SubscriptionItem::Moved(to) => {
                self.session = Some(*to);
                self.turn = None;
                Vec::new()
            }
            SubscriptionItem::Removed => {
                (self.session, self.turn) = (None, None);
                vec![remark(self.language.say(ScreenText::Removed))]
            }
        }
    }

    fn delta(&mut self, delta: &AnswerDelta, columns: usize) -> Vec<Line> {
        if let Some(turn) = &mut self.turn {
            turn.activity = match (&delta.kind, &turn.activity) {
                (AnswerDeltaKind::Text, _) => Activity::Answering,
                (AnswerDeltaKind::Thinking, Activity::Thinking { n_chars }) => {
                    Activity::Thinking { n_chars: n_chars + delta.text.chars().count() }
                }
                (AnswerDeltaKind::Thinking, _) => {
                    Activity::Thinking { n_chars: delta.text.chars().count() }
                }
                (AnswerDeltaKind::ToolName, _) => Activity::Calling(delta.text.clone()),
                (AnswerDeltaKind::ToolInput | AnswerDeltaKind::Progress, now) => now.clone(),
            };
        }
        match delta.kind {
            AnswerDeltaKind::Text => self.growing.add(delta.request_id, &delta.text, columns),
            _ => Vec::new(),
        }
    }

    fn event(&mut self, event: &Event, columns: usize, now: Duration) -> Vec<Line> {
        match &event.body {
            Body::UserMessage(it) => self.message(it, columns),
            Body::AssistantMessage(it) => self.answer(event, it, columns),
            Body::ToolResult(it) => self.result(it, columns),
            Body::HarnessItem(it) => {
                let text = harness(it).unwrap_or_default();
                let rows = text.lines().map(|row| Line::styled(row, Style::DIM));
                rows.flat_map(|row| row.wrapped(columns, 2)).collect()
            }
            Body::Compact(it) => {
                self.end_summary();
                let tokens = in_thousands(it.summary.len() as u64 / 3);
                vec![remark(&format!("{}: ~{tokens}", self.language.say(ScreenText::Summarised)))]
            }
            Body::ModelFailed(it) => self.failure(event, it, columns),
            Body::Notice(it) => {
                if let Some(turn) = &mut self.turn {
                    turn.has_notice = true;
                }
                let style = match it.level {
                    Level::Info => Style::DIM,
                    Level::Warn => WARNING,
                    Level::Error => ERROR,
                };
                Line::styled(&it.text, style).wrapped(columns, 2)
            }
            Body::TurnEnded(it) => self.end_turn(it.reason, columns, now),
            _ => {
                self.progress(&event.body, now);
                Vec::new()
            }
        }
    }

    /// Events of which only the rows that change tell.
    fn progress(&mut self, body: &Body, now: Duration) {
        match body {
            Body::TurnStarted(_) => {
                self.begin_turn(now);
                if let Some(turn) = &mut self.turn {
                    turn.is_summary = false;
                }
            }
            Body::ModelRequested(it) if it.purpose == Purpose::Compact => {
                let is_between_turns = self.turn.is_none();
                self.set_activity(Activity::Summarising, now);
                if let Some(turn) = &mut self.turn {
                    turn.is_summary |= is_between_turns;
                }
            }
            Body::ModelRequested(_) => self.set_activity(Activity::Waiting, now),
            Body::ToolStarted(it) => {
                if let Some((tool, argument)) = self.calls.get(&it.call_id) {
                    let what = format!("{tool} {argument}").trim_end().to_owned();
                    self.set_activity(Activity::Calling(what), now);
                }
            }
            Body::QueueUpdate(it) => {
                it.items.iter().for_each(|item| self.arrived(item.ingress.as_ref()));
                let items = it.items.iter().map(|item| self.queued(item)).collect();
                match it.queue {
                    Queue::FollowUp => self.follow_ups = items,
                    Queue::Steer => self.steers = items,
                }
            }
            Body::CancelRequested(_) => {
                self.end_summary();
                if let Some(turn) = &mut self.turn {
                    turn.activity = Activity::Stopping;
                }
            }
            _ => (),
        }
    }

    fn queued(&self, item: &QueueItem) -> QueuedText {
        let is_text = item.content.iter().all(|block| matches!(block, Block::Text(_)));
        let is_own = item.ingress.as_ref().is_some_and(|it| self.own.contains(&it.message_id));
        QueuedText {
            id: item.id.clone(),
            text: plain_text(&item.content).to_string(),
            updated_at: item.updated_at,
            is_own: is_own && is_text,
        }
    }

    /// A summary between turns is over: no turn ends after it.
    fn end_summary(&mut self) {
        self.turn = self.turn.take().filter(|turn| !turn.is_summary);
    }

    fn failure(&mut self, event: &Event, failed: &ModelFailed, columns: usize) -> Vec<Line> {
        let mut lines = self.growing.end(columns);
        if let Some(turn) = &mut self.turn {
            turn.failure = Some(failed.message.to_string());
            if let Some(usage) = &failed.usage {
                turn.add(usage);
            }
        }
        if failed.retry_at.is_none() {
            self.end_summary();
        }
        if let Some(text) = retry_in_words(event) {
            lines.extend(Line::styled(&text, WARNING).wrapped(columns, 2));
        }
        lines
    }

    fn begin_turn(&mut self, now: Duration) {
        self.is_held = false;
        if self.turn.is_none() {
            self.turn = Some(RunningTurn {
                began: now,
                activity: Activity::Waiting,
                usage: Usage::default(),
                has_price: true,
                failure: None,
                has_notice: false,
                is_summary: false,
            });
        }
    }

    fn set_activity(&mut self, activity: Activity, now: Duration) {
        self.begin_turn(now);
        if let Some(turn) = &mut self.turn
            && turn.activity != Activity::Stopping
        {
            turn.activity = activity;
        }
    }

    fn arrived(&mut self, ingress: Option<&IngressRef>) {
        let arrived = |id: &String| ingress.is_some_and(|it| it.message_id == *id);
        self.pending.retain(|(id, _)| !arrived(id));
    }

    /// What a person said, here or elsewhere.
    fn message(&mut self, message: &UserMessage, columns: usize) -> Vec<Line> {
        let is_own = message.ingress.as_ref().is_some_and(|it| self.own.contains(&it.message_id));
        self.arrived(message.ingress.as_ref());
        let mut lines = vec![Line::default()];
        if !is_own && !self.is_past {
            let who = format!(
                "{} ({})",
                message.author.display_name,
                self.language.say(ScreenText::Elsewhere)
            );
            lines.extend(Line::styled(&who, Style::DIM).wrapped(columns, 2));
        }
        lines.extend(said_lines(&plain_text(&message.message.content), columns));
        for block in &message.message.content {
            if let Block::Image(it) | Block::Audio(it) | Block::File(it) = block {
                let line = format!("  [{} {}]", it.media_type, in_bytes(it.bytes));
                lines.extend(Line::styled(&line, Style::DIM).wrapped(columns, 2));
            }
        }
        lines.push(Line::default());
        lines
    }

    fn answer(&mut self, event: &Event, answer: &AssistantMessage, columns: usize) -> Vec<Line> {
        let text = plain_text(&answer.message.content);
        let id = answer.request_id.unwrap_or(event.id);
        let lines = self.growing.complete(id, &text, columns);
        for block in &answer.message.content {
            if let Block::ToolCall(call) = block {
                let argument = argument_of(call.input.as_str());
                self.calls.insert(call.call_id, (call.tool.clone(), argument));
            }
        }
        if let Some(usage) = &answer.usage {
            self.context_tokens = input_of(usage).saturating_add(usage.output);
            if let Some(turn) = &mut self.turn {
                turn.add(usage);
            }
        }
        lines
    }

    /// `read_file USER.md · 16 lines`, or why it failed.
    fn result(&mut self, result: &ToolResult, columns: usize) -> Vec<Line> {
        let text = plain_text(&result.content).to_string();
        let (_, argument) = self.calls.remove(&result.call_id).unwrap_or_default();
        let mut line = Line::styled("• ", Style::DIM);
        line.push(&result.tool, Style::BOLD);
        line.push(&format!(" {argument}"), Style::PLAIN);
        if result.outcome == Outcome::Done {
            let n_lines = text.lines().count();
            line.push(
                &format!(" · {n_lines} {}", self.language.say(ScreenText::Lines)),
                Style::DIM,
            );
        } else {
            let how = match result.outcome {
                Outcome::Failed => self.language.say(ScreenText::Failed),
                other => outcome_in_words(other),
            };
            let why = text.lines().next().unwrap_or_default();
            line.push(&format!(" · {how}: {why}"), ERROR);
        }
        self.last_result = Some((format!("{} {argument}", result.tool), text));
        line.wrapped(columns, 4)
    }

    fn end_turn(&mut self, reason: EndReason, columns: usize, now: Duration) -> Vec<Line> {
        let mut lines = self.growing.end(columns);
        let Some(turn) = self.turn.take() else { return lines };
        self.is_held = reason != EndReason::Done && !self.follow_ups.is_empty();
        match reason {
            EndReason::Done | EndReason::Bound => (),
            EndReason::Cancelled => lines.push(remark(self.language.say(ScreenText::Stopped))),
            EndReason::Failed if turn.has_notice => (),
            EndReason::Failed => {
                let why = turn
                    .failure
                    .clone()
                    .unwrap_or_else(|| self.language.say(ScreenText::Failed).to_owned());
                lines.extend(Line::styled(&format!("! {why}"), ERROR).wrapped(columns, 2));
            }
        }
        let mut parts = vec![in_seconds(now.saturating_sub(turn.began))];
        parts.extend(usage_in_words(&turn.usage, turn.has_price));
        parts.extend(self.context_in_words());
        lines.extend(Line::styled(&parts.join(" · "), Style::DIM).wrapped(columns, 2));
        lines
    }

    /// How much of the context is used.
    fn context_in_words(&self) -> Option<String> {
        if self.context_window == 0 || self.context_tokens == 0 {
            return None;
        }
        let percent = self.context_tokens.saturating_mul(100).div_ceil(self.context_window);
        Some(format!("{percent} % {}", self.language.say(ScreenText::Context)))
    }

    /// The whole output of the last call.
    pub(crate) fn last_result(&self, columns: usize) -> Vec<Line> {
        let Some((what, text)) = &self.last_result else {
            return vec![remark(self.language.say(ScreenText::NoCall))];
        };
        let mut lines = vec![Line::styled(what, Style::BOLD)];
        for row in text.lines() {
            lines.extend(Line::styled(&format!("  {row}"), Style::DIM).wrapped(columns, 2));
        }
        lines
    }

    /// The rows above the input: the end of the growing answer, what runs, and the queue.
    pub(crate) fn live(&self, columns: usize, rows_max: usize, now: Duration) -> Vec<Line> {
        let mut rows = Vec::new();
        if let Some(turn) = &self.turn {
            rows.push(self.status(turn, columns, now));
        }
        for item in &self.steers {
            rows.push(Line::styled(&fitted(&format!("  ↪ {}", item.text), columns), Style::DIM));
        }
        let state = if self.is_held { ScreenText::Held } else { ScreenText::Queued };
        for (n, item) in self.follow_ups.iter().enumerate() {
            let line = format!("  {} {}: {}", n + 1, self.language.say(state), item.text);
            rows.push(Line::styled(&fitted(&line, columns), Style::DIM));
        }
        for (_, text) in &self.pending {
            let line = format!("  {}: {text}", self.language.say(ScreenText::Sending));
            rows.push(Line::styled(&fitted(&line, columns), Style::DIM));
        }
        let room = rows_max.saturating_sub(rows.len());
        let mut growing = self.growing.open_rows(columns);
        if growing.len() > room {
            growing.drain(..growing.len() - room);
        }
        growing.extend(rows);
        growing
    }

    fn status(&self, turn: &RunningTurn, columns: usize, now: Duration) -> Line {
        let words = |word| self.language.say(word).to_owned();
        let what = match &turn.activity {
            Activity::Waiting => words(ScreenText::Waiting),
            Activity::Thinking { n_chars } => {
                format!("{} ({n_chars})", words(ScreenText::Thinking))
            }
            Activity::Answering => words(ScreenText::Answering),
            Activity::Calling(what) => what.clone(),
            Activity::Summarising => words(ScreenText::Summarising),
            Activity::Stopping => words(ScreenText::Stopping),
        };
        let frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
        let elapsed = now.saturating_sub(turn.began);
        let frame = usize::try_from(elapsed.as_millis() / 120).unwrap_or_default() % frames.len();
        let mut parts = vec![what, in_seconds(elapsed)];
        if turn.usage.output > 0 {
            parts.extend(usage_in_words(&turn.usage, turn.has_price));
        }
        let mut line = Line::styled(frames[frame], Style::coloured(Colour::Cyan));
        line.push(
            &fitted(&format!(" {}", parts.join(" · ")), columns.saturating_sub(1)),
            Style::DIM,
        );
        line
    }
}

impl RunningTurn {
    fn add(&mut self, usage: &Usage) {
        let sum = &mut self.usage;
        sum.input = sum.input.saturating_add(usage.input);
        sum.output = sum.output.saturating_add(usage.output);
        sum.cache_read = sum.cache_read.saturating_add(usage.cache_read);
        sum.cache_write = sum.cache_write.saturating_add(usage.cache_write);
        self.has_price &= usage.cost_micros.is_some();
        let cost = usage.cost_micros.unwrap_or_default();
        sum.cost_micros = Some(sum.cost_micros.unwrap_or_default().saturating_add(cost));
    }
}

/// A remark of the terminal itself.
pub(crate) fn remark(text: &str) -> Line {
    Line::styled(&format!("({text})"), Style::DIM)
}

/// What a person said, behind a mark; of a long text its beginning.
pub(crate) fn said_lines(text: &str, columns: usize) -> Vec<Line> {
    let text = text.trim_end();
    let shown = &text[..text.floor_char_boundary(SAID_BYTES_MAX)];
    let mut lines = Vec::new();
    for (n, row) in shown.lines().enumerate() {
        let mut line = Line::styled(if n == 0 { "> " } else { "  " }, MARK);
        line.push(row, Style::BOLD);
        lines.extend(line.wrapped(columns, 2));
    }
    if shown.len() < text.len() || lines.len() > SAID_ROWS_MAX {
        lines.truncate(SAID_ROWS_MAX);
        lines.push(Line::styled(&format!("  … ({})", in_bytes(text.len() as u64)), Style::DIM));
    }
    lines
}

/// The argument that says most: a path, a pattern, else the first text.
fn argument_of(input: &str) -> String {
    let Ok(serde_json::Value::Object(members)) = serde_json::from_str(input) else {
        return String::new();
    };
    let named = ["path", "file", "command", "pattern", "query", "url", "name"];
    let by_name = named.into_iter().find_map(|name| members.get(name)?.as_str());
    let text = by_name.or_else(|| members.values().find_map(serde_json::Value::as_str));
    text.map_or_else(String::new, |text| fitted(text, ARGUMENT_COLUMNS_MAX))
}

/// What a request read, from the cache or not.
fn input_of(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

fn usage_in_words(usage: &Usage, has_price: bool) -> Vec<String> {
    let input = input_of(usage);
    if input == 0 && usage.output == 0 {
        return Vec::new();
    }
    let mut parts = vec![format!("↑{} ↓{}", in_thousands(input), in_thousands(usage.output))];
    if let (true, Some(micros)) = (has_price, usage.cost_micros) {
        parts.push(format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100));
    }
    parts
}

fn in_thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

fn in_bytes(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

fn in_seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{} s", time.as_secs()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests;
