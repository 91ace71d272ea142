//! Commands from the mailbox, written into the log.
//!
//! While an effect runs only events outside the conversation are written; what changes the
//! conversation waits until the effect has stopped.

use kith_sessions::desk::OPEN_ROW_BYTES_MAX;
use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::Body;
use kith_vocab::event::control::{
    CancelRequested, LeafMoved, LeafReason, Level, Queue, QueueItem, QueueUpdate,
};
use kith_vocab::event::models::{CompactRequested, ModelRef};
use kith_vocab::ids::LeafId;
use kith_vocab::provider::ModelUnavailable;

use super::SessionDriver;
use crate::command::{CommandAction, CommandAnswer, DriverCommand, QueueEdit};
use crate::engine::EngineError;
use crate::failure::SessionFailure;
use crate::mailbox::Mail;
use crate::session::{CLIENT_ID, EventSource};
use crate::turn::{self, find_model, items_of, remove_queued, turn_started};
use crate::words::NoticeText;

/// Whether the command wrote something.
pub(super) type WroteEvents = Result<bool, EngineError>;

impl SessionDriver {
    /// Takes everything that is in the mailbox.
    pub(super) async fn take_mail(&mut self) -> Result<(), SessionFailure> {
        self.read_rows().await?;
        // A branch that waits comes before whatever was sent after it.
        while self.branch.is_none()
            && let Some(mail) = self.mailbox.take_command()
        {
            self.perform(mail, EffectState::Idle).await?;
        }
        Ok(())
    }

    /// Takes what may be written while an effect runs. True if the effect should stop.
    pub(super) async fn take_mail_during_effect(&mut self) -> Result<bool, SessionFailure> {
        self.read_rows().await?;
        // What comes after a cancel begins a turn of its own.
        if self.session.state().turn.is_some() && !self.is_cancelled() {
            self.queue_rows();
        }
        while self.branch.is_none()
            && let Some(mail) = self.mailbox.take_command()
        {
            self.perform(mail, EffectState::Running).await?;
        }
        self.commit().await?;
        Ok(self.is_cancelled() || self.branch.is_some())
    }

    /// Whether what runs is to be stopped. Between turns only a compaction runs.
    fn is_cancelled(&self) -> bool {
        let state = self.session.state();
        match &state.turn {
            Some(turn) => turn.cancelled,
            None => state.compaction.request().is_none(),
        }
    }

    async fn perform(&mut self, mail: Mail, is_running: EffectState) -> Result<(), SessionFailure> {
        if let Some(answer) = self.answer_from_log(&mail.command).await? {
            mail.reply.send(Ok(answer)).ok();
            return Ok(());
        }
        if let CommandAction::Branch { expected_leaf, .. } = mail.command.action {
            if let Some(expected) = expected_leaf.filter(|it| !self.is_where_expected(*it)) {
                let present = self.session.state().leaf().into();
                let session_id = self.session.id();
                let conflict = EngineError::Conflict { session_id, expected, present };
                mail.reply.send(Err(conflict)).ok();
            } else {
                self.branch = Some(mail);
            }
            return Ok(());
        }
        if matches!(mail.command.action, CommandAction::Retry { .. } | CommandAction::TakeNext) {
            let may_begin = self.may_begin(&mail.command, is_running);
            if let Ok(true) = may_begin {
                // A turn begins when the thread's permit is held.
                self.beginning = Some(mail);
            } else {
                let answer = may_begin.map(|_| self.answer(&mail.command, false));
                mail.reply.send(answer).ok();
            }
            return Ok(());
        }
        let Mail { command, reply } = mail;
        match self.write(&command) {
            Ok(has_written) => {
                let answer = self.answer(&command, has_written);
                self.answers.push((reply, answer));
            }
            Err(error) => {
                reply.send(Err(error)).ok();
            }
        }
        if is_running == EffectState::Idle && self.session.state().turn.is_none() {
            self.commit().await?;
        }
        Ok(())
    }

    fn write(&mut self, command: &DriverCommand) -> WroteEvents {
        match &command.action {
            CommandAction::Cancel { key } => Ok(self.cancel(command, key.as_deref())),
            CommandAction::EditQueue { queue, edit } => self.edit_queue(command, *queue, edit),
            CommandAction::Decide(action) => self.decide_call(command, action),
            CommandAction::Compact { models } => self.request_compaction(command, models),
            // Within a turn the turn wants the summary, and only its end ends that.
            CommandAction::CancelCompaction if self.session.state().turn.is_some() => {
                Err(EngineError::TurnRunning { session_id: self.session.id() })
            }
            CommandAction::CancelCompaction => Ok(self.cancel_compaction(command)),
            CommandAction::Append(body) if body.is_tree() => {
                let what = "a command cannot write into the conversation".to_owned();
                Err(EngineError::InvalidCommand { what })
            }
            CommandAction::Append(body) => {
                self.session.stage_from(source(command), (**body).clone());
                Ok(true)
            }
            // They are dealt with before.
            CommandAction::Branch { .. }
            | CommandAction::Retry { .. }
            | CommandAction::TakeNext => Ok(false),
        }
    }

