//! Messages on their way from the desk into the log.
//!
//! What a message does is decided as its line is written: with nothing open it begins a turn, with
//! a turn open it waits in a queue or steers.

use kith_sessions::desk::{InboxRow, WakeupReason};
use kith_sessions::storage::StorageError;
use kith_vocab::event::Body;
use kith_vocab::event::control::{EndReason, Level, Notice};
use kith_vocab::ids::{CallId, EventId, LeafId};
use kith_vocab::ingress::{IngressEvent, RunningBehavior};

use super::{DRIVER_WAIT_MS_MAX, SessionDriver};
use crate::failure::SessionFailure;
use crate::session::EventSource;
use crate::state::calls::CallStage;
use crate::step::{Ending, RETRY_AHEAD_MS_MAX, Step, decide};
use crate::turn::{self, NewTurn, find_model};
use crate::words::NoticeText;

impl SessionDriver {
    /// Reads the rows of the session from the desk, if some were announced.
    pub(super) async fn read_rows(&mut self) -> Result<(), StorageError> {
        if self.mailbox.take_rows_flag() {
            let rows = self.engine.desk.open_rows(self.session.id()).await?;
            self.session.confirm_open_rows(&rows);
            self.keep_new_rows(rows);
            self.note_turn_without_row().await?;
        }
        Ok(())
    }

    /// A turn that was taken up again has no open row by which the next host would find it, should
    /// this one be lost. So the session is looked at again and again while it is open, and seldom
    /// while its model cannot be asked.
    pub(super) async fn note_turn_without_row(&mut self) -> Result<(), StorageError> {
        let turn = self.session.state().turn.as_ref();
        let runs = turn.is_some_and(|turn| turn.keys.is_empty() && !turn.calls.any_asked());
        if runs {
            let wait =
                if self.is_waiting_for_model { RETRY_AHEAD_MS_MAX } else { DRIVER_WAIT_MS_MAX };
            let time = self.session.now().saturating_add(wait);
            self.set_wakeup(time, WakeupReason::SessionRetry).await?;
        } else {
            self.engine.forget_due_retry(self.session.id()).await?;
        }
        Ok(())
    }

    /// Notes when an unanswered question expires, so that it does without a waiting driver.
    pub(super) async fn note_expiry(&mut self, call_id: CallId) -> Result<(), StorageError> {
        let turn = self.session.state().turn.as_ref();
        let stage = turn.and_then(|turn| turn.calls.get(call_id)).map(|it| &it.stage);
        if let Some(CallStage::Asked { expires_at, .. }) = stage {
            let time = *expires_at;
            self.set_wakeup(time, WakeupReason::ApprovalExpiry).await?;
        }
        Ok(())
    }

    /// Keeps the rows that the log does not hold.
    pub(super) fn keep_new_rows(&mut self, rows: Vec<InboxRow>) {
        let new = rows.into_iter().filter(|row| !self.session.has_row(&row.key));
        self.rows = new.collect();
    }

    /// Whether a row can begin a turn: at least one that waits names a model that can be asked from
    /// here. Otherwise all of them are left to a host that can.
    pub(super) fn can_say_rows(&self) -> bool {
        self.rows.iter().any(|row| find_model(&*self.engine.models, &row.event.models).is_ok())
    }

    /// Why what waits here is left to a host that can ask its model.
    pub(super) fn missing_model(&self) -> Option<String> {
        let turn = self.session.state().turn.as_ref().filter(|_| self.is_waiting_for_model);
        let models = match (turn, self.rows.front()) {
            (Some(turn), _) => &turn.models,
            (None, Some(row)) => &row.event.models,
            (None, None) => return None,
        };
        find_model(&*self.engine.models, models).err().map(|unavailable| unavailable.reason)
    }

