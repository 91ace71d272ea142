//! Questions about calls that wait for a person: shown above the input until somebody has answered.
//!
//! The engine words what will be done and what can go wrong; here are the keys. A question is never
//! shown in part only: one that is too long for the screen is printed whole above it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use kith_host::calls::approval::{ApprovalAnswer, PendingApprovalView};
use kith_host::words::{diff_left_out, local_time};
use kith_vocab::event::Event;
use kith_vocab::event::calls::{
    ApprovalDecided, ApprovalReplied, ApprovalRequested, CallJudged, Decision, Via,
};
use kith_vocab::ids::{CallId, EventId};
use kith_vocab::invisible::visible;
use serde_json::Value;

use super::super::keys::{Key, KeyPress};
use super::super::styled::{Colour, Line, Style, columns_of, fitted};
use super::super::words::{ScreenLanguage, ScreenText};
use super::amounts::in_seconds;
use super::turn::Activity;
use super::{ShownConversation, WARNING, said_lines};
use crate::program::ui;

/// A key that comes sooner was meant for something else, and goes into the input.
const KEYS_AFTER: Duration = Duration::from_millis(600);
/// The expiry of a question is told when less than this is left.
const EXPIRY_TOLD_MS: u64 = 60 * 60 * 1000;
/// How long "do not ask again" stands.
const STANDING_MINUTES: u32 = 60;
/// Columns of a call in the line that tells the decision.
const DECIDED_COLUMNS_MAX: usize = 80;
const HEAD: Style = Style { bold: true, ..Style::coloured(Colour::Yellow) };

#[derive(Default)]
pub(super) struct ShownQuestions {
    waiting: Vec<ShownQuestion>,
    /// The one that keys answer.
    chosen: usize,
    /// What calls that are asked about would change.
    diffs: HashMap<CallId, ShownDiff>,
    /// Calls that a rule of the owner wants to be asked about each time.
    ruled: HashSet<CallId>,
    /// Decisions that were sent from here.
    own: HashSet<EventId>,
    /// The reply that is being read was sent from here.
    is_own_reply: bool,
    /// What may be offered is not known yet.
    wants_offers: bool,
}

/// What would change in a file, as far as the question shows it.
struct ShownDiff {
    text: String,
    n_lines_left_out: u64,
}

struct ShownQuestion {
    approval_id: String,
    code: String,
    summary: String,
    command: Option<String>,
    paths: Vec<String>,
    diff: Option<ShownDiff>,
    risk: String,
    expires_at: u64,
    /// When it came into view.
    came: Duration,
    /// A rule says to ask each time, so that no grant would help.
    is_ruled: bool,
    /// What need not be asked about again, if the engine lets that stand.
    offer: Option<String>,
    /// An answer is on its way.
    is_answered: bool,
    /// It was printed whole.
    is_printed: bool,
}

/// What a key does to the questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QuestionStep {
    /// Another one is shown.
    Chosen,
    Answered(QuestionAnswer),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuestionAnswer {
    pub(crate) approval_id: String,
    pub(crate) answer: ApprovalAnswer,
    pub(crate) for_minutes: Option<u32>,
}

impl ShownQuestions {
    pub(super) fn judged(&mut self, judged: &CallJudged) {
        let facts = judged.facts.read::<Value>().ok();
        let diff = facts.as_ref().and_then(|it| it.get("diff")?.as_str());
        if judged.rule.is_some() {
            self.ruled.insert(judged.call_id);
        }
        if let Some(diff) = diff.filter(|it| !it.is_empty()) {
            let left_out = facts.as_ref().and_then(|it| it.get("diffLinesLeftOut")?.as_u64());
            let n_lines_left_out = left_out.unwrap_or_default();
            let diff = ShownDiff { text: visible(diff), n_lines_left_out };
            self.diffs.insert(judged.call_id, diff);
        }
    }

