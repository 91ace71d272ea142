//! The task that owns a session while it is active.
//!
//! The driver is the only writer of its session. It decides, starts one effect, and then waits for
//! that effect or for its mailbox, whichever comes first. That is why a person can steer or cancel
//! from anywhere while the model is still talking: a command never waits for the turn, and an effect
//! never holds the session. When there is nothing to do the driver ends; the next message or
//! command starts another.

mod approvals;
mod commands;
mod effect;
mod opening;
mod rows;
mod turns;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt;
use kith_sessions::desk::{InboxRow, Wakeup, WakeupReason};
use kith_sessions::storage::StorageError;
use kith_vocab::clock::BoxFuture;
use kith_vocab::ids::SessionId;

use crate::command::CommandAnswer;
use crate::engine::EngineShared;
use crate::failure::SessionFailure;
use crate::mailbox::{Mail, Mailbox};
use crate::permits::TurnPermit;
use crate::registry::{IdleSession, NewDriver};
use crate::session::Session;
use crate::step::{Step, Wait, decide};
use crate::turn::{self, Action, TurnContext};
use crate::wakeups::wakeup_key;

/// More steps than any honest turn takes: a backstop behind the turn's own limits.
pub const DRIVE_STEPS_MAX: usize = 10_000;
/// Longer waits are rows of the desk, which outlive the host.
pub const DRIVER_WAIT_MS_MAX: u64 = 60_000;

pub(crate) struct SessionDriver {
    engine: Arc<EngineShared>,
    mailbox: Mailbox,
    session: Session,
    /// Rows of the desk that the log does not hold yet, in the order of their acceptance.
    rows: VecDeque<InboxRow>,
    permit: Option<TurnPermit>,
    /// A place in the line for the thread's permit.
    waiting: Option<BoxFuture<'static, Option<TurnPermit>>>,
    /// Setup and models of the open turn; looked up when it begins or is resumed.
    ctx: Option<Arc<TurnContext>>,
    /// A branch that waits for the running effect to stop.
    branch: Option<Mail>,
    /// A command that begins a turn and waits for the thread's permit.
    beginning: Option<Mail>,
    /// The open turn names models that cannot be asked from here.
    is_waiting_for_model: bool,
    /// The open turn was cut short, and is resumed when the thread's permit is held: waiting for
    /// that does not count against its time.
    is_cut_short: bool,
    /// Commands whose events are staged; they are answered when these are durable.
    answers: Vec<(crate::mailbox::CommandReply, CommandAnswer)>,
    n_steps: usize,
}

/// Drives the session until there is nothing to do, and deals with its failure.
pub(crate) async fn run(engine: Arc<EngineShared>, id: SessionId, new: NewDriver) {
    let driving = drive(Arc::clone(&engine), id, new);
    let ended = std::panic::AssertUnwindSafe(driving).catch_unwind().await;
    let failure = match ended {
        Ok(Ok(())) => return,
        Ok(Err(failure)) => failure,
        Err(_) => SessionFailure::Panicked,
    };
    engine.close_log(id);
    let feed = engine.feed.session(id);
    // Its rows stay open, so it is opened again while the host lives.
    if let Some(wait) = engine.registry.fail(id, || feed.fail(failure.clone())) {
        engine.reopen_later(id, wait, &failure);
    }
}

async fn drive(
    engine: Arc<EngineShared>,
    id: SessionId,
    new: NewDriver,
) -> Result<(), SessionFailure> {
    let NewDriver { mailbox, idle } = new;
    let Some(mut driver) = opening::start(engine, id, mailbox, idle).await? else { return Ok(()) };
    loop {
        if !driver.advance().await? {
            continue;
        }
        match driver.end().await? {
            None => return Ok(()),
            Some(again) => driver = again,
        }
    }
}

impl SessionDriver {
    /// Takes one step. True if there is nothing to do until something comes.
    async fn advance(&mut self) -> Result<bool, SessionFailure> {
        if !self.session.has_staged() {
            self.take_mail().await?;
        }
        if let Some(mail) = self.branch.take() {
            return self.move_leaf(mail).await.map(|()| false);
        }
        // Messages that wait when a turn is resumed join it before its next request.
        if !self.is_cut_short && (!self.session.has_staged() || self.n_steps == 0) {
            self.take_rows()?;
        }
        if self.is_waiting_for_model {
            self.commit().await?;
            return Ok(true);
        }
        if self.needs_permit() {
            self.take_permit().await?;
            return Ok(false);
        }
        if self.is_cut_short {
            self.resume_turn();
            return Ok(false);
        }
        if let Some(mail) = self.beginning.take() {
            self.begin_by_command(mail)?;
            self.note_turn_without_row().await?;
        }
        let step = decide(self.session.state(), self.session.now());
        if step == Step::Rest {
            self.commit().await?;
            return Ok(true);
        }
        self.count_step()?;
        let ctx = self.context()?;
        match turn::perform(&mut self.session, &ctx, step).await? {
            Action::Staged => (),
            Action::Start(effect) => self.run_effect(&ctx, effect).await?,
            Action::TakeFollowUp => self.take_follow_up()?,
            Action::Wait(wait) => return self.wait(wait).await,
            Action::Rest => return Ok(true),
        }
        if self.session.state().turn.is_none() {
            self.end_turn().await?;
        }
        Ok(false)
    }

