//! Explains a request: which bytes came from where, and what changed since the request before.
//!
//! The bytes are rebuilt from the log. To find where each part stands in them, the request is rendered
//! a second time with a mark in place of each part: what lies between two marks is the vendor's form and
//! is the same in both, so every byte belongs to one part or to the form. This holds for every wire.

mod parts;

use kith_providers::media::{MediaBytes, media_of};
use kith_providers::render::{self, RenderError};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::{ModelRequested, Purpose};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

pub use parts::{BodySpan, PartSource, RequestPart};

use crate::context::context_of;
use crate::state::State;
use crate::verify::BlobReader;

/// What is known of one request.
#[derive(Clone, Debug)]
pub struct ExplainedRequest {
    pub requested: ModelRequested,
    /// When it was made, in milliseconds.
    pub at: u64,
    /// The number of its turn, from 1; 0 for a summary before the first turn.
    pub turn: u32,
    /// The bytes, rebuilt from the log.
    pub body: Vec<u8>,
    /// Whether they are those that were sent.
    pub proof: Proof,
    /// The parts in the order of the body; what lies between them is the vendor's form.
    pub spans: Vec<BodySpan>,
    pub parts: Vec<RequestPart>,
    /// The request of the session before it, if there is one.
    pub change: Option<RequestChange>,
    pub usage: Option<Usage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The hash is the one in the log.
    Same,
    Different,
    /// Another version of the renderer made it.
    OtherRenderer,
    /// An image or file that it carried is gone.
    BlobLost,
}

/// How a request differs from the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestChange {
    pub request_before: EventId,
    /// The bytes at the beginning of both that are the same, which a vendor can take from its cache.
    pub stable_bytes: u64,
    /// The first part that is not the same; `None` if one only continues the other's last part.
    pub first: Option<PartChange>,
    pub cause: ChangeCause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartChange {
    /// Everything that was sent before is the same; this is new after it.
    Added(PartSource),
    /// This part stands where another stood.
    Replaced { before: PartSource, now: PartSource },
    /// Parts at the end are gone, this one first.
    Removed(PartSource),
}

/// Why a request differs from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeCause {
    /// The conversation went on.
    Continued,
    /// It moved to another branch.
    Branched,
    Compacted,
    /// Another model, wire or set of parameters was asked.
    OtherModel,
    /// One of them asks for a summary.
    OtherPurpose,
    /// Nothing in the log explains it.
    Unexplained,
}

/// A request to explain, and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPair {
    pub before: Option<EventId>,
    pub asked: EventId,
    /// The number of its turn, from 1; 0 for a summary before the first turn.
    pub turn: u32,
}

/// Which request of a session is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WantedRequest {
    /// The last one of the session.
    #[default]
    Last,
    /// The last one of this turn, from 1.
    OfTurn(u32),
    Id(EventId),
}

/// Reads a log and finds the request that is wanted, and the one before it.
///
/// Which request is the last is known at the end of the log only. So it is read twice, and only what
/// is compared is rendered.
#[derive(Default)]
pub struct RequestFinder {
    state: State,
    wanted: WantedRequest,
    n_turns: u32,
    last: Option<EventId>,
    found: Option<RequestPair>,
}

impl RequestFinder {
    pub fn new(wanted: WantedRequest) -> RequestFinder {
        RequestFinder { wanted, ..RequestFinder::default() }
    }

    pub fn read(&mut self, event: &Event) {
        if let Body::ModelRequested(it) = &event.body
            && event.is_lived()
        {
            let (before, asked, turn) = (self.last, it.request_id, self.n_turns);
            let is_wanted = match self.wanted {
                WantedRequest::Last => true,
                WantedRequest::OfTurn(wanted) => wanted == turn,
                WantedRequest::Id(wanted) => wanted == asked,
            };
            if is_wanted {
                self.found = Some(RequestPair { before, asked, turn });
            }
            self.last = Some(asked);
        }
        let had_turn = self.state.turn.is_some();
        self.state.fold(event);
        self.n_turns += u32::from(!had_turn && self.state.turn.is_some());
    }

    pub fn n_turns(&self) -> u32 {
        self.n_turns
    }

    pub fn found(&self) -> Option<RequestPair> {
        self.found
    }
}

/// Reads a log and explains one request.
pub struct RequestExplainer {
    state: State,
    blobs: BlobReader,
    wanted: RequestPair,
    last: Option<SeenRequest>,
    found: Option<ExplainedRequest>,
    has_moved: bool,
    has_compacted: bool,
}

struct SeenRequest {
    requested: ModelRequested,
    body: Vec<u8>,
    parts: Vec<RequestPart>,
}

impl RequestExplainer {
    pub fn new(wanted: RequestPair, blobs: BlobReader) -> RequestExplainer {
        RequestExplainer {
            state: State::default(),
            blobs,
            wanted,
            last: None,
            found: None,
            has_moved: false,
            has_compacted: false,
        }
    }

