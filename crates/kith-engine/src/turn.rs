//! Turns each step into events to stage, or one effect to wait for.
//!
//! All branching is in [`crate::step`]. An effect borrows nothing from the session: the driver
//! waits for it while the session takes commands, and hands its outcome to `record`.

pub mod approvals;
mod ask;
mod calls;
mod compact;
mod end;
mod queue;
mod reservation;
mod window;

use std::sync::Arc;
use std::time::Duration;

use kith_sessions::desk::Desk;
use kith_vocab::budget::Budget;
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::event::calls::Sandbox;
use kith_vocab::event::control::Limits;
use kith_vocab::ids::EventId;
use kith_vocab::policy::Policy;
use kith_vocab::provider::{Answer, AnswerFailure, Models};
use kith_vocab::tool::{Tool, ToolOutput};
use tokio_util::sync::CancellationToken;

pub(crate) use approvals::{grant_of, pending_of, whole_wish};
pub(crate) use ask::find_model;
pub(crate) use calls::PreparedCall;
pub(crate) use compact::ledger_of;
pub(crate) use end::stop;
pub(crate) use queue::{
    NewTurn, begin as begin_turn, items_of, queue_messages, remove_queued, turn_started,
};

use crate::failure::SessionFailure;
use crate::session::Session;
use crate::step::{Step, Wait};

/// How long a summary may take when no turn is open.
const COMPACTION_TIME_MAX: Duration = Duration::from_mins(10);

/// Tools, policy and limits of a session's turns.
#[derive(Clone)]
pub struct TurnSetup {
    pub tools: Vec<Arc<dyn Tool>>,
    pub policy: Arc<dyn Policy>,
    pub limits: Limits,
    /// The language of notices in this turn, if the client names none.
    pub language: Option<String>,
    /// Tries which sandbox this machine offers, so it is asked only when a command is judged.
    pub sandbox: fn() -> Sandbox,
    /// What requests may still use.
    pub budget: Arc<dyn Budget>,
    pub approvals: approvals::ApprovalSetup,
    pub secrets: Arc<kith_vocab::secret::filter::SecretFilter>,
}

pub(crate) struct TurnContext {
    pub(crate) setup: TurnSetup,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The driver's next action after a step.
pub(crate) enum Action {
    /// Events were staged; decide again.
    Staged,
    Start(TurnEffect),
    Wait(Wait),
    /// The queue goes on with its first item.
    TakeFollowUp,
    Rest,
}

/// A request, a preparation or a tool run; it takes time and borrows nothing.
pub(crate) struct TurnEffect {
    pub(crate) kind: EffectKind,
    pub(crate) future: BoxFuture<'static, EffectOutcome>,
    pub(crate) cancel: CancellationToken,
    /// The time left for the turn.
    pub(crate) time_left: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectKind {
    Ask(EventId),
    /// Changes nothing, so no event need be durable before it starts.
    Prepare,
    Run,
    AwaitBudget,
}

pub(crate) enum EffectOutcome {
    Asked(Box<ask::SentRequest>, Result<Answer, AnswerFailure>),
    Judged(Vec<PreparedCall>),
    /// A call was looked at again, right before it runs.
    Ready(Box<PreparedCall>),
    Ran(Vec<(kith_vocab::block::ToolCall, ToolOutput)>),
    BudgetSettled,
}

/// Why an effect was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectStop {
    No,
    /// A person cancelled the turn, or wants the conversation elsewhere.
    ByPerson,
    /// The turn's time is over.
    ByDeadline,
}

/// Turns a step into staged events or into something to wait for.
pub(crate) async fn perform(
    session: &mut Session,
    ctx: &TurnContext,
    step: Step,
) -> Result<Action, SessionFailure> {
    Ok(match step {
        Step::AskModel => return ask::start(session, ctx).await,
        Step::Judge(new) => Action::Start(calls::prepare_calls(session, ctx, new)),
        Step::RunReads(reads) => Action::Start(calls::start_reads(session, ctx, reads)),
        Step::Run(call) => Action::Start(calls::prepare_again(session, ctx, call)),
        Step::Refuse { call, reason } => {
            calls::refuse(session, &call, &reason);
            Action::Staged
        }
        Step::ReportInterrupted(call) => {
            calls::report_interrupted(session, &call);
            Action::Staged
        }
        Step::AskApproval(calls) => {
            approvals::ask(session, ctx, &calls);
            Action::Staged
        }
        Step::ExpireApproval(call_id) => {
            calls::expire(session, call_id);
            Action::Staged
        }
        Step::DrainSteers => {
            queue::drain_steers(session);
            Action::Staged
        }
        Step::EndTurn(ending) => {
            end::turn(session, ending);
            Action::Staged
        }
        Step::Compact => return compact::start(session, ctx),
        Step::TakeFollowUp => Action::TakeFollowUp,
        Step::Wait(wait) => Action::Wait(wait),
        Step::Rest => Action::Rest,
    })
}

/// Turns the outcome of an effect into events; `Some` if another effect follows at once.
pub(crate) fn record(
    session: &mut Session,
    ctx: &TurnContext,
    outcome: EffectOutcome,
    stopped: EffectStop,
) -> Option<TurnEffect> {
    match outcome {
        EffectOutcome::Asked(asked, answer) => ask::record(session, ctx, &asked, answer, stopped),
        EffectOutcome::Judged(looked) => calls::judge(session, ctx, looked),
        EffectOutcome::Ready(call) if stopped == EffectStop::No => {
            return calls::start(session, ctx, *call);
        }
        // It has not started; the end of the turn says so.
        EffectOutcome::Ready(_) | EffectOutcome::BudgetSettled => (),
        EffectOutcome::Ran(outputs) => {
            for (call, output) in outputs {
                calls::finish(session, &call, output, stopped);
            }
        }
    }
    None
}

/// Records that an effect was given up: it was asked to stop and did not.
pub(crate) fn record_lost(session: &mut Session, kind: EffectKind, stopped: EffectStop) {
    match kind {
        EffectKind::Ask(request_id) if stopped == EffectStop::ByDeadline => {
            ask::record_timeout(session, request_id);
        }
        EffectKind::Prepare if stopped == EffectStop::ByDeadline => calls::refuse_lost(session),
        // The end of the turn closes what is open.
        EffectKind::Ask(_) | EffectKind::Prepare | EffectKind::AwaitBudget => (),
        EffectKind::Run => calls::give_up(session),
    }
}

/// The time left for the open turn, or for a compaction between two turns.
fn time_left(session: &Session) -> Duration {
    let Some(turn) = &session.state().turn else { return COMPACTION_TIME_MAX };
    let used = session.now().saturating_sub(turn.clock.start);
    Duration::from_millis(turn.limits.wall_ms.saturating_sub(used))
}