    /// Writes the rows that can be written now.
    pub(super) fn take_rows(&mut self) -> Result<(), SessionFailure> {
        if self.rows.is_empty() {
            return Ok(());
        }
        if self.is_waiting_for_model {
            if !self.can_say_rows() {
                return Ok(());
            }
            let models = self.session.state().turn.as_ref().map(|turn| turn.models.clone());
            let found = find_model(&*self.engine.models, &models.unwrap_or_default());
            match found {
                Ok(_) => (self.is_waiting_for_model, self.is_cut_short) = (false, true),
                Err(unavailable) => self.give_up_turn(unavailable.reason),
            }
            return Ok(());
        }
        if self.session.state().turn.is_some() {
            // The queue of a turn that is about to end early would be held.
            let step = decide(self.session.state(), self.session.now());
            let ends_early =
                matches!(step, Step::EndTurn(Ending { reason, .. }) if reason != EndReason::Done);
            if !ends_early {
                self.queue_rows();
            }
            return Ok(());
        }
        // Without the permit it stays a row: another session of the thread may be talking.
        if self.permit.is_none() || !self.can_say_rows() {
            return Ok(());
        }
        while let Some(row) = self.rows.pop_front() {
            if let Some(present) = self.conflict(&row.event) {
                self.decline(&row.event, present);
                continue;
            }
            self.begin_turn(NewTurn::from(row.event))?;
            // What else waits came while this turn was about to run.
            self.queue_rows();
            return Ok(());
        }
        Ok(())
    }

    /// With a turn open, messages wait in a queue.
    pub(super) fn queue_rows(&mut self) {
        let mut joining = Vec::new();
        while let Some(row) = self.rows.pop_front() {
            match self.conflict(&row.event) {
                Some(present) => self.decline(&row.event, present),
                None if self.take_reply(&row.event) => (),
                None => joining.push(row.event),
            }
        }
        if !joining.is_empty() {
            turn::queue_messages(&mut self.session, &joining);
            self.explain_wait(&joining);
        }
    }

    /// Where the conversation ends, if the message expects it elsewhere. The progress of the open
    /// turn is no conflict.
    fn conflict(&self, event: &IngressEvent) -> Option<LeafId> {
        let present = self.session.state().leaf().into();
        let expected = event.expected_leaf?;
        (!self.is_where_expected(expected)).then_some(present)
    }

    pub(super) fn is_where_expected(&self, expected: LeafId) -> bool {
        let state = self.session.state();
        if LeafId::from(state.leaf()) == expected {
            return true;
        }
        let Some(turn) = &state.turn else { return false };
        for event in state.tree.from_leaf() {
            if expected == LeafId::Event(event.id) {
                return true;
            }
            if event.id == turn.began_with {
                break;
            }
        }
        false
    }

    /// Says in place of the message why it is not said. The row's key stands in the log then, so
    /// that a later delivery, or another process after a crash, comes to the same end.
    fn decline(&mut self, event: &IngressEvent, present: LeafId) {
        let about = Some(present.to_string());
        self.stage_notice(event, NoticeText::NotSent, about, None);
    }

    /// Takes back a message that waits, because its author does not want it said any more.
    pub(super) fn withdraw(&mut self, event: &IngressEvent, id: EventId) {
        self.stage_notice(event, NoticeText::Withdrawn, None, Some(id));
    }

    fn stage_notice(
        &mut self,
        event: &IngressEvent,
        text: NoticeText<'_>,
        about: Option<String>,
        id: Option<EventId>,
    ) {
        let text = text.in_language(event.language.as_deref().unwrap_or_default());
        let notice = Notice { text: text.into(), level: Level::Warn, about };
        let source = EventSource { id, client_id: &event.client_id, ingress_key: Some(&event.key) };
        self.session.stage_from(source, Body::Notice(notice));
    }

    fn explain_wait(&mut self, queued: &[IngressEvent]) {
        let Some(turn) = &self.session.state().turn else { return };
        let is_follow_up = |it: &IngressEvent| it.running_behavior == RunningBehavior::FollowUp;
        if turn.calls.any_asked() && queued.iter().any(is_follow_up) {
            let text = NoticeText::QueuedBehindApproval.in_language(&turn.language);
            self.session.stage_notice(text, Level::Info, None);
        }
    }
}
