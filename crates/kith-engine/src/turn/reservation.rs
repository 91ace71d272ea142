//! What a request may use at most: reserved before it is made, replaced by what it used.

use std::sync::Arc;

use kith_vocab::budget::{Budget, CapReached, SpendRequest};
use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::{FailureKind, Purpose, Reserved};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::provider::{Answer, AnswerFailure, FailureCause, Provider};

use crate::context::summary;
use crate::session::Session;
use crate::state::State;

/// The longest answer that is reckoned with when a request does not limit it.
const ANSWER_TOKENS_USUAL: u64 = 8_192;
/// What vendors call that limit.
const ANSWER_LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// A reservation of the budget. It is open as long as this lives; what nobody settled by then stays
/// spent if the request was sent, and is given back if not.
pub(super) struct SpendReservation {
    budget: Arc<dyn Budget>,
    request_id: EventId,
    is_sent: bool,
}

impl SpendReservation {
    pub(super) fn make(
        session: &Session,
        budget: &Arc<dyn Budget>,
        request_id: EventId,
        most: Reserved,
    ) -> Result<SpendReservation, CapReached> {
        let (thread_id, at) = (&session.header().thread_id, session.now());
        budget.reserve(&SpendRequest { request_id, thread_id, at, most })?;
        Ok(SpendReservation { budget: Arc::clone(budget), request_id, is_sent: false })
    }

    pub(super) fn note_sent(&mut self) {
        self.is_sent = true;
    }

    /// Replaces it by what was used, as far as that is known.
    pub(super) fn settle(&self, answer: &Result<Answer, AnswerFailure>) {
        self.budget.settle(self.request_id, used(answer).as_ref());
    }
}

impl Drop for SpendReservation {
    fn drop(&mut self) {
        let nothing = (!self.is_sent).then(Usage::default);
        self.budget.settle(self.request_id, nothing.as_ref());
    }
}

/// What the request may use at most: all of its text, its images and files, and the longest answer.
pub(super) fn most(
    provider: &dyn Provider,
    state: &State,
    body_bytes: u64,
    purpose: Purpose,
) -> Reserved {
    let choice = provider.choice();
    let (media_tokens, media_bytes) = match purpose {
        Purpose::Turn => summary::media(state),
        // It is told of images and files in words.
        Purpose::Compact => (0, 0),
    };
    // A token has three bytes at least, save in few scripts.
    let mut text_bytes = body_bytes.saturating_sub(media_bytes);
    if media_bytes > 0 {
        // An image that is lost has no bytes in the body.
        text_bytes = text_bytes.max(summary::conversation_bytes(state));
    }
    let mut input = (text_bytes / 3).saturating_add(media_tokens);
    if choice.context_window > 0 {
        input = input.min(choice.context_window);
    }
    let output = answer_tokens_max(&choice.parameters);
    let usage = Usage { input, output, ..Usage::default() };
    Reserved { tokens: input.saturating_add(output), cost_micros: provider.cost_micros(&usage) }
}

/// The limit that the request itself sets on its answer.
fn answer_tokens_max(parameters: &Json) -> u64 {
    let members: serde_json::Map<String, serde_json::Value> = parameters.read().unwrap_or_default();
    let limits = ANSWER_LIMITS.iter().filter_map(|name| members.get(*name)?.as_u64());
    limits.min().unwrap_or(ANSWER_TOKENS_USUAL)
}

/// What is known of what a request used. One that failed before an answer began used nothing; of one
/// that broke off nobody knows, so its reservation stays.
fn used(answer: &Result<Answer, AnswerFailure>) -> Option<Usage> {
    match answer {
        Ok(answer) => answer.usage,
        Err(AnswerFailure { cause: FailureCause::Failed { .. }, usage: Some(usage), .. }) => {
            Some(*usage)
        }
        Err(AnswerFailure { cause: FailureCause::Failed { kind, .. }, .. })
            if !matches!(kind, FailureKind::Cut | FailureKind::Timeout) =>
        {
            Some(Usage::default())
        }
        Err(_) => None,
    }
}