    fn request_compaction(&mut self, command: &DriverCommand, models: &[ModelRef]) -> WroteEvents {
        if self.session.state().conversation.finished().is_empty() {
            let what = "there is nothing to summarise: the model has not answered yet".to_owned();
            return Err(EngineError::InvalidCommand { what });
        }
        let (by, models) = (command.user_id.clone(), models.to_vec());
        let body = Body::CompactRequested(CompactRequested { by, models });
        self.session.stage_from(source(command), body);
        Ok(true)
    }

    fn cancel(&mut self, command: &DriverCommand, key: Option<&str>) -> bool {
        if let Some(key) = key {
            if let Some(place) = self.rows.iter().position(|row| row.key == key)
                && let Some(row) = self.rows.remove(place)
            {
                self.withdraw(&row.event, command.id);
                return true;
            }
            let fits = |item: &QueueItem| item.ingress_key.as_deref() == Some(key);
            if remove_queued(&mut self.session, source(command), fits) {
                return true;
            }
        }
        if key.is_none() && self.cancel_compaction(command) {
            return true;
        }
        let Some(turn) = self.session.state().turn.as_ref().filter(|turn| !turn.cancelled) else {
            return false;
        };
        // A client's Ctrl-C stops only the turn that its own message began.
        if key.is_some() && turn.message_key.as_deref() != key {
            return false;
        }
        self.resume_turn();
        let by = command.user_id.clone();
        self.session.stage_from(source(command), Body::CancelRequested(CancelRequested { by }));
        true
    }

    /// Cancels a summary that is wanted or made between two turns.
    fn cancel_compaction(&mut self, command: &DriverCommand) -> bool {
        let state = self.session.state();
        if state.turn.is_some() || state.compaction.wanted().is_none() {
            return false;
        }
        let by = command.user_id.clone();
        self.session.stage_from(source(command), Body::CancelRequested(CancelRequested { by }));
        true
    }

    /// The person has moved on to another session of the thread while this one waits for them.
    pub(super) fn cancel_for_another_session(&mut self) {
        let language = self.session.state().turn.as_ref().map_or("", |turn| &turn.language);
        let text = NoticeText::MovedToAnotherSession.in_language(language);
        self.session.stage_notice(text, Level::Info, None);
        let by = CLIENT_ID.to_owned();
        self.session.stage(Body::CancelRequested(CancelRequested { by }));
    }

    /// Whether there is a turn that the command can begin. Refuses while another is open.
    fn may_begin(&mut self, command: &DriverCommand, is_running: EffectState) -> WroteEvents {
        let session_id = self.session.id();
        if let Some(turn) = &self.session.state().turn
            && self.is_waiting_for_model
            && command.retries(turn.message_key.as_deref())
        {
            return match find_model(&*self.engine.models, &turn.models) {
                // Its model is back; the turn goes on by itself.
                Ok(_) => {
                    (self.is_waiting_for_model, self.is_cut_short) = (false, true);
                    Ok(false)
                }
                Err(ModelUnavailable { reason }) => {
                    self.give_up_turn(reason.clone());
                    Err(EngineError::ModelUnavailable { session_id, reason })
                }
            };
        }
        let state = self.session.state();
        let is_busy = is_running == EffectState::Running || self.beginning.is_some();
        if is_busy || state.turn.is_some() {
            return Err(EngineError::TurnRunning { session_id });
        }
        if !command.is_retry() {
            return Ok(!state.steers.is_empty() || !state.follow_ups.is_empty());
        }
        let Some(ended) = command.retried(state) else {
            return Err(EngineError::NothingToRetry { session_id });
        };
        let found = find_model(&*self.engine.models, &ended.models);
        found.map(|_| true).map_err(|ModelUnavailable { reason }| EngineError::ModelUnavailable {
            session_id,
            reason,
        })
    }

    /// Begins the turn that a command asks for, now that the thread's permit is held.
    pub(super) fn begin_by_command(&mut self, mail: Mail) -> Result<(), SessionFailure> {
        let Mail { command, reply } = mail;
        let state = self.session.state();
        let ended = command.retried(state).cloned();
        if state.turn.is_some() {
            // A message was quicker.
            let session_id = self.session.id();
            reply.send(Err(EngineError::TurnRunning { session_id })).ok();
            return Ok(());
        }
        let mut has_begun = ended.is_some();
        if let Some(ended) = ended {
            self.ctx = None;
            let ctx = self.context()?;
            self.session.start_clock();
            let attended = matches!(command.action, CommandAction::Retry { attended: true, .. });
            let body = turn_started(&ctx.setup, &*ctx.models, ended.models, attended, None);
            self.session.stage_from(source(&command), body);
        } else if !command.is_retry() {
            has_begun = self.take_follow_up_as(Some(command.id))?;
        }
        let answer = self.answer(&command, has_begun);
        self.answers.push((reply, answer));
        Ok(())
    }

