//! Goes through a log again and checks that each event which the runtime decided on follows from the
//! events before it.
//!
//! What came from outside (messages, answers, results, verdicts, settings) is taken as recorded. What
//! the runtime made of it must come out the same: the next step, the bytes of each request, the end
//! of each turn, what was taken from a queue, the ledger of a summary.

use kith_vocab::event::calls::{ApprovalRequested, ToolStarted, Via};
use kith_vocab::event::control::{EndReason, TurnEnded};
use kith_vocab::event::messages::{Compact, HarnessItemEvent, HarnessKind, Origin, UserMessage};
use kith_vocab::event::models::{ModelRequested, Purpose};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

use crate::ledger::{self, LEDGER_BYTES_MAX};
use crate::state::State;
use crate::state::calls::CallStage;
use crate::step::{Ending, Step, decide, is_reached};
use crate::turn::ledger_of;
use crate::verify::{BlobReader, Verifier};

/// The first event that does not follow from those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub seq: u64,
    pub event_id: EventId,
    pub event_type: &'static str,
    /// What the log holds, and what follows from it.
    pub what: String,
}

/// Replays a log event by event. It stops judging at the first difference: what follows it follows
/// from something else.
#[derive(Default)]
pub struct Replayer {
    verifier: Verifier,
    pub n_events: u64,
    /// Events that were decided here, and so were compared.
    pub n_compared: u64,
    /// The end that was decided on, while what is open is being closed.
    ending: Option<Ending>,
    /// Requests whose bytes another version of the renderer made.
    pub n_other_renderer: u64,
    pub difference: Option<Difference>,
}

impl Replayer {
    /// With the images and files that requests carried.
    #[must_use]
    pub fn with_blobs(mut self, blobs: BlobReader) -> Replayer {
        self.verifier = self.verifier.with_blobs(blobs);
        self
    }

    pub fn read(&mut self, event: &Event) {
        self.n_events += 1;
        self.note_ending(event);
        if self.difference.is_none() && event.is_lived() {
            let judged = judge(self.verifier.state(), event, self.ending);
            self.n_compared += u64::from(judged.is_some());
            if let Some(Err(what)) = judged {
                self.differ(event, what);
            }
        }
        let n_before = (self.verifier.mismatches.len(), self.verifier.other_renderer.len());
        self.verifier.read(event);
        if self.verifier.mismatches.len() > n_before.0 && self.difference.is_none() {
            let found = self.verifier.mismatches.last();
            let what = found.map_or_else(String::new, |it| {
                format!("the request has the hash {}, the log gives {}", it.expected, it.rebuilt)
            });
            self.differ(event, what);
        }
        self.n_other_renderer = self.verifier.other_renderer.len() as u64;
    }

    /// Calls and questions that are open are closed before a turn ends, and that changes what would be
    /// decided then.
    fn note_ending(&mut self, event: &Event) {
        let is_closing = matches!(
            event.body,
            Body::ToolResult(_) | Body::ApprovalDecided(_) | Body::Notice(_) | Body::TurnEnded(_)
        );
        if is_closing && self.ending.is_some() {
            return;
        }
        self.ending = match decide(self.verifier.state(), event.ts) {
            Step::EndTurn(ending) => Some(ending),
            _ => None,
        };
    }

    fn differ(&mut self, event: &Event, what: String) {
        let (seq, event_id, event_type) = (event.seq, event.id, event.body.type_name());
        self.difference = Some(Difference { seq, event_id, event_type, what });
    }
}

/// `None` for an event that came from outside.
fn judge(state: &State, event: &Event, ending: Option<Ending>) -> Option<Result<(), String>> {
    match &event.body {
        Body::ModelRequested(it) => Some(judge_request(state, event, it)),
        Body::ToolStarted(it) => Some(judge_start(state, it)),
        Body::ApprovalRequested(it) => Some(judge_question(state, event, it)),
        Body::ApprovalDecided(it) if it.via == Via::Expiry => {
            let expires = |step: &Step| matches!(step, Step::ExpireApproval(_));
            Some(expect_step(state, event, expires))
        }
        Body::TurnEnded(it) => Some(judge_end(state, event, it, ending)),
        Body::UserMessage(it) => judge_follow_up(state, it),
        Body::HarnessItem(it) => judge_steer(state, it),
        Body::Compact(it) => Some(judge_summary(state, it)),
        Body::AssistantMessage(it) => {
            let open = state.turn.as_ref().and_then(|turn| turn.open_request);
            Some(require(it.request_id.is_some() && it.request_id == open, || {
                "it answers a request that is not open".to_owned()
            }))
        }
        _ => None,
    }
}

fn judge_request(state: &State, event: &Event, it: &ModelRequested) -> Result<(), String> {
    let wanted = |step: &Step| match it.purpose {
        Purpose::Turn => *step == Step::AskModel,
        Purpose::Compact => *step == Step::Compact,
    };
    expect_step(state, event, wanted)
}

