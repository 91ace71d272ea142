//! The loop that performs the steps.
//!
//! All branching is in [`crate::step`]; here each step is one effect and the events that record
//! it. An effect begins only after everything before it is on disk.

mod ask;
mod calls;
mod end;

use std::sync::Arc;

use kith_providers::render::RenderError;
use kith_vocab::clock::Clock;
use kith_vocab::event::Body;
use kith_vocab::event::control::CancelRequested;
use kith_vocab::ids::CallId;
use kith_vocab::policy::Policy;
use kith_vocab::provider::Provider;
use kith_vocab::tool::Tool;
use tokio_util::sync::CancellationToken;

pub(crate) use end::stop;

use crate::session::{Session, SessionError, Watcher};
use crate::step::{Step, Wait, decide};

/// More steps than any honest turn takes: a backstop behind the turn's own limits.
pub const DRIVE_STEPS_MAX: usize = 10_000;

/// What a turn works with.
pub struct Hands<'a> {
    pub provider: &'a dyn Provider,
    pub tools: &'a [Arc<dyn Tool>],
    pub policy: &'a dyn Policy,
    pub clock: &'a dyn Clock,
    pub watcher: &'a dyn Watcher,
    pub cancel: &'a CancellationToken,
    /// Set when the turn is stopped by whoever ends it: the conversation goes on elsewhere.
    pub halt: &'a CancellationToken,
}

/// Why the loop stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Nothing to do until someone speaks.
    Rest,
    /// A person has been asked.
    Approval(CallId),
    /// Another driver is at work on it.
    Running,
    /// Nothing runs any more. What was staged is not written: whoever halted it ends the turn.
    Halted,
    /// The next step is one this program cannot take yet.
    NotBuilt(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Render(#[from] RenderError),
    #[error("the session took more than {DRIVE_STEPS_MAX} steps without coming to rest")]
    TooManySteps,
}

pub async fn drive(session: &mut Session, hands: &Hands<'_>) -> Result<Pause, TurnError> {
    for _ in 0..DRIVE_STEPS_MAX {
        if hands.halt.is_cancelled() {
            return Ok(Pause::Halted);
        }
        note_cancel(session, hands);
        let pause = match decide(session.state(), hands.clock.now()) {
            Step::AskModel => {
                ask::model(session, hands).await?;
                continue;
            }
            Step::Judge(new) => {
                calls::judge(session, hands, new).await;
                continue;
            }
            Step::RunReads(reads) => {
                calls::run_reads(session, hands, reads).await?;
                continue;
            }
            Step::Run(call) => {
                calls::run(session, hands, call).await?;
                continue;
            }
            Step::Refuse { call, reason } => {
                calls::refuse(session, &call, &reason);
                continue;
            }
            Step::ReportInterrupted(call) => {
                calls::report_interrupted(session, &call);
                continue;
            }
            Step::EndTurn(ending) => {
                end::turn(session, ending);
                continue;
            }
            Step::Wait(Wait::Until(time)) => {
                session.commit(hands.watcher)?;
                tokio::select! {
                    () = hands.clock.sleep_until(time) => (),
                    () = hands.cancel.cancelled() => (),
                }
                continue;
            }
            Step::Wait(Wait::Approval(call_id)) => Pause::Approval(call_id),
            Step::Wait(Wait::Running) => Pause::Running,
            Step::Rest => Pause::Rest,
            Step::AskApproval(_) | Step::ExpireApproval(_) => Pause::NotBuilt("asking a person"),
            Step::DrainSteers => Pause::NotBuilt("steering a turn"),
            Step::TakeFollowUp => Pause::NotBuilt("taking a message from the queue"),
            Step::Compact => Pause::NotBuilt("compaction"),
        };
        session.commit(hands.watcher)?;
        return Ok(pause);
    }
    Err(TurnError::TooManySteps)
}

/// Someone said stop: the log must say so before the turn ends of it.
fn note_cancel(session: &mut Session, hands: &Hands<'_>) {
    let is_new = session.state().turn.as_ref().is_some_and(|turn| !turn.cancelled);
    if is_new && hands.cancel.is_cancelled() && !hands.halt.is_cancelled() {
        session.stage(Body::CancelRequested(CancelRequested { by: "owner".to_owned() }));
    }
}

#[cfg(test)]
mod tests;