    fn asked(&mut self, asked: &ApprovalRequested, came: Duration) {
        self.waiting.retain(|it| it.approval_id != asked.approval_id);
        self.waiting.push(ShownQuestion {
            approval_id: asked.approval_id.clone(),
            code: asked.code.clone(),
            summary: on_one_line(&asked.summary),
            command: asked.command.as_ref().map(|it| visible(it)),
            paths: asked.paths.iter().map(|path| on_one_line(path)).collect(),
            diff: self.diffs.remove(&asked.call_id),
            // The engine's own words, with marks of Chinese: only what cannot be seen is spelled out.
            risk: ui::visible(&asked.risk.replace(['\n', '\r'], " ")),
            expires_at: asked.expires_at,
            came,
            is_ruled: self.ruled.remove(&asked.call_id),
            offer: None,
            is_answered: false,
            is_printed: false,
        });
        self.wants_offers = true;
    }

    /// The question was answered. The one that is shown in its place was not seen before.
    fn take(&mut self, approval_id: &str, now: Duration) -> Option<ShownQuestion> {
        let at = self.waiting.iter().position(|it| it.approval_id == approval_id)?;
        let question = self.waiting.remove(at);
        let was_shown = self.chosen == at;
        if self.chosen > at || self.chosen >= self.waiting.len() {
            self.chosen = self.chosen.saturating_sub(1);
        }
        if let Some(next) = self.waiting.get_mut(self.chosen).filter(|_| was_shown) {
            next.came = now;
        }
        Some(question)
    }

    /// The turn is over: what it asked is asked no more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.diffs.clear();
        self.ruled.clear();
        self.chosen = 0;
    }
}

impl ShownQuestion {
    /// Everything that a person must read before they answer.
    fn lines(&self, language: ScreenLanguage, columns: usize) -> Vec<Line> {
        let mut head = Line::styled("? ", HEAD);
        head.push(&self.summary, HEAD);
        head.push(&format!(" [{}]", self.code), Style::DIM);
        let mut lines = head.wrapped(columns, 2);
        let mut put = |text: &str, style: Style| {
            lines.extend(Line::styled(&format!("    {text}"), style).wrapped(columns, 4));
        };
        match (&self.command, &self.diff) {
            (Some(command), _) => command.lines().for_each(|row| put(row, Style::BOLD)),
            (None, Some(diff)) => {
                diff.text.lines().for_each(|row| put(row, style_of_diff(row)));
                if diff.n_lines_left_out > 0 {
                    let tag = language.tag();
                    put(&diff_left_out(diff.n_lines_left_out, &self.code, tag), WARNING);
                }
            }
            (None, None) => self.paths.iter().for_each(|path| put(path, Style::BOLD)),
        }
        lines.extend(Line::styled(&format!("  {}", self.risk), Style::PLAIN).wrapped(columns, 2));
        lines
    }

    /// The keys that answer it.
    fn keys(&self, language: ScreenLanguage, now: Duration) -> Vec<String> {
        if self.is_answered {
            return vec![language.say(ScreenText::Sending).to_owned()];
        }
        if !self.takes_keys(now) {
            return vec!["…".to_owned()];
        }
        let mut keys = vec![format!("y {}", language.say(ScreenText::AllowOnce))];
        keys.extend(self.offer.as_ref().map(|what| {
            let [before, after] = [ScreenText::AllowStanding, ScreenText::AllowStandingFor]
                .map(|text| language.say(text));
            format!("a {before} `{}` {after}", fitted(what, DECIDED_COLUMNS_MAX))
        }));
        keys.push(format!("n {}", language.say(ScreenText::DenyIt)));
        keys
    }

    fn takes_keys(&self, now: Duration) -> bool {
        !self.is_answered && now >= self.came.saturating_add(KEYS_AFTER)
    }
}

impl ShownConversation {
    pub(crate) fn has_question(&self) -> bool {
        !self.questions.waiting.is_empty()
    }

    /// Whether this question still waits.
    pub(crate) fn asks(&self, approval_id: &str) -> bool {
        self.questions.waiting.iter().any(|it| it.approval_id == approval_id)
    }

    pub(super) fn asked(&mut self, asked: &ApprovalRequested, now: Duration) {
        self.questions.asked(asked, now);
        self.set_activity(Activity::Asking, now);
    }

