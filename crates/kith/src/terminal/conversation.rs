//! The conversation as the terminal shows it: events and deltas become lines that are printed once, and
//! a few rows that change.
//!
//! Nothing here touches the terminal or asks anyone, so every screen can be made in a test.

mod amounts;
mod calls;
mod growing;
mod live;
mod questions;
mod turn;

use std::collections::HashSet;
use std::time::Duration;

use kith_host::calls::feed::{AnswerDelta, AnswerDeltaKind, TurnItem};
use kith_host::calls::subscription::SubscriptionItem;
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::control::{EndReason, Level, Queue, QueueItem};
use kith_vocab::event::messages::{
    AssistantMessage, HarnessKind, IngressRef, Origin, StopReason, UserMessage,
};
use kith_vocab::event::models::{ModelFailed, Purpose};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::SessionId;
use kith_vocab::queue_hold::QueueHold;

use self::amounts::in_seconds;
pub(crate) use self::amounts::{in_bytes, in_thousands};
use self::calls::ShownCalls;
pub(crate) use self::calls::{DoneCall, OpenedOutput};
use self::growing::ShownAnswer;
use self::questions::ShownQuestions;
pub(crate) use self::questions::{QuestionAnswer, QuestionStep};
use self::turn::{Activity, RunningTurn, input_of, usage_in_words};
use super::attached::without_attached;
use super::styled::{Colour, Line, Style};
use super::words::{ScreenLanguage, ScreenText};
use crate::program::screen::tells_of_retry;
use crate::program::transcript::harness;

const ERROR: Style = Style::coloured(Colour::Red);
const WARNING: Style = Style::coloured(Colour::Yellow);
const MARK: Style = Style { bold: true, ..Style::coloured(Colour::Green) };
/// How much of a long message is shown again once it was sent.
const SAID_BYTES_MAX: usize = 4_000;
const SAID_ROWS_MAX: usize = 20;

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
    calls: ShownCalls,
    questions: ShownQuestions,
    pub(crate) follow_ups: Vec<QueuedText>,
    pub(crate) steers: Vec<QueuedText>,
    hold: QueueHold,
    is_held: bool,
    context_tokens: u64,
    is_past: bool,
    printed_last: PrintedLast,
}

