//! Decides what a session does next.
//!
//! [`decide`] is pure: same events, same time, same step. The driver performs the step, appends
//! what came of it and asks again; no other code holds the state of a turn. That is why an approval
//! may wait a week and outlive a restart: there is no task to keep alive, only a line in a file.

use kith_vocab::block::ToolCall;
use kith_vocab::event::calls::Effect;
use kith_vocab::event::control::{Bound, EndReason};
use kith_vocab::ids::CallId;

use crate::state::State;
use crate::state::calls::{CallProgress, CallStage};
use crate::state::compaction::Compaction;
use crate::state::turn::Turn;

/// A turn that was cut short this often in a row, with nothing coming of it in between, is not
/// resumed again: something in it kills us.
pub const TURN_RESUMES_MAX: u32 = 3;
/// A time to try again that is further ahead than this was written by a clock that was wrong.
pub const RETRY_AHEAD_MS_MAX: u64 = 60 * 60 * 1000;
/// How often a call may be cut off by the limit on tokens before the turn fails.
pub const CUT_CALLS_MAX: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    AskModel,
    /// Ask the policy about each, and write down what it says.
    Judge(Vec<ToolCall>),
    AskApproval(Vec<ToolCall>),
    /// The question was not answered in time, which counts as a denial.
    ExpireApproval(CallId),
    Wait(Wait),
    /// Neighbouring calls that only read, side by side.
    RunReads(Vec<ToolCall>),
    /// A call with side effects, alone.
    Run(ToolCall),
    /// Tell the model that the call was not allowed.
    Refuse {
        call: ToolCall,
        reason: String,
    },
    /// The process died while the tool ran. It may have done its work, so it is not run again.
    ReportInterrupted(ToolCall),
    DrainSteers,
    TakeFollowUp,
    Compact,
    EndTurn(Ending),
    /// Nothing to do until someone speaks.
    Rest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A request or a call is under way.
    Running,
    /// A person has been asked and has not answered.
    Approval(CallId),
    /// The model is asked again at this time.
    Until(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub reason: EndReason,
    pub bound: Option<Bound>,
}

/// Returns the step that brings the session forward.
pub fn decide(state: &State, now: u64) -> Step {
    let Some(turn) = &state.turn else { return between_turns(state) };
    if turn.cancelled {
        return end_turn(EndReason::Cancelled);
    }
    let is_compacting = state.compaction.request().is_some();
    if turn.open_request.is_some() || turn.calls.any_running() || is_compacting {
        return Step::Wait(Wait::Running);
    }
    if turn.n_resumed >= TURN_RESUMES_MAX || turn.n_cut_calls >= CUT_CALLS_MAX {
        return end_turn(EndReason::Failed);
    }
    if let Some(step) = next_call_step(turn, now) {
        return step;
    }
    if let Some(failure) = turn.failure {
        match failure.retry_at {
            None => return end_turn(EndReason::Failed),
            Some(time) if is_ahead(time, now) => return Step::Wait(Wait::Until(time)),
            Some(_) => (),
        }
    }
    if state.steers.iter().any(|item| turn.may_read(item)) {
        return Step::DrainSteers;
    }
    // An answer that was broken off at a limit is no end.
    if !turn.owes_reply && turn.failure.is_none() {
        return end_turn(EndReason::Done);
    }
    if let Some(bound) = reached_bound(turn, now) {
        return Step::EndTurn(Ending { reason: EndReason::Bound, bound: Some(bound) });
    }
    if !turn.owes_reply {
        return end_turn(EndReason::Done);
    }
    let wants_summary = matches!(state.compaction, Compaction::Requested(_));
    if wants_summary { Step::Compact } else { Step::AskModel }
}

fn between_turns(state: &State) -> Step {
    let has_queued = !state.follow_ups.is_empty() || !state.steers.is_empty();
    let may_go_on = !state.queue_hold.is_held();
    match state.compaction {
        Compaction::Asked { .. } => Step::Wait(Wait::Running),
        _ if has_queued && may_go_on => Step::TakeFollowUp,
        Compaction::Requested(_) => Step::Compact,
        Compaction::Idle | Compaction::Done | Compaction::FailedInThisTurn => Step::Rest,
    }
}

fn is_ahead(time: u64, now: u64) -> bool {
    now < time && time - now <= RETRY_AHEAD_MS_MAX
}

fn next_call_step(turn: &Turn, now: u64) -> Option<Step> {
    // Everything is judged and asked before anything runs: a person sees all questions at once.
    let at = |wanted: CallStage| -> Vec<ToolCall> {
        turn.calls.iter().filter(|it| it.stage == wanted).map(|it| it.call.clone()).collect()
    };
    let new = at(CallStage::New);
    if !new.is_empty() {
        return Some(Step::Judge(new));
    }
    let must_ask = at(CallStage::MustAsk);
    if !must_ask.is_empty() {
        return Some(Step::AskApproval(must_ask));
    }
    // Calls are settled in the order the model made them, so a log has one reading only.
    let first = turn.calls.open().next()?;
    let call = first.call.clone();
    Some(match &first.stage {
        CallStage::Asked { expires_at, .. } if now >= *expires_at => {
            Step::ExpireApproval(call.call_id)
        }
        CallStage::Asked { .. } => Step::Wait(Wait::Approval(call.call_id)),
        CallStage::Refused { reason } => Step::Refuse { call, reason: reason.to_string() },
        CallStage::Interrupted => Step::ReportInterrupted(call),
        CallStage::MayRun | CallStage::Approved => match reached_bound(turn, now) {
            Some(bound) => Step::EndTurn(Ending { reason: EndReason::Bound, bound: Some(bound) }),
            None if first.effect == Some(Effect::Read) => Step::RunReads(neighbouring_reads(turn)),
            None => Step::Run(call),
        },
        CallStage::New | CallStage::MustAsk | CallStage::Started | CallStage::Finished => {
            return None;
        }
    })
}

fn neighbouring_reads(turn: &Turn) -> Vec<ToolCall> {
    let may_read = |it: &&CallProgress| {
        it.effect == Some(Effect::Read)
            && matches!(it.stage, CallStage::MayRun | CallStage::Approved)
    };
    turn.calls.open().take_while(may_read).map(|it| it.call.clone()).collect()
}

/// The limit that keeps the turn from going on, if there is one.
fn reached_bound(turn: &Turn, now: u64) -> Option<Bound> {
    let bounds = [Bound::Steps, Bound::Repeats, Bound::Wall, Bound::Tokens, Bound::Cost];
    bounds.into_iter().find(|bound| is_reached(turn, *bound, now))
}

/// Whether the turn has come to this limit.
pub(crate) fn is_reached(turn: &Turn, bound: Bound, now: u64) -> bool {
    let limits = &turn.limits;
    let is_over = |used: u64, limit: Option<u64>| limit.is_some_and(|limit| used >= limit);
    match bound {
        // The answer is there when its calls run, so only the next request counts as a further step.
        Bound::Steps => turn.n_steps >= limits.steps && turn.calls.open().next().is_none(),
        Bound::Repeats => turn.n_repeats() > limits.repeats,
        Bound::Wall => now.saturating_sub(turn.clock.start) >= limits.wall_ms,
        Bound::Tokens => is_over(turn.usage.tokens, limits.tokens),
        Bound::Cost => is_over(turn.usage.cost_micros, limits.cost_micros),
    }
}

fn end_turn(reason: EndReason) -> Step {
    Step::EndTurn(Ending { reason, bound: None })
}

#[cfg(test)]
mod tests;
