//! The end of a turn: closes what is open, and adds a notice if it did not end well.

use kith_vocab::block::ToolCall;
use kith_vocab::event::Body;
use kith_vocab::event::calls::{ApprovalDecided, Decision, Via};
use kith_vocab::event::control::{CancelRequested, EndReason, Level, TurnEnded};
use kith_vocab::event::messages::{Outcome, StopReason, Trust};
use kith_vocab::event::models::FailureKind;

use super::calls;
use crate::session::{CLIENT_ID, Session};
use crate::state::calls::CallStage;
use crate::state::turn::Turn;
use crate::step::Ending;
use crate::words::{NoticeText, RefusalText};

pub(super) fn turn(session: &mut Session, ending: Ending) {
    let Some(turn) = session.state().turn.clone() else { return };
    for open in turn.calls.open() {
        deny_asked(session, &open.stage, (CLIENT_ID, Via::Cancel), RefusalText::EndedBefore);
        finish_open_call(session, &open.call, &open.stage, ending.reason);
    }
    let told = match (ending.reason, ending.bound) {
        (EndReason::Bound, Some(bound)) => {
            Some(NoticeText::LimitReached { bound, limits: &turn.limits })
        }
        // A cap was told when it was reached.
        (EndReason::Failed, _) if is_budget_spent(&turn) => None,
        (EndReason::Failed, _) => Some(match &session.state().last_failure {
            Some(failure) => {
                NoticeText::TurnFailed { kind: turn.failure.map(|it| it.kind), reason: failure }
            }
            None => NoticeText::InterruptedTooOften,
        }),
        (EndReason::Done, _) if turn.last_stop == Some(StopReason::MaxTokens) => {
            Some(NoticeText::CutOff)
        }
        _ => None,
    };
    if let Some(text) = told.map(|told| told.in_language(&turn.language)) {
        let about = Some(turn.began_with.to_string());
        session.stage_notice(text, Level::Warn, about);
    }
    let (reason, bound) = (ending.reason, ending.bound);
    let (steps, usage) = (turn.n_steps, session.take_stopped_usage());
    session.stage(Body::TurnEnded(TurnEnded { reason, bound, steps, usage }));
}

fn is_budget_spent(turn: &Turn) -> bool {
    turn.failure.is_some_and(|failure| failure.kind == FailureKind::Budget)
}

/// Ends the open turn because the conversation is moved elsewhere. Its events stay in the log.
pub(crate) fn stop(session: &mut Session, by: &str) {
    let Some(turn) = session.state().turn.clone() else { return };
    for open in turn.calls.open() {
        deny_asked(session, &open.stage, (by, Via::Branch), RefusalText::EndedBefore);
    }
    session.stage(Body::CancelRequested(CancelRequested { by: by.to_owned() }));
    self::turn(session, Ending { reason: EndReason::Cancelled, bound: None });
}

/// Closes an open question with a denial.
pub(super) fn deny_asked(
    session: &mut Session,
    stage: &CallStage,
    (by, via): (&str, Via),
    reason: RefusalText,
) {
    let reason = reason.in_language(session.state().language());
    let CallStage::Asked { approval_id, .. } = stage else { return };
    session.stage(Body::ApprovalDecided(ApprovalDecided {
        approval_id: approval_id.clone(),
        decision: Decision::Deny,
        by: by.to_owned(),
        via,
        grant: None,
        reason: Some(reason.into()),
    }));
}

fn finish_open_call(session: &mut Session, call: &ToolCall, stage: &CallStage, reason: EndReason) {
    if matches!(stage, CallStage::Started | CallStage::Interrupted) {
        calls::report_interrupted(session, call);
        return;
    }
    let text = match reason {
        EndReason::Cancelled => "Cancelled by the user before it ran.",
        _ => "Cancelled: the turn ended before it ran.",
    };
    calls::finish_with_text(session, call, Outcome::Cancelled, text.to_owned(), Trust::Owner);
}