/// What was printed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrintedLast {
    /// A message, or nothing yet: a blank row follows already.
    Message,
    Text,
    Call,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueuedText {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) updated_at: u64,
    /// It was sent from here and is nothing but text.
    pub(crate) is_own: bool,
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
            calls: ShownCalls::default(),
            questions: ShownQuestions::default(),
            follow_ups: Vec::new(),
            steers: Vec::new(),
            hold: QueueHold::default(),
            is_held: false,
            context_tokens: 0,
            is_past: false,
            printed_last: PrintedLast::Message,
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
            SubscriptionItem::Turn(TurnItem::Running(parts)) => self.catch_up(parts, columns),
            // What an earlier message does is on the screen.
            SubscriptionItem::Turn(TurnItem::Note(_)) => Vec::new(),
            SubscriptionItem::Failed(why) => vec![Line::styled(why, ERROR)],
            SubscriptionItem::Moved(to) => {
                self.session = Some(*to);
                self.turn = None;
                self.questions.clear();
                Vec::new()
            }
            SubscriptionItem::Removed => {
                (self.session, self.turn) = (None, None);
                self.questions.clear();
                vec![remark(self.language.say(ScreenText::Removed))]
            }
        }
    }

    fn delta(&mut self, delta: &AnswerDelta, columns: usize) -> Vec<Line> {
        if let Some(turn) = &mut self.turn {
            turn.grow(&delta.text);
            turn.activity = match (&delta.kind, &turn.activity) {
                (_, Activity::Stopping) => Activity::Stopping,
                (AnswerDeltaKind::Text, _) => Activity::Answering,
                (AnswerDeltaKind::Thinking, _) => Activity::Thinking,
                (AnswerDeltaKind::ToolName, _) => Activity::Calling(delta.text.clone()),
                (AnswerDeltaKind::ToolInput | AnswerDeltaKind::Progress, now) => now.clone(),
            };
        }
        match delta.kind {
            AnswerDeltaKind::Text => {
                let mut lines = self.apart(PrintedLast::Text, &delta.text);
                lines.extend(self.growing.add(delta.request_id, &delta.text, columns));
                lines
            }
            AnswerDeltaKind::Progress => {
                self.calls.add_output(&delta.text);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// What the running request has said so far.
    fn catch_up(&mut self, parts: &[AnswerDelta], columns: usize) -> Vec<Line> {
        let is_text = |part: &&AnswerDelta| part.kind == AnswerDeltaKind::Text;
        let text: String = parts.iter().filter(is_text).map(|part| part.text.as_str()).collect();
        for part in parts.iter().filter(|part| !is_text(part)) {
            self.delta(part, columns);
        }
        let Some(first) = parts.iter().find(is_text) else { return Vec::new() };
        let mut lines = self.apart(PrintedLast::Text, &text);
        lines.extend(self.growing.catch_up(first.request_id, &text, columns));
        lines
    }

    /// A blank row between what was said and calls.
    fn apart(&mut self, next: PrintedLast, text: &str) -> Vec<Line> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.printed_last, next);
        let is_apart = before != PrintedLast::Message && before != next;
        if is_apart { vec![Line::default()] } else { Vec::new() }
    }

    fn event(&mut self, event: &Event, columns: usize, now: Duration) -> Vec<Line> {
        self.hold.read(event);
        match &event.body {
            Body::UserMessage(it) => self.message(it, columns),
            Body::AssistantMessage(it) => self.answer(event, it, columns),
            Body::ToolResult(it) => {
                let mut lines = self.apart(PrintedLast::Call, &it.tool);
                lines.extend(self.calls.end(it, self.language, columns));
                lines
            }
            Body::HarnessItem(it) => {
                let text = match it.item.kind {
                    HarnessKind::Steer if it.item.origin == Origin::User => {
                        format!("↪ {}", it.item.content)
                    }
                    _ => harness(it).unwrap_or_default(),
                };
                let rows = text.lines().map(|row| Line::styled(row, Style::DIM));
                let rows = rows.flat_map(|row| row.wrapped(columns, 2));
                self.apart(PrintedLast::Call, &text).into_iter().chain(rows).collect()
            }
            Body::Compact(it) => {
                self.end_summary();
                let [before, after] = [it.tokens_before, it.tokens_after].map(in_thousands);
                let tokens = self.language.say(ScreenText::Tokens);
                let amounts = format!("~{before} → ~{after} {tokens}");
                let told = self.language.labelled(ScreenText::Summarised, &amounts);
                remark(&told).wrapped(columns, 2)
            }
            Body::ModelFailed(it) => self.failure(event.ts, it, columns),
            Body::ModelRequested(_) if self.growing.is_unfinished() => {
                self.progress(&event.body, now);
                self.asked_again(columns)
            }
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
            Body::ApprovalReplied(it) => self.replied(it, columns),
            Body::ApprovalDecided(it) => self.decided(event, it, columns, now),
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
            // The row goes on to say that it is another attempt.
            Body::ModelRequested(_) if self.is_retrying() => (),
            Body::ModelRequested(_) => self.set_activity(Activity::Waiting, now),
            Body::CallJudged(it) => self.questions.judged(it),
            Body::ApprovalRequested(it) => self.asked(it, now),
            Body::ToolStarted(it) => {
                self.calls.clear_output();
                if let Some(what) = self.calls.title(it.call_id) {
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

    /// The host was lost in the middle of an answer, and the next one has asked anew: the same words
    /// come once more.
    fn asked_again(&mut self, columns: usize) -> Vec<Line> {
        let mut lines = self.growing.end(columns);
        self.printed_last = PrintedLast::Call;
        lines.extend(remark(self.language.say(ScreenText::AskedAgain)).wrapped(columns, 2));
        lines
    }

    fn failure(&mut self, ts: u64, failed: &ModelFailed, columns: usize) -> Vec<Line> {
        let mut lines = self.growing.end(columns);
        let mut is_repeated = false;
        if let Some(turn) = &mut self.turn {
            let before = turn.failure.replace(failed.message.to_string());
            is_repeated = before.as_deref() == Some(&*failed.message) && failed.fallback.is_none();
            if failed.retry_at.is_some() && turn.activity != Activity::Stopping {
                turn.activity = Activity::Retrying(failed.attempt);
            }
            if let Some(usage) = &failed.usage {
                turn.add(usage);
            }
        }
        if failed.retry_at.is_none() {
            self.end_summary();
        }
        // Said once; the live row counts.
        if tells_of_retry(ts, failed) && !is_repeated {
            let then = match &failed.fallback {
                Some(next) => format!("{} `{next}`", self.language.say(ScreenText::AsksInstead)),
                None => self.language.say(ScreenText::Retries).to_owned(),
            };
            let told = format!("{}; {then}", self.language.sentence(&failed.message));
            lines.extend(Line::styled(&told, WARNING).wrapped(columns, 2));
        }
        lines
    }

    fn is_retrying(&self) -> bool {
        self.turn.as_ref().is_some_and(|it| matches!(it.activity, Activity::Retrying(_)))
    }

    fn begin_turn(&mut self, now: Duration) {
        self.is_held = false;
        if self.turn.is_none() {
            self.turn = Some(RunningTurn::new(now));
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
        self.printed_last = PrintedLast::Message;
        let mut lines = vec![Line::default()];
        if !is_own && !self.is_past {
            let who = format!(
                "{} ({})",
                message.author.display_name,
                self.language.say(ScreenText::Elsewhere)
            );
            lines.extend(Line::styled(&who, Style::DIM).wrapped(columns, 2));
        }
        let text = plain_text(&message.message.content);
        let (said, files) = without_attached(&text);
        lines.extend(said_lines(said, columns));
        for file in files {
            let n_lines = file.text.lines().count();
            let lines_word = if n_lines == 1 { ScreenText::Line } else { ScreenText::Lines };
            let line = format!(
                "  @{} · {} · {n_lines} {} · {}",
                file.name,
                self.language.say(ScreenText::Attached),
                self.language.say(lines_word),
                in_bytes(file.text.len() as u64),
            );
            lines.extend(Line::styled(&line, Style::DIM).wrapped(columns, 4));
        }
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
        let mut lines = self.apart(PrintedLast::Text, &text);
        lines.extend(self.growing.complete(id, &text, columns));
        for block in &answer.message.content {
            if let Block::ToolCall(call) = block {
                self.calls.begin(call);
            }
        }
        // At the end of a turn that is watched this is said anyway.
        let cut_short = match answer.stop_reason {
            StopReason::Cancelled | StopReason::Error => Some(ScreenText::Stopped),
            StopReason::MaxTokens => Some(ScreenText::WasCutOff),
            _ => None,
        };
        if let Some(why) = cut_short.filter(|_| self.is_past) {
            lines.push(remark(self.language.say(why)));
        }
        if let Some(usage) = &answer.usage {
            self.context_tokens = input_of(usage).saturating_add(usage.output);
            if let Some(turn) = &mut self.turn {
                turn.add(usage);
            }
        }
        lines
    }

    fn end_turn(&mut self, reason: EndReason, columns: usize, now: Duration) -> Vec<Line> {
        let mut lines = self.growing.end(columns);
        self.questions.clear();
        self.calls.clear_output();
        let Some(turn) = self.turn.take() else { return lines };
        self.is_held = self.hold.is_held() && !self.follow_ups.is_empty();
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
        let words = self.language.say(ScreenText::Context);
        Some(words.replace("{percent}", &percent.to_string()))
    }

    /// The calls that can be opened, newest first.
    pub(crate) fn done_calls(&self) -> impl ExactSizeIterator<Item = &DoneCall> {
        self.calls.done()
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

#[cfg(test)]
mod tests;
