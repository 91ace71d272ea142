//! Questions about calls, answered by a key. Words are messages, which the engine reads as answers.
//!
//! A key that answers is typed like any other. It counts when nothing follows it for a moment or
//! Enter does: `y` is a yes, and the beginning of "yes, but keep the tests" is none.

use std::sync::Arc;
use std::time::Duration;

use kith_host::calls::approval::{DecideApproval, ListApprovals};
use kith_host::clock::SystemClock;
use kith_host::error::{CallError, ErrorCode};
use kith_vocab::clock::Clock as _;
use kith_vocab::ids::EventId;
use tokio_util::sync::CancellationToken;

use super::conversation::{QuestionAnswer, QuestionStep, remark};
use super::keys::{Key, KeyPress, TerminalInput};
use super::{Incoming, TerminalChat};

/// How long nothing must follow a key that answers.
const PAUSE: Duration = Duration::from_millis(400);

/// An answer by a key that was typed just now.
pub(super) struct LetterAnswer {
    answer: QuestionAnswer,
    letter: char,
    since: Duration,
}

impl TerminalChat {
    /// Answers a question by a key. False if the key is for the input.
    pub(super) fn take_question_key(&mut self, input: &TerminalInput) -> bool {
        // Whatever follows a letter makes a word of it, but for Enter.
        let before = self.letter_answer.take();
        let TerminalInput::Key(press) = input else { return false };
        if let Some(before) = before
            && *press == KeyPress::plain(Key::Enter)
        {
            self.input.take_text();
            self.answer(before.answer);
            return true;
        }
        if !self.input.is_idle() {
            return false;
        }
        let now = self.opened.elapsed();
        match (self.conversation.question_key(*press, now), press.key) {
            (Some(QuestionStep::Answered(answer)), Key::Char(letter)) => {
                self.letter_answer = Some(LetterAnswer { answer, letter, since: now });
                false
            }
            (Some(QuestionStep::Chosen), _) => true,
            _ => false,
        }
    }

    /// Counts a letter that nothing has followed.
    pub(super) fn settle_answer(&mut self) {
        let now = self.opened.elapsed();
        let is_due = |it: &LetterAnswer| now >= it.since.saturating_add(PAUSE);
        let Some(due) = self.letter_answer.take_if(|it| is_due(it)) else { return };
        if !self.input.is_only(due.letter) {
            return;
        }
        self.input.take_text();
        // Somebody else may have been faster.
        if self.conversation.asks(&due.answer.approval_id) {
            self.answer(due.answer);
        }
    }

    fn answer(&mut self, answer: QuestionAnswer) {
        let QuestionAnswer { approval_id, answer, for_minutes } = answer;
        let decide_id = EventId::from_uuid(SystemClock.new_id());
        self.conversation.answering(&approval_id, decide_id);
        let call = DecideApproval {
            approval: Some(approval_id.clone()),
            session: self.conversation.session.map(|id| id.to_string()),
            decide_id,
            decision: answer,
            for_minutes,
            reason: None,
        };
        let client = Arc::clone(&self.client);
        self.spawn_any(async move {
            Ok(match client.follow(call, drop, CancellationToken::new()).await {
                Ok(told) => Incoming::Lines(told.notes.iter().map(|it| remark(it)).collect()),
                Err(error) => Incoming::NotAnswered(approval_id, error),
            })
        });
    }

    /// An error, unless somebody else was faster: then the question is gone and a line has said so.
    pub(super) fn not_answered(&mut self, approval_id: &str, error: &CallError) {
        let still_waits = self.conversation.not_answered(approval_id);
        if still_waits && error.code != ErrorCode::Conflict {
            self.tell(error);
        }
    }

    /// Asks what the engine offers with questions that have just come.
    pub(super) fn find_offers(&mut self) {
        if !self.conversation.take_wanted_offers() {
            return;
        }
        let Some(session) = self.conversation.session.map(|id| id.to_string()) else { return };
        let client = Arc::clone(&self.client);
        self.spawn_any(async move {
            let call = ListApprovals { session: Some(session), approval: None };
            // Without the list nothing is offered beyond yes and no.
            let told = client.call(call).await.map(|told| told.data.approvals);
            Ok(Incoming::Offers(told.unwrap_or_default()))
        });
    }
}