    /// Somebody answered in words.
    pub(super) fn replied(&mut self, reply: &ApprovalReplied, columns: usize) -> Vec<Line> {
        let is_own = self.own.contains(&reply.ingress.message_id);
        self.questions.is_own_reply = is_own;
        self.arrived(Some(&reply.ingress));
        let mut lines = vec![Line::default()];
        if !is_own {
            let place = self.language.say(ScreenText::Elsewhere);
            let who = format!("{} ({place})", reply.author.display_name);
            lines.extend(Line::styled(&who, Style::DIM).wrapped(columns, 2));
        }
        lines.extend(said_lines(&reply.text, columns));
        lines
    }

    /// A question was answered, here or elsewhere: it goes, and what was decided stays.
    pub(super) fn decided(
        &mut self,
        event: &Event,
        decided: &ApprovalDecided,
        columns: usize,
        now: Duration,
    ) -> Vec<Line> {
        let Some(question) = self.questions.take(&decided.approval_id, now) else {
            return Vec::new();
        };
        if !self.has_question() {
            self.set_activity(Activity::Waiting, now);
        }
        let is_own = match decided.via {
            Via::Words => self.questions.is_own_reply,
            _ => self.questions.own.remove(&event.id),
        };
        let say = |text| self.language.say(text);
        let (mark, what) = match (decided.via, decided.decision) {
            (Via::Expiry, _) => ("✗", say(ScreenText::Expired).to_owned()),
            (Via::Cancel | Via::Branch, _) => ("✗", say(ScreenText::NotAskedAnyMore).to_owned()),
            (_, Decision::Allow) => ("✓", say(ScreenText::Allowed).to_owned()),
            (_, Decision::Deny) => ("✗", say(ScreenText::Denied).to_owned()),
        };
        let is_persons = matches!(decided.via, Via::Words | Via::Button | Via::Command);
        let who = if is_persons && !is_own {
            format!(" ({}, {})", visible(&decided.by), say(ScreenText::Elsewhere))
        } else {
            String::new()
        };
        let colour = if mark == "✓" { Colour::Green } else { Colour::Red };
        let mut line = Line::styled(mark, Style::coloured(colour));
        let summary = fitted(&question.summary, DECIDED_COLUMNS_MAX);
        line.push(
            &format!(" {what}{who}{}{summary} [{}]", say(ScreenText::Colon), question.code),
            Style::DIM,
        );
        let mut lines = line.wrapped(columns, 2);
        if let Some(grant) = &decided.grant {
            let words = grant.argv_prefix.as_ref().map(|words| words.join(" "));
            let scope = words.or_else(|| grant.path.clone()).or_else(|| grant.host.clone());
            let told = format!(
                "  {} `{}` {} {}",
                say(ScreenText::NotAskedAgain),
                visible(&scope.unwrap_or_default()),
                say(ScreenText::Until),
                local_time(grant.expires_at)
            );
            lines.extend(Line::styled(&told, Style::DIM).wrapped(columns, 2));
        }
        lines
    }

    /// The question that keys answer, in at most `rows_max` rows. `now_ms` is the time of day.
    pub(crate) fn question_rows(
        &self,
        columns: usize,
        rows_max: usize,
        now: Duration,
        now_ms: u64,
    ) -> Vec<Line> {
        let Some(question) = self.questions.waiting.get(self.questions.chosen) else {
            return Vec::new();
        };
        let mut keys = question.keys(self.language, now);
        let n_waiting = self.questions.waiting.len();
        if n_waiting > 1 {
            let place = format!("{}/{n_waiting}", self.questions.chosen + 1);
            keys.push(format!("Tab {} ({place})", self.language.say(ScreenText::NextQuestion)));
        }
        let in_one_row = format!("  {}", keys.join(" · "));
        let rows = if columns_of(&in_one_row) <= columns { vec![in_one_row] } else { keys };
        let mut below: Vec<Line> = rows
            .iter()
            .flat_map(|row| {
                Line::styled(&format!("  {}", row.trim()), Style::BOLD).wrapped(columns, 4)
            })
            .collect();
        let left = question.expires_at.saturating_sub(now_ms);
        if left < EXPIRY_TOLD_MS {
            let left = in_seconds(Duration::from_millis(left));
            let told = format!("  {} {left}", self.language.say(ScreenText::ExpiresIn));
            below.splice(0..0, Line::styled(&told, WARNING).wrapped(columns, 2));
        }
        let mut rows = question.lines(self.language, columns);
        let room = rows_max.saturating_sub(below.len());
        if rows.len() > room {
            rows.truncate(room.saturating_sub(1));
            let told = format!("  … {}", self.language.say(ScreenText::WholeAbove));
            rows.push(Line::styled(&fitted(&told, columns), Style::DIM));
            rows.truncate(room);
        }
        rows.extend(below);
        rows
    }

