//! Sends a message: accepts it, runs its turn to the end and reports the outcome. Cancels and retries
//! turns.

use std::sync::Arc;

use kith_engine::command::{CommandAction, DriverCommand};
use kith_engine::engine::{EngineError, RowFollower, RowProgress};
use kith_engine::feed::FeedItem;
use kith_engine::report::{MessageEnd, TurnReport};
use kith_sessions::desk::{AcceptOutcome, RowOutcome, RowStatus, RowTarget};
use kith_sessions::journal::NewBlob;
use kith_vocab::blocking::blocking;
use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::ModelRef;
use kith_vocab::header::Audience;
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::{IngressContent, IngressEvent};

use super::Host;
use crate::attachments::{AttachedFile, attachments_of};
use crate::call::{Delivery, Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::approval::PendingApprovalView;
use crate::calls::feed::TurnItem;
use crate::calls::message::{
    Acknowledgement, CancelTurn, CancelledTurn, MessageAnswer, MessageOutcome, MessageReply,
    MessageTarget, ModelName, RetryTurn, SendMessage, TurnEnd,
};
use crate::error::{CallError, ErrorCode, damage_in_words};
use crate::models::ChosenModel;
use crate::notes::HostNote;
use crate::settings::Settings;
use crate::words::short;

pub async fn send_message(
    host: Arc<Host>,
    caller: Caller,
    message: SendMessage,
    follower: Follower<TurnItem>,
) -> Reply<MessageReply> {
    let ack = message.ack;
    let AcceptedMessage { row, notes, .. } = host.accept_message(&caller, message).await?;
    match ack {
        Acknowledgement::Completed => host.answer_for(&caller, row, notes, follower).await,
        Acknowledgement::Accepted => {
            let language = host.language_for(&caller);
            let notes = notes.iter().map(|note| note.in_language(&language)).collect();
            Ok(Response { data: accepted_reply(&row), notes })
        }
    }
}

/// A message that is on the desk.
pub(super) struct AcceptedMessage {
    /// Whether it was not accepted before.
    pub(super) is_first: bool,
    pub(super) row: RowFollower,
    pub(super) notes: Vec<HostNote>,
}

pub async fn cancel_turn(
    host: Arc<Host>,
    caller: Caller,
    call: CancelTurn,
) -> Reply<CancelledTurn> {
    let session_id = host.reads.resolve(&call.session).await?;
    let action = CommandAction::Cancel { key: None };
    let answer = host.command(&caller, session_id, call.cancel_id, action).await?;
    Ok(Response::new(CancelledTurn { session_id, was_running: answer.event_id.is_some() }))
}

pub async fn retry_turn(
    host: Arc<Host>,
    caller: Caller,
    call: RetryTurn,
    follower: Follower<TurnItem>,
) -> Reply<MessageReply> {
    let session_id = host.reads.resolve(&call.session).await?;
    let has_open_rows = !host.desk.open_rows(session_id).await?.is_empty();
    let action = CommandAction::Retry { key: None, attended: caller.attended };
    let key = match host.command(&caller, session_id, call.retry_id, action).await {
        Ok(answer) => answer.message_key,
        // What was cut short goes on by itself once the session is open.
        Err(EngineError::TurnRunning { .. }) => None,
        Err(EngineError::NothingToRetry { .. }) if has_open_rows => None,
        Err(error) => return Err(error.into()),
    };
    let row = match key {
        Some(key) => Some(host.engine.follow_key(session_id, &key).await?),
        None => host.engine.follow_last_row(session_id).await?,
    };
    let Some(row) = row else {
        return Err(EngineError::NothingToRetry { session_id }.into());
    };
    host.engine.wake(session_id);
    let notes = host.take_start_notes();
    host.answer_for(&caller, row, notes, follower).await
}

fn is_failed(accepted: &AcceptOutcome) -> bool {
    matches!(accepted.status, RowStatus::Closed { outcome: RowOutcome::Failed, .. })
}

/// What came of the message; refused if it was meant for another place of the conversation.
fn reply_of(
    report: TurnReport,
    questions: &[PendingApprovalView],
    language: &str,
) -> Result<MessageReply, CallError> {
    if let MessageEnd::Declined(leaf) = report.end {
        let message =
            format!("the message was not sent: the conversation has moved on to `{leaf}`");
        return Err(CallError::request(ErrorCode::Conflict, message).hint(format!(
            "`kith session show {}` shows what is new; send it again with `--expected-leaf \
             {leaf}`, or without",
            short(report.session_id)
        )));
    }
    let outcome = outcome_of(&report, questions, language);
    Ok(MessageReply { answer: answer_of(report), outcome })
}

/// What a message is accepted with, apart from where it goes.
pub(super) struct CheckedMessage {
    settings: Arc<Settings>,
    chosen: ChosenModel,
    files: Vec<AttachedFile>,
}

impl Host {
    /// Refuses a message that could not be answered: its model, its files.
    pub(super) fn check_message(&self, message: &SendMessage) -> Result<CheckedMessage, CallError> {
        let settings = self.settings.current()?;
        let chosen = self.models.choose(message.model.as_deref(), &settings)?;
        if chosen.name != message.expects {
            return Err(other_model(&chosen.name, &message.expects));
        }
        let files = attachments_of(message, chosen.refs.first().map(|it| it.wire))?;
        Ok(CheckedMessage { settings, chosen, files })
    }

    /// Accepts a message once and starts its session. When this returns `Ok`, it will be answered.
    pub(super) async fn accept_message(
        &self,
        caller: &Caller,
        mut message: SendMessage,
    ) -> Result<AcceptedMessage, CallError> {
        // Before the message is accepted: without settings or a model it could only be kept waiting.
        let CheckedMessage { settings, chosen, files } = self.check_message(&message)?;
        let mut notes = self.take_start_notes();
        notes.extend(chosen.passed_over);
        let (agent_id, target, audience) = self.target(&settings, &mut message, &mut notes).await?;
        let mut event = self.ingress(caller, message, agent_id, audience, chosen.refs);
        let (media, blobs) =
            files.into_iter().map(|it| (it.media, NewBlob::Bytes(it.bytes))).unzip();
        let IngressContent::Text { attachments, .. } = &mut event.content;
        *attachments = media;
        blocking(|| self.store.create_folders());
        self.require_lock()?;
        let accepted = self.engine.accept_with(&event, target, blobs).await?;
        let (session_id, is_open) = (accepted.session_id, accepted.status.is_open());
        let is_first = accepted.first;
        let row = self.follow_accepted(caller, accepted, &mut notes).await;
        // It is accepted, so it is answered whether or not it can be followed.
        if row.as_ref().map_or(is_open, |row| !row.is_closed()) {
            self.engine.wake(session_id);
        }
        Ok(AcceptedMessage { is_first, row: row?, notes })
    }

    /// Follows a message that was accepted now or before. One whose turn failed is taken up again
    /// when it is sent again.
    async fn follow_accepted(
        &self,
        caller: &Caller,
        mut accepted: AcceptOutcome,
        notes: &mut Vec<HostNote>,
    ) -> Result<RowFollower, CallError> {
        let session_id = accepted.session_id;
        if let Err(error) = self.note_generation(accepted.generation) {
            // The next message tries again.
            notes.push(HostNote::Told(error.message()));
        }
        if is_failed(&accepted) && self.retry(caller, session_id, &accepted.event.key).await? {
            accepted.status = RowStatus::Open { session_id };
        }
        notes.extend(self.note_on_unfinished(&accepted).await?);
        Ok(self.engine.follow_row(&accepted).await?)
    }

    /// Follows a message to its end and tells what came of it.
    pub(super) async fn answer_for(
        &self,
        caller: &Caller,
        row: RowFollower,
        mut notes: Vec<HostNote>,
        follower: Follower<TurnItem>,
    ) -> Reply<MessageReply> {
        let session_id = row.session_id();
        let language = self.language_for(caller);
        // Said at once: the person waits for it.
        let waits = |note: &HostNote| matches!(note, HostNote::AnsweredFirst { .. });
        for note in notes.extract_if(.., |note| waits(note)) {
            follower.send(TurnItem::Note(note.in_language(&language))).await.ok();
        }
        let report = self.follow_to_end(caller, row, follower).await?;
        notes.extend(self.setup.take_problems().into_iter().map(HostNote::Told));
        notes.extend(self.threads.take_failure().map(|error| {
            let why = CallError::from(error).message();
            HostNote::ThreadFileFailed { why }
        }));
        if report.session_id != session_id {
            notes.push(self.moved(session_id, report.session_id).await?);
        }
        let notes = notes.iter().map(|note| note.in_language(&language)).collect();
        let questions = match report.end {
            MessageEnd::Waiting => self.reads.pending_approvals(Some(report.session_id)).await?,
            _ => Vec::new(),
        };
        Ok(Response { data: reply_of(report, &questions, &language)?, notes })
    }

    /// Passes on what happens in the message's turn until its author need wait no longer. A
    /// client that stops concerns its own message: one that waits is taken back, its running turn
    /// is cancelled.
    async fn follow_to_end(
        &self,
        caller: &Caller,
        mut row: RowFollower,
        follower: Follower<TurnItem>,
    ) -> Result<TurnReport, CallError> {
        let mut is_stopped = false;
        loop {
            let was_in_turn = row.is_in_turn();
            let progress = tokio::select! {
                biased;
                progress = row.next() => progress?,
                () = follower.cancel.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    let action = CommandAction::Cancel { key: Some(row.key().to_owned()) };
                    self.command(caller, row.session_id(), self.new_event_id(), action).await?;
                    continue;
                }
            };
            let item = match progress {
                RowProgress::Settled(report) => return Ok(report),
                RowProgress::Item(item) => item,
            };
            // What belongs to other messages is for those who follow the session.
            if !was_in_turn && !row.is_in_turn() {
                continue;
            }
            match item {
                FeedItem::Event(event) => {
                    // One that cannot be sent can be read in the session.
                    let item = TurnItem::Event(Box::new((*event).clone()));
                    follower.send(item).await.ok();
                }
                FeedItem::Delta(delta) => {
                    follower.push(TurnItem::Delta((&*delta).into()), Delivery::IfRoom).ok();
                }
                FeedItem::Running(answer) => {
                    follower.push(TurnItem::running(answer), Delivery::IfRoom).ok();
                }
                FeedItem::Failed(_) | FeedItem::Moved { .. } | FeedItem::Removed => (),
            }
        }
    }

    /// What an earlier host left in the session is dealt with before the message.
    async fn note_on_unfinished(
        &self,
        accepted: &AcceptOutcome,
    ) -> Result<Option<HostNote>, CallError> {
        let rows = self.desk.open_rows(accepted.session_id).await?;
        let is_left = rows
            .iter()
            .any(|row| row.key != accepted.event.key && row.accepted_at < self.started_at);
        let session = short(accepted.session_id);
        Ok(is_left.then_some(HostNote::AnsweredFirst { session }))
    }

    /// Gives a session a command of this caller.
    pub(super) async fn command(
        &self,
        caller: &Caller,
        session_id: SessionId,
        id: EventId,
        action: CommandAction,
    ) -> Result<kith_engine::command::CommandAnswer, EngineError> {
        // What a person has just changed counts for the turn that they retry.
        blocking(|| self.settings.newest());
        let (client_id, user_id) = (caller.client_id.clone(), caller.user.user_id.clone());
        self.engine.command(session_id, DriverCommand { id, client_id, user_id, action }).await
    }

    pub(super) fn new_event_id(&self) -> EventId {
        EventId::from_uuid(self.clock.new_id())
    }

    /// Takes the message's turn up again. False if it is not the last one of its session, or cannot
    /// be taken up: then the first answer is given again.
    async fn retry(
        &self,
        caller: &Caller,
        session_id: SessionId,
        key: &str,
    ) -> Result<bool, CallError> {
        let id = self.new_event_id();
        let action = CommandAction::Retry { key: Some(key.to_owned()), attended: caller.attended };
        match self.command(caller, session_id, id, action).await {
            Ok(_) => Ok(true),
            Err(
                EngineError::NothingToRetry { .. }
                | EngineError::TurnRunning { .. }
                | EngineError::ModelUnavailable { .. },
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whom the message is for, and where it goes. Refuses what could not begin, before it is
    /// accepted: a message that was refused must not be answered some other day.
    async fn target(
        &self,
        settings: &Settings,
        message: &mut SendMessage,
        notes: &mut Vec<HostNote>,
    ) -> Result<(String, RowTarget, Audience), CallError> {
        let named = message.agent_id.as_deref();
        if let MessageTarget::Session(session) = &message.target {
            let id = self.reads.resolve(session).await?;
            // A session never changes its thread, whatever folder it is spoken to from, nor whose
            // it is or who can read it.
            let header = self.journal.header(id).await;
            let header = header.map_err(|error| CallError::of_session(id, error))?;
            if named.is_some_and(|named| named != header.agent_id) {
                return Err(of_another_agent(id, &header.agent_id));
            }
            settings.team.member(&header.agent_id)?;
            message.thread_id = header.thread_id;
            return Ok((header.agent_id, RowTarget::Session(id), header.audience));
        }
        let member = settings.team.choose(named)?;
        let agent_id = member.id.clone();
        message.thread_id = self.reads.thread_in_use(&agent_id, message.thread_id.clone()).await?;
        let audience = self.audience(&agent_id, &message.thread_id).await?;
        let mut target = RowTarget::New;
        if message.target == MessageTarget::Current {
            let current = self.desk.current_session(&agent_id, &message.thread_id).await?;
            match current {
                Some(id) if self.journal.exists(id).await? => {
                    return Ok((agent_id, RowTarget::Current, audience));
                }
                Some(id) if self.desk.head(id).await?.is_some() => {
                    notes.push(HostNote::StartsOver { session: short(id) });
                }
                // There is none yet, or it was chosen and never begun.
                _ => target = RowTarget::Current,
            }
        }
        let (cwd, now) = (message.cwd.as_ref(), self.clock.now());
        self.setup.check(member, cwd, audience, now)?;
        Ok((agent_id, target, audience))
    }

    async fn moved(&self, from: SessionId, to: SessionId) -> Result<HostNote, CallError> {
        let problem = match self.reads.damage_of(from).await? {
            Some(damage) => damage_in_words(&damage),
            None => "is read-only".to_owned(),
        };
        Ok(HostNote::Moved { session: short(from), problem, to: short(to) })
    }

    fn ingress(
        &self,
        caller: &Caller,
        message: SendMessage,
        agent_id: String,
        audience: Audience,
        models: Vec<ModelRef>,
    ) -> IngressEvent {
        IngressEvent {
            key: caller.message_key(&message.client_message_id),
            agent_id,
            thread_id: message.thread_id,
            audience,
            client_id: caller.client_id.clone(),
            author: caller.user.clone(),
            trust: caller.trust,
            ingress: caller.ingress(message.client_message_id),
            ts: self.clock.now(),
            cwd: message.cwd,
            expected_leaf: message.expected_leaf,
            running_behavior: message.running_behavior,
            models,
            attended: caller.attended,
            language: caller.language.clone(),
            content: IngressContent::text(message.text),
        }
    }
}

fn of_another_agent(session: SessionId, agent_id: &str) -> CallError {
    let session = short(session);
    let message = format!("session {session} belongs to the agent `{agent_id}`");
    CallError::request(ErrorCode::Conflict, message)
        .hint(format!("omit `--agent`, or use `--agent {agent_id}`"))
}

/// `there` is what would be asked by the host, `here` what its client has in mind.
fn other_model(there: &ModelName, here: &ModelName) -> CallError {
    let is_same = (&there.provider, &there.model) == (&here.provider, &here.model);
    let difference = if is_same {
        "but here that model has a different address".to_owned()
    } else {
        format!("but this command is configured for `{}` of {}", here.model, here.provider)
    };
    let message = format!(
        "the kith running in this house uses the model `{}` of {}, {difference}",
        there.model, there.provider
    );
    CallError::request(ErrorCode::Conflict, message)
        .hint("quit the other kith, or start both with the same settings and keys")
}

fn outcome_of(
    report: &TurnReport,
    questions: &[PendingApprovalView],
    language: &str,
) -> MessageOutcome {
    let or_unknown =
        |why: &Option<String>, unknown: &str| why.clone().unwrap_or_else(|| unknown.to_owned());
    match report.end {
        MessageEnd::Done => MessageOutcome::Answered,
        MessageEnd::Cancelled => MessageOutcome::Cancelled,
        MessageEnd::Removed => MessageOutcome::Withdrawn,
        MessageEnd::Failed => {
            let unknown = "the turn was interrupted too many times";
            MessageOutcome::Failed(or_unknown(&report.failure, unknown))
        }
        MessageEnd::Bound(_) => {
            let unknown = "The turn stopped at one of its limits.";
            MessageOutcome::Stopped(or_unknown(&report.notice, unknown))
        }
        MessageEnd::Waiting => {
            let questions: Vec<&str> = questions.iter().map(|it| it.question.as_str()).collect();
            let waits = HostNote::WaitsForApproval.in_language(language);
            let told = report.notice.clone().filter(|_| questions.is_empty()).unwrap_or(waits);
            MessageOutcome::Stopped(if questions.is_empty() {
                told
            } else {
                questions.join("\n\n")
            })
        }
        MessageEnd::Held => {
            MessageOutcome::Stopped(HostNote::WaitsBehindFailure.in_language(language))
        }
        MessageEnd::Declined(_) | MessageEnd::Unknown => {
            MessageOutcome::Failed(HostNote::NoAnswer.in_language(language))
        }
    }
}

/// The answer to a client that waits no longer than until its message is on the desk.
fn accepted_reply(row: &RowFollower) -> MessageReply {
    let report = row.report();
    let answer = MessageAnswer {
        leaf: None,
        text: String::new(),
        usage: Usage::default(),
        stop_reason: None,
        end: TurnEnd::Accepted,
        bound: None,
        pending_approvals: Vec::new(),
        ..answer_of(report)
    };
    MessageReply { answer, outcome: MessageOutcome::Accepted }
}

fn answer_of(report: TurnReport) -> MessageAnswer {
    let bound = match report.end {
        MessageEnd::Bound(bound) => bound,
        _ => None,
    };
    MessageAnswer {
        session_id: report.session_id,
        thread_id: report.thread_id,
        leaf: report.leaf,
        text: report.text,
        usage: report.usage,
        stop_reason: report.stop_reason,
        end: TurnEnd::from(report.end),
        bound,
        pending_approvals: report.pending_approvals.into_iter().map(|it| it.approval_id).collect(),
    }
}

#[cfg(test)]
pub(super) mod tests;