    async fn wait(&mut self, wait: Wait) -> Result<bool, SessionFailure> {
        self.commit().await?;
        match wait {
            Wait::Until(time) => {
                let ahead = time.saturating_sub(self.session.now());
                if ahead > DRIVER_WAIT_MS_MAX {
                    self.set_wakeup(time, WakeupReason::ModelRetry).await?;
                    return Ok(true);
                }
                let clock = Arc::clone(&self.engine.clock);
                tokio::select! {
                    biased;
                    () = self.mailbox.wait() => (),
                    () = clock.sleep(ahead) => (),
                }
                Ok(false)
            }
            Wait::Approval(call_id) => {
                self.note_expiry(call_id).await?;
                let is_wanted = self.permit.as_mut().is_some_and(TurnPermit::wait_for_person);
                if is_wanted {
                    self.cancel_for_another_session();
                    return Ok(false);
                }
                Ok(true)
            }
            // Whatever was open when the session was opened was cut short, and the log says so.
            Wait::Running => Err(SessionFailure::Panicked),
        }
    }

    /// Writes the staged events, closes finished rows on the desk, publishes, and answers
    /// commands.
    async fn commit(&mut self) -> Result<(), StorageError> {
        let written = self.session.write().await?;
        self.keep_grants(&written).await?;
        let has_settled = self.session.has_settled_rows();
        if let Some(head) = self.session.head()
            && (has_settled || (!written.is_empty() && self.session.state().turn.is_none()))
        {
            let (id, now) = (self.session.id(), self.engine.clock.now());
            let settled = self.session.rows_to_close();
            // Before publishing: a client that answers at once then finds the head of the log on the
            // desk, and the log need not be read.
            self.engine.desk.close(settled, id, head, now).await?;
        }
        self.update_approval_files(&written);
        self.session.publish(written);
        for (reply, answer) in self.answers.drain(..) {
            // A client that has gone away no longer needs the answer.
            reply.send(Ok(answer)).ok();
        }
        Ok(())
    }

    /// After a turn: releases the thread's permit, and drops events that are not needed.
    async fn end_turn(&mut self) -> Result<(), SessionFailure> {
        (self.ctx, self.n_steps) = (None, 0);
        // The next message of the queue goes into the batch that ends the turn before it, unless
        // another session of the thread has been waiting.
        let takes_next = decide(self.session.state(), self.session.now()) == Step::TakeFollowUp;
        let is_wanted = self.permit.as_ref().is_some_and(TurnPermit::is_wanted);
        if takes_next && !is_wanted {
            return Ok(());
        }
        self.commit().await?;
        self.permit = None;
        Ok(())
    }

    /// Whether a turn is open or about to begin, and the thread's permit is not held.
    fn needs_permit(&self) -> bool {
        let state = self.session.state();
        let wants_turn = state.turn.is_some()
            || self.beginning.is_some()
            || self.can_say_rows()
            || decide(state, self.session.now()) == Step::TakeFollowUp;
        self.permit.is_none() && wants_turn
    }

    /// Waits for the thread's permit or for mail.
    async fn take_permit(&mut self) -> Result<(), SessionFailure> {
        let thread = self.session.thread();
        let mut waiting = self.waiting.take().unwrap_or_else(|| {
            let waiting = self.engine.permits.acquire(&thread, self.session.id());
            self.engine.cancel_waiting_turn(&thread, self.session.id());
            Box::pin(waiting)
        });
        // One that is free is not waited for, so nothing need be durable before it.
        if let Some(permit) = (&mut waiting).now_or_never() {
            self.permit = permit;
            return Ok(());
        }
        self.commit().await?;
        tokio::select! {
            biased;
            permit = &mut waiting => self.permit = permit,
            // It keeps its place in the line.
            () = self.mailbox.wait() => self.waiting = Some(waiting),
        }
        Ok(())
    }

    fn count_step(&mut self) -> Result<(), SessionFailure> {
        self.n_steps += 1;
        if self.n_steps > DRIVE_STEPS_MAX {
            return Err(SessionFailure::TooManySteps { max: DRIVE_STEPS_MAX });
        }
        Ok(())
    }

    /// Has the session looked at again at a time by its own clock.
    async fn set_wakeup(&mut self, time: u64, reason: WakeupReason) -> Result<(), StorageError> {
        let session_id = self.session.id();
        // The desk goes by the wall clock, which may have been put right since the turn began.
        let at = self.engine.clock.now().saturating_add(time.saturating_sub(self.session.now()));
        let key = wakeup_key(reason, session_id);
        let wakeup = Wakeup { key, session_id: Some(session_id), agent_thread: None, at, reason };
        self.engine.desk.set_wakeup(wakeup).await?;
        self.engine.wakeups.notify();
        Ok(())
    }

    /// Ends the driver, unless mail has arrived meanwhile.
    async fn end(mut self) -> Result<Option<SessionDriver>, SessionFailure> {
        let id = self.session.id();
        if let Some(reason) = self.missing_model() {
            // Followers that wait for an answer get the reason; a person decides what to do.
            self.session.feed().fail(SessionFailure::ModelUnavailable { reason });
        }
        if self.is_waiting_for_model {
            let close = |id| self.engine.close_log(id);
            let has_ended = self.engine.registry.close(id, &self.mailbox, &close);
            return Ok((!has_ended).then_some(self));
        }
        if self.session.state().turn.is_none() {
            self.permit = None;
            self.engine.after_turn(&mut self.session).await;
        }
        self.session.feed().rest();
        let SessionDriver { engine, mailbox, session, permit, rows, .. } = self;
        let idle = Box::new(IdleSession { session, permit });
        match engine.registry.rest(&mailbox, idle, &|id| engine.close_log(id)) {
            Ok(()) => Ok(None),
            Err(idle) => Ok(Some(opening::reuse(engine, mailbox, *idle, rows).await)),
        }
    }
}