    /// The whole of the question, if it was not printed and is longer than `rows_max`.
    pub(crate) fn long_question(&mut self, columns: usize, rows_max: usize) -> Vec<Line> {
        let (chosen, language) = (self.questions.chosen, self.language);
        let Some(question) = self.questions.waiting.get_mut(chosen) else { return Vec::new() };
        let lines = question.lines(language, columns);
        if question.is_printed || lines.len() < rows_max {
            return Vec::new();
        }
        question.is_printed = true;
        std::iter::once(Line::default()).chain(lines).collect()
    }

    /// Takes a key that answers; every other one is for the input.
    pub(crate) fn question_key(&mut self, press: KeyPress, now: Duration) -> Option<QuestionStep> {
        let KeyPress { key, ctrl, alt, .. } = press;
        let questions = &mut self.questions;
        let n_waiting = questions.waiting.len();
        if key == Key::Tab && n_waiting > 1 {
            questions.chosen = (questions.chosen + 1) % n_waiting;
            return Some(QuestionStep::Chosen);
        }
        let question = questions.waiting.get(questions.chosen)?;
        let Key::Char(letter) = key else { return None };
        if ctrl || alt || !question.takes_keys(now) {
            return None;
        }
        let (answer, for_minutes) = match letter.to_ascii_lowercase() {
            'y' => (ApprovalAnswer::Allow, None),
            'n' => (ApprovalAnswer::Deny, None),
            'a' if question.offer.is_some() => (ApprovalAnswer::Allow, Some(STANDING_MINUTES)),
            _ => return None,
        };
        let approval_id = question.approval_id.clone();
        Some(QuestionStep::Answered(QuestionAnswer { approval_id, answer, for_minutes }))
    }

    /// An answer is on its way, as this event.
    pub(crate) fn answering(&mut self, approval_id: &str, decide_id: EventId) {
        self.questions.own.insert(decide_id);
        self.set_answered(approval_id, true);
    }

    /// An answer did not arrive. False if somebody else's has.
    pub(crate) fn not_answered(&mut self, approval_id: &str) -> bool {
        self.set_answered(approval_id, false);
        self.asks(approval_id)
    }

    fn set_answered(&mut self, approval_id: &str, is_answered: bool) {
        let asked = self.questions.waiting.iter_mut().find(|it| it.approval_id == approval_id);
        if let Some(question) = asked {
            question.is_answered = is_answered;
        }
    }

    /// Whether questions came of which it is not known what may be offered.
    pub(crate) fn take_wanted_offers(&mut self) -> bool {
        std::mem::take(&mut self.questions.wants_offers)
    }

    pub(crate) fn set_offers(&mut self, views: &[PendingApprovalView]) {
        for question in &mut self.questions.waiting {
            let is_meant = |view: &&PendingApprovalView| view.approval_id == question.approval_id;
            let view = views.iter().find(is_meant).filter(|_| !question.is_ruled);
            question.offer = view.and_then(|view| view.grant.as_deref().map(on_one_line));
        }
    }
}

/// What a reader would not see is spelled out, line ends too.
fn on_one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\r', "\\r")
}

fn style_of_diff(row: &str) -> Style {
    match row.as_bytes().first() {
        Some(b'+') => Style::coloured(Colour::Green),
        Some(b'-') => Style::coloured(Colour::Red),
        Some(b'@') => Style::coloured(Colour::Cyan),
        _ => Style::DIM,
    }
}

#[cfg(test)]
mod tests;
