//! Which inbox rows a log holds, and what became of them.
//!
//! Rows are closed on the desk without waiting for it, so after a crash it may know less than the
//! log. The driver asks here before it writes a row's message.

use std::collections::BTreeSet;

use kith_sessions::desk::RowOutcome;
use kith_vocab::event::control::{EndReason, Queue};
use kith_vocab::event::{Body, Event};

use crate::state::State;

#[derive(Debug, Default)]
pub(crate) struct RowKeys {
    /// Rows that events written since the desk last noted the head of the log are about.
    in_log: BTreeSet<String>,
    settled: Vec<(String, RowOutcome)>,
    /// Rows that were reported to the desk and are not known to be closed there: the report is not
    /// waited for, and may be lost.
    reported: Vec<(String, RowOutcome)>,
}

impl RowKeys {
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.in_log.contains(key)
    }

    pub(crate) fn take_settled(&mut self) -> Vec<(String, RowOutcome)> {
        std::mem::take(&mut self.settled)
    }

    /// Whether there are finished rows that were not reported to the desk.
    pub(crate) fn has_settled(&self) -> bool {
        !self.settled.is_empty()
    }

    /// Finished rows to report to the desk. Those reported before are included: the report carries a
    /// head, and a row that is still open behind the head would be written again.
    pub(crate) fn rows_to_report(&mut self) -> Vec<(String, RowOutcome)> {
        self.reported.append(&mut self.settled);
        self.reported.clone()
    }

    /// Forgets reported rows that the desk no longer has open.
    pub(crate) fn confirm(&mut self, is_open: impl Fn(&str) -> bool) {
        self.reported.retain(|(key, _)| is_open(key));
    }

    /// Takes an event into account. `state` is folded up to the event before it.
    pub(crate) fn read(&mut self, state: &State, event: &Event) {
        if !event.is_lived() {
            return;
        }
        if let Some(key) = &event.ingress_key {
            self.in_log.insert(key.clone());
        }
        if let Body::QueueUpdate(it) = &event.body {
            self.in_log.extend(it.items.iter().filter_map(|item| item.ingress_key.clone()));
        }
        match (&event.body, &event.ingress_key) {
            // A notice under the key of a row says why its message was declined.
            (Body::Notice(_), Some(key)) => {
                self.record_outcome([key.clone()], RowOutcome::Declined);
            }
            (Body::ApprovalReplied(_), Some(key)) => {
                self.record_outcome([key.clone()], RowOutcome::Done);
            }
            (Body::TurnEnded(it), _) => self.end_turn(state, outcome_of(it.reason)),
            (Body::LeafMoved(_), _) => self.end_turn(state, RowOutcome::Cancelled),
            (Body::QueueUpdate(it), _) => {
                let before = match it.queue {
                    Queue::FollowUp => &state.follow_ups,
                    Queue::Steer => &state.steers,
                };
                let is_kept = |key: &String| {
                    it.items.iter().any(|item| item.ingress_key.as_ref() == Some(key))
                };
                // An item that became a message was written before its queue was.
                let is_taken =
                    |key: &String| state.turn.as_ref().is_some_and(|turn| turn.keys.contains(key));
                let keys = before.iter().filter_map(|item| item.ingress_key.clone());
                let removed: Vec<String> =
                    keys.filter(|key| !is_kept(key) && !is_taken(key)).collect();
                self.record_outcome(removed, RowOutcome::Removed);
            }
            _ => (),
        }
    }

    fn end_turn(&mut self, state: &State, outcome: RowOutcome) {
        let keys = state.turn.as_ref().map(|turn| turn.keys.clone());
        self.record_outcome(keys.unwrap_or_default(), outcome);
    }

    fn record_outcome(&mut self, keys: impl IntoIterator<Item = String>, outcome: RowOutcome) {
        for key in keys {
            // Its message may stand before what the desk knows, and only its end behind it.
            self.in_log.insert(key.clone());
            self.settled.push((key, outcome));
        }
    }
}

fn outcome_of(reason: EndReason) -> RowOutcome {
    match reason {
        EndReason::Done => RowOutcome::Done,
        EndReason::Cancelled => RowOutcome::Cancelled,
        EndReason::Failed => RowOutcome::Failed,
        EndReason::Bound => RowOutcome::Bound,
    }
}