    fn edit_queue(
        &mut self,
        command: &DriverCommand,
        queue: Queue,
        edit: &QueueEdit,
    ) -> WroteEvents {
        let mut items = items_of(&self.session, queue).to_vec();
        let (QueueEdit::Replace { item_id, .. }
        | QueueEdit::Remove { item_id, .. }
        | QueueEdit::Move { item_id, .. }) = edit;
        let seen = match edit {
            QueueEdit::Replace { updated_at, .. } => Some(*updated_at),
            QueueEdit::Remove { updated_at, .. } | QueueEdit::Move { updated_at, .. } => {
                *updated_at
            }
        };
        let Some(place) = items.iter().position(|item| item.id == *item_id) else {
            return Err(EngineError::NoQueueItem { item_id: item_id.clone() });
        };
        if seen.is_some_and(|seen| seen != items[place].updated_at) {
            return Err(EngineError::QueueItemChanged { item_id: item_id.clone() });
        }
        match edit {
            QueueEdit::Replace { content, .. } => {
                let is_media = |it: &Block| !matches!(it, Block::Text(_));
                let media: Vec<_> = items[place].content.drain(..).filter(is_media).collect();
                // What is edited is the text; attachments stay.
                items[place].content.extend(content.iter().cloned().chain(media));
                items[place].updated_at = self.session.now().max(items[place].updated_at + 1);
                // The queue is written whole, so that what could not be written would end the turn.
                let texts = items.iter().map(|item| plain_text(&item.content).len() as u64);
                let n_bytes: u64 = texts.sum();
                if n_bytes > OPEN_ROW_BYTES_MAX {
                    let what = format!(
                        "the waiting messages would have {n_bytes} bytes, and the maximum is \
                         {OPEN_ROW_BYTES_MAX}; shorten or remove some"
                    );
                    return Err(EngineError::InvalidCommand { what });
                }
            }
            QueueEdit::Remove { .. } => {
                items.remove(place);
            }
            QueueEdit::Move { to, .. } => {
                let item = items.remove(place);
                items.insert((*to).min(items.len()), item);
            }
        }
        self.session.stage_from(source(command), Body::QueueUpdate(QueueUpdate { queue, items }));
        Ok(true)
    }

    /// One batch: the end of the turn that is open, and the move.
    pub(super) async fn move_leaf(&mut self, mail: Mail) -> Result<(), SessionFailure> {
        let Mail { command, reply } = mail;
        let CommandAction::Branch { to, .. } = command.action else { return Ok(()) };
        self.resume_turn();
        turn::stop(&mut self.session, &command.user_id);
        if self.session.state().compaction.request().is_some() {
            let by = command.user_id.clone();
            self.session.stage(Body::CancelRequested(CancelRequested { by }));
        }
        let has_moved = LeafId::from(self.session.state().leaf()) != to;
        if has_moved {
            let moved = LeafMoved { to: to.event(), reason: LeafReason::Branch };
            self.session.stage_from(source(&command), Body::LeafMoved(moved));
        }
        let answer = CommandAnswer { leaf: to, ..self.answer(&command, has_moved) };
        self.answers.push((reply, answer));
        self.commit().await?;
        (self.ctx, self.permit) = (None, None);
        if self.session.state().needs_full_read {
            // The place was dropped after a compaction; the whole log has it.
            self.session = self.engine.load(self.session.id(), self.session.head()).await?;
        }
        Ok(())
    }

    fn answer(&self, command: &DriverCommand, has_written: bool) -> CommandAnswer {
        let state = self.session.state();
        CommandAnswer {
            event_id: has_written.then_some(command.id),
            leaf: state.leaf().into(),
            message_key: state.message_key().map(str::to_owned),
            follow_ups: state.follow_ups.clone(),
            steers: state.steers.clone(),
        }
    }

    /// The answer to a command that the log holds already.
    async fn answer_from_log(
        &mut self,
        command: &DriverCommand,
    ) -> Result<Option<CommandAnswer>, SessionFailure> {
        if !self.session.may_contain(command.id) {
            return Ok(None);
        }
        let found = self.engine.journal.find(self.session.id(), command.id).await?;
        Ok(found.map(|event| {
            let mut answer = self.answer(command, true);
            if let Body::LeafMoved(moved) = event.body {
                answer.leaf = moved.to.into();
            }
            answer
        }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EffectState {
    Running,
    Idle,
}

pub(super) fn source(command: &DriverCommand) -> EventSource<'_> {
    EventSource { id: Some(command.id), client_id: &command.client_id, ingress_key: None }
}
