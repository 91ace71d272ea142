//! The state of a compaction, within a turn or between two.

use kith_vocab::event::Body;
use kith_vocab::event::control::EndReason;
use kith_vocab::event::models::{ModelRef, Purpose};
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

use crate::session::CLIENT_ID;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compaction {
    #[default]
    Idle,
    Requested {
        /// The models that may be asked when no turn is open.
        models: Vec<ModelRef>,
        /// Whether a person wants it; else it is wanted for the next request of the turn.
        by_person: bool,
    },
    /// The model is being asked for the summary.
    Asked {
        request: EventId,
        /// The message at which the part that it is shown ends; `None` if it is shown all.
        before: Option<EventId>,
        models: Vec<ModelRef>,
        by_person: bool,
    },
    /// The whole conversation was summarised, and nothing was asked since: doing it again would
    /// not make it shorter.
    Done,
    /// It failed, and is not tried again before the turn has ended.
    FailedInThisTurn,
}

impl Compaction {
    /// Folds an event. Returns true if the event was about the compaction alone.
    pub(super) fn fold(&mut self, body: &Body, in_a_turn: bool) -> bool {
        match body {
            Body::CompactRequested(it) => {
                if !matches!(self, Compaction::Asked { .. }) {
                    let (models, by_person) = (it.models.clone(), it.by != CLIENT_ID);
                    *self = Compaction::Requested { models, by_person };
                }
            }
            Body::ModelRequested(it) if it.purpose == Purpose::Compact => {
                let before = it.scope.and_then(|scope| scope.before);
                let (models, by_person) = match std::mem::take(self) {
                    Compaction::Requested { models, by_person } => (models, by_person),
                    _ => (Vec::new(), false),
                };
                *self = Compaction::Asked { request: it.request_id, before, models, by_person };
            }
            Body::ModelRequested(_) if *self == Compaction::Done => {
                *self = Compaction::Idle;
                return false;
            }
            Body::ModelFailed(it) if self.is_failed_by(it.request_id) => {
                *self = if in_a_turn { Compaction::FailedInThisTurn } else { Compaction::Idle };
            }
            Body::Resumed(it) if self.is_asked(it.open_request) => {
                if let Compaction::Asked { models, by_person, .. } = std::mem::take(self) {
                    *self = Compaction::Requested { models, by_person };
                }
                return false;
            }
            Body::Compact(_) => {
                let is_partial = self.scope().is_some();
                *self = if is_partial { Compaction::Idle } else { Compaction::Done };
                return false;
            }
            // Within a turn the turn is cancelled, and its end ends the compaction.
            Body::CancelRequested(_) if !in_a_turn => *self = Compaction::Idle,
            _ => return false,
        }
        true
    }

    /// What a person wants outlives the turn, unless they stopped it.
    pub(super) fn end_turn(&mut self, reason: EndReason) {
        let is_wanted = matches!(self, Compaction::Requested { by_person: true, .. });
        let stays = is_wanted && reason != EndReason::Cancelled;
        if !stays && *self != Compaction::Done {
            *self = Compaction::Idle;
        }
    }

    /// The request for a summary that is under way.
    pub fn request(&self) -> Option<EventId> {
        match self {
            Compaction::Asked { request, .. } => Some(*request),
            _ => None,
        }
    }

    /// The message at which the part of the conversation ends that is being summarised.
    pub fn scope(&self) -> Option<EventId> {
        match self {
            Compaction::Asked { before, .. } => *before,
            _ => None,
        }
    }

    fn is_asked(&self, request: Option<EventId>) -> bool {
        request.is_some() && self.request() == request
    }

    /// A failure without a request: the model could not be asked at all.
    fn is_failed_by(&self, request: Option<EventId>) -> bool {
        self.is_asked(request)
            || (request.is_none() && matches!(self, Compaction::Requested { .. }))
    }
}
