//! The state of a compaction, within a turn or between two.

use kith_vocab::event::Body;
use kith_vocab::event::models::Purpose;
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compaction {
    #[default]
    Idle,
    Requested,
    /// The model is being asked for the summary.
    Asked(EventId),
    /// It failed, and is not tried again before the turn has ended.
    FailedInThisTurn,
}

impl Compaction {
    /// Folds an event. Returns true if the event was about the compaction alone.
    pub(super) fn fold(&mut self, body: &Body, in_a_turn: bool) -> bool {
        match body {
            Body::CompactRequested(_) => {
                if !matches!(self, Compaction::Asked(_)) {
                    *self = Compaction::Requested;
                }
            }
            Body::ModelRequested(it) if it.purpose == Purpose::Compact => {
                *self = Compaction::Asked(it.request_id);
            }
            Body::ModelFailed(it) if self.is_asked(it.request_id) => {
                *self = if in_a_turn { Compaction::FailedInThisTurn } else { Compaction::Idle };
            }
            Body::Resumed(it) if self.is_asked(it.open_request) => {
                *self = Compaction::Requested;
                return false;
            }
            Body::Compact(_) => {
                *self = Compaction::Idle;
                return false;
            }
            _ => return false,
        }
        true
    }

    pub(super) fn end_turn(&mut self) {
        if *self == Compaction::FailedInThisTurn {
            *self = Compaction::Idle;
        }
    }

    fn is_asked(self, request: Option<EventId>) -> bool {
        matches!(self, Compaction::Asked(asked) if request == Some(asked))
    }
}
