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
    Requested(CompactionRequest),
    /// The model is being asked for the summary.
    Asked {
        request: EventId,
        /// The message at which the part that it is shown ends; `None` if it is shown all.
        before: Option<EventId>,
        wanted: CompactionRequest,
    },
    /// The whole conversation was summarised, and nothing was asked since: doing it again would
    /// not make it shorter.
    Done,
    /// It failed, and is not tried again before the turn has ended.
    FailedInThisTurn,
}

/// A summary that somebody wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionRequest {
    /// The models that may be asked when no turn is open.
    pub models: Vec<ModelRef>,
    /// Whether a person wants it; else it is wanted for the next request of the turn.
    pub by_person: bool,
    /// The model to ask, if those before it failed.
    pub fallback: Option<String>,
    /// How often the session was left while the model was being asked.
    pub n_resumed: u32,
}

impl Compaction {
    /// Folds an event. Returns true if the event was about the compaction alone.
    pub(super) fn fold(&mut self, body: &Body, in_a_turn: bool) -> bool {
        match body {
            Body::CompactRequested(it) => {
                if !matches!(self, Compaction::Asked { .. }) {
                    let (models, by_person) = (it.models.clone(), it.by != CLIENT_ID);
                    let wanted =
                        CompactionRequest { models, by_person, ..CompactionRequest::default() };
                    *self = Compaction::Requested(wanted);
                }
            }
            Body::ModelRequested(it) if it.purpose == Purpose::Compact => {
                let before = it.scope.and_then(|scope| scope.before);
                let wanted = self.take_wanted();
                *self = Compaction::Asked { request: it.request_id, before, wanted };
            }
            Body::ModelRequested(_) if *self == Compaction::Done => {
                *self = Compaction::Idle;
                return false;
            }
            Body::ModelFailed(it) if self.is_failed_by(it.request_id) => {
                *self = match &it.fallback {
                    Some(next) => {
                        let fallback = Some(next.clone());
                        Compaction::Requested(CompactionRequest { fallback, ..self.take_wanted() })
                    }
                    None if in_a_turn => Compaction::FailedInThisTurn,
                    None => Compaction::Idle,
                };
            }
            Body::Resumed(it) if self.is_asked(it.open_request) => {
                let wanted = self.take_wanted();
                let n_resumed = wanted.n_resumed + 1;
                *self = Compaction::Requested(CompactionRequest { n_resumed, ..wanted });
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
        let is_wanted = matches!(self, Compaction::Requested(wanted) if wanted.by_person);
        let stays = is_wanted && reason != EndReason::Cancelled;
        if !stays && *self != Compaction::Done {
            *self = Compaction::Idle;
        }
    }

    /// What is wanted, while it is.
    pub fn wanted(&self) -> Option<&CompactionRequest> {
        match self {
            Compaction::Requested(wanted) | Compaction::Asked { wanted, .. } => Some(wanted),
            Compaction::Idle | Compaction::Done | Compaction::FailedInThisTurn => None,
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

    fn take_wanted(&mut self) -> CompactionRequest {
        match std::mem::take(self) {
            Compaction::Requested(wanted) | Compaction::Asked { wanted, .. } => wanted,
            Compaction::Idle | Compaction::Done | Compaction::FailedInThisTurn => {
                CompactionRequest::default()
            }
        }
    }

    fn is_asked(&self, request: Option<EventId>) -> bool {
        request.is_some() && self.request() == request
    }

    /// A failure without a request: the model could not be asked at all.
    fn is_failed_by(&self, request: Option<EventId>) -> bool {
        self.is_asked(request) || (request.is_none() && matches!(self, Compaction::Requested(_)))
    }
}