    pub fn read(&mut self, event: &Event) -> Result<(), RenderError> {
        match &event.body {
            Body::ModelRequested(it) if event.is_lived() => {
                let is_asked = it.request_id == self.wanted.asked;
                if is_asked || Some(it.request_id) == self.wanted.before {
                    self.explain(event, it)?;
                }
            }
            Body::LeafMoved(_) => self.has_moved = true,
            Body::Compact(_) => self.has_compacted = true,
            _ => (),
        }
        if let (Some(found), Some((request, usage))) = (&mut self.found, usage_in(&event.body))
            && found.requested.request_id == request
        {
            found.usage = Some(usage);
        }
        self.state.fold(event);
        Ok(())
    }

    pub fn finish(self) -> Option<ExplainedRequest> {
        self.found
    }

    fn explain(&mut self, event: &Event, requested: &ModelRequested) -> Result<(), RenderError> {
        let (body, parts, spans, is_lost) = self.rebuild(requested)?;
        let proof = if requested.renderer_version != render::renderer_version(requested.wire) {
            Proof::OtherRenderer
        } else if sha256_hex(&body) == requested.body_sha256 {
            Proof::Same
        } else if is_lost {
            Proof::BlobLost
        } else {
            Proof::Different
        };
        let seen = SeenRequest { requested: requested.clone(), body, parts };
        let change = self.last.as_ref().map(|last| self.change(last, &seen));
        if requested.request_id == self.wanted.asked {
            self.found = Some(ExplainedRequest {
                requested: requested.clone(),
                at: event.ts,
                turn: self.wanted.turn,
                body: seen.body.clone(),
                proof,
                spans,
                parts: seen.parts.clone(),
                change,
                usage: None,
            });
        }
        (self.last, self.has_moved, self.has_compacted) = (Some(seen), false, false);
        Ok(())
    }

    #[expect(clippy::type_complexity, reason = "the parts of one result, used once")]
    fn rebuild(
        &self,
        requested: &ModelRequested,
    ) -> Result<(Vec<u8>, Vec<RequestPart>, Vec<BodySpan>, bool), RenderError> {
        let context = context_of(&self.state, requested);
        let request = context.request(&requested.provider, &requested.model, &requested.parameters);
        let (mut media, mut is_lost) = (MediaBytes::new(), false);
        if requested.purpose == Purpose::Turn {
            for it in media_of(requested.wire, &request)? {
                let refused = &self.state.refused_media;
                if refused.is_refused(&requested.provider, &requested.model, &it.blob) {
                    media.insert(it.blob.clone(), Vec::new());
                    continue;
                }
                match (self.blobs)(&it.blob) {
                    Some(bytes) => _ = media.insert(it.blob.clone(), bytes),
                    None => is_lost = true,
                }
            }
        }
        let body = render::render(requested.wire, &request, &media)?;
        let parts = parts::parts_of(&self.state, &request);
        let spans = parts::spans(requested.wire, &request, &media, &body, &parts)?;
        Ok((body, parts, spans, is_lost))
    }

    fn change(&self, before: &SeenRequest, now: &SeenRequest) -> RequestChange {
        let stable = before.body.iter().zip(&now.body).take_while(|(a, b)| a == b).count();
        let first = first_change(&before.parts, &now.parts);
        let (then, new) = (&before.requested, &now.requested);
        let is_other_model = then.provider != new.provider
            || then.model != new.model
            || then.wire != new.wire
            || then.parameters != new.parameters;
        let cause = if is_other_model {
            ChangeCause::OtherModel
        } else if self.has_compacted {
            ChangeCause::Compacted
        } else if self.has_moved {
            ChangeCause::Branched
        } else if then.purpose != new.purpose {
            ChangeCause::OtherPurpose
        } else if matches!(first, None | Some(PartChange::Added(_))) {
            ChangeCause::Continued
        } else {
            ChangeCause::Unexplained
        };
        let (request_before, stable_bytes) = (then.request_id, stable as u64);
        RequestChange { request_before, stable_bytes, first, cause }
    }
}

/// The first part of a request that is not the same as in the one before.
pub fn first_change(before: &[RequestPart], now: &[RequestPart]) -> Option<PartChange> {
    let n_same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
    match (before.get(n_same), now.get(n_same)) {
        (None, None) => None,
        (None, Some(now)) => Some(PartChange::Added(now.source.clone())),
        (Some(before), None) => Some(PartChange::Removed(before.source.clone())),
        (Some(before), Some(now)) => {
            let (before, now) = (before.source.clone(), now.source.clone());
            Some(PartChange::Replaced { before, now })
        }
    }
}

fn usage_in(body: &Body) -> Option<(EventId, Usage)> {
    match body {
        Body::AssistantMessage(it) => Some((it.request_id?, it.usage?)),
        Body::Compact(it) => Some((it.request_id, it.usage)),
        Body::ModelFailed(it) => Some((it.request_id?, it.usage?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