fn judge_start(state: &State, it: &ToolStarted) -> Result<(), String> {
    let first = state.turn.as_ref().and_then(|turn| turn.calls.open().next());
    let may_run = first.is_some_and(|first| {
        first.call.call_id == it.call_id
            && matches!(first.stage, CallStage::MayRun | CallStage::Approved)
    });
    require(may_run, || "the call is not the next that may run".to_owned())
}

/// A question must be about a call that has to be asked about, and about what was judged.
fn judge_question(state: &State, event: &Event, it: &ApprovalRequested) -> Result<(), String> {
    let asks = |step: &Step| matches!(step, Step::AskApproval(calls) if calls.iter().any(|call| call.call_id == it.call_id));
    expect_step(state, event, asks)?;
    let judged = state.turn.as_ref().and_then(|turn| turn.calls.get(it.call_id));
    require(judged.and_then(|call| call.digest.as_ref()) == Some(&it.digest), || {
        "it asks about something else than what was judged".to_owned()
    })
}

fn judge_end(
    state: &State,
    event: &Event,
    it: &TurnEnded,
    ending: Option<Ending>,
) -> Result<(), String> {
    let Some(turn) = &state.turn else { return Err("no turn is open".to_owned()) };
    require(it.steps == turn.n_steps, || {
        format!("it counts {} requests, the log holds {}", it.steps, turn.n_steps)
    })?;
    // Time passes while it is decided, so another limit may be reached by now.
    let is_at_bound = it.bound.is_some_and(|bound| is_reached(turn, bound, event.ts));
    if ending == Some(Ending { reason: it.reason, bound: it.bound }) || is_at_bound {
        return Ok(());
    }
    expect_step(state, event, |step| match step {
        Step::EndTurn(ending) => ending.reason == it.reason && ending.bound == it.bound,
        // A host that cannot reach the turn's model gives it up.
        _ => it.reason == EndReason::Failed && state.last_failure.is_some(),
    })
}

/// A message that waited in a queue must be the first of it.
fn judge_follow_up(state: &State, it: &UserMessage) -> Option<Result<(), String>> {
    let taken = it.queue_item_id.as_ref()?;
    let first = state.steers.first().or_else(|| state.follow_ups.first());
    let is_first =
        first.is_some_and(|first| first.id == *taken && first.content == it.message.content);
    Some(require(is_first, || "it is not the first message that waits".to_owned()))
}

fn judge_steer(state: &State, it: &HarnessItemEvent) -> Option<Result<(), String>> {
    if it.item.kind != HarnessKind::Steer || it.item.origin != Origin::User {
        return None;
    }
    let waits = state
        .steers
        .iter()
        .any(|item| kith_vocab::block::plain_text(&item.content) == it.item.content.as_str());
    Some(require(waits, || "no such steer waits".to_owned()))
}

fn judge_summary(state: &State, it: &Compact) -> Result<(), String> {
    require(state.compaction.request() == Some(it.request_id), || {
        "no summary was asked for".to_owned()
    })?;
    // Earlier versions did not look at the window.
    let maxima = [ledger::bytes_max(state.context_window), LEDGER_BYTES_MAX];
    let ledger = |max: usize| ledger_of(state, state.compaction.scope(), &it.summary, max);
    require(maxima.into_iter().any(|max| ledger(max) == it.ledger), || {
        "the ledger does not hold what the texts name".to_owned()
    })
}

/// What is decided at the time of the event, or was at the time of the one before it: deciding and
/// writing take a moment, in which a limit of time may pass.
fn expect_step(state: &State, event: &Event, fits: impl Fn(&Step) -> bool) -> Result<(), String> {
    let now = decide(state, event.ts);
    let is_right = fits(&now) || fits(&decide(state, state.last_ts));
    require(is_right, || {
        let said = match &event.body {
            Body::TurnEnded(it) => format!("it ended as {:?}, but ", it.reason).to_lowercase(),
            _ => String::new(),
        };
        let as_what = match &now {
            Step::EndTurn(ending) => format!(" as {:?}", ending.reason).to_lowercase(),
            _ => String::new(),
        };
        format!("{said}the next step is {}{as_what}", name_of(&now))
    })
}

fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn name_of(step: &Step) -> &'static str {
    match step {
        Step::AskModel => "to ask the model",
        Step::Judge(_) => "to judge calls",
        Step::AskApproval(_) => "to ask for an approval",
        Step::ExpireApproval(_) => "to let a question expire",
        Step::Wait(_) => "to wait",
        Step::RunReads(_) | Step::Run(_) => "to run a call",
        Step::Refuse { .. } => "to refuse a call",
        Step::ReportInterrupted(_) => "to report an interrupted call",
        Step::DrainSteers => "to read steers",
        Step::TakeFollowUp => "to take the next message of the queue",
        Step::Compact => "to summarise the conversation",
        Step::EndTurn(_) => "to end the turn",
        Step::Rest => "to rest",
    }
}

#[cfg(test)]
mod tests;
