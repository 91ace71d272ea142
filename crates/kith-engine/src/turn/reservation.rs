//! What a request may use at most: reserved before it is made, replaced by what it used.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kith_vocab::budget::{Budget, Settlement, SpendRefusal, SpendRequest};
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::{FailureKind, Purpose, Reserved};
use kith_vocab::ids::EventId;
use kith_vocab::provider::{
    Answer, AnswerFailure, Delta, DeltaPart, DeltaSink, FailureCause, ModelChoice, Provider,
};
use tokio_util::sync::CancellationToken;

use super::{EffectKind, EffectOutcome, TurnEffect};
use crate::context::summary;
use crate::session::Session;
use crate::spending::{answer_limit, answer_tokens_max};
use crate::state::State;

/// A token has so many bytes or more, save in few scripts.
const BYTES_PER_TOKEN: u64 = 3;

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
        choice: &ModelChoice,
        (most, worst): (Reserved, Option<Reserved>),
    ) -> Result<SpendReservation, SpendRefusal> {
        let (thread_id, at) = (&session.header().thread_id, session.now());
        let ModelChoice { provider, model, .. } = choice;
        let request = SpendRequest { request_id, thread_id, provider, model, at, most, worst };
        budget.reserve(&request)?;
        Ok(SpendReservation { budget: Arc::clone(budget), request_id, is_sent: false })
    }

    pub(super) fn note_sent(&mut self) {
        self.is_sent = true;
    }

    /// Replaces it by what was used, as far as that is known.
    pub(super) fn settle(&self, answer: &Result<Answer, AnswerFailure>) {
        self.budget.settle(self.request_id, settlement(answer));
    }
}

impl Drop for SpendReservation {
    fn drop(&mut self) {
        let settlement =
            if self.is_sent { Settlement::Unknown } else { Settlement::Used(Usage::default()) };
        self.budget.settle(self.request_id, settlement);
    }
}

/// What a request gives a model to read.
#[derive(Clone, Copy)]
pub(super) struct RequestSize {
    text_bytes: u64,
    /// Of images and files.
    media_tokens: u64,
}

impl RequestSize {
    pub(super) fn of(state: &State, body_bytes: u64, purpose: Purpose) -> RequestSize {
        let (media_tokens, media_bytes) = match purpose {
            Purpose::Turn => summary::media(state),
            // It is told of images and files in words.
            Purpose::Compact => (0, 0),
        };
        let mut text_bytes = body_bytes.saturating_sub(media_bytes);
        if media_bytes > 0 {
            // An image that is lost has no bytes in the body.
            text_bytes = text_bytes.max(summary::conversation_bytes(state));
        }
        RequestSize { text_bytes, media_tokens }
    }
}

/// What the request may use at most: all of its text, its images and files, and the longest answer.
pub(super) fn most(provider: &dyn Provider, size: RequestSize) -> Usage {
    let choice = provider.choice();
    let mut input = (size.text_bytes / BYTES_PER_TOKEN).saturating_add(size.media_tokens);
    if choice.context_window > 0 {
        input = input.min(choice.context_window);
    }
    priced(provider, input, answer_tokens_max(&choice.parameters))
}

/// What the request could use if its model read and wrote as much as it can. `None` if the window is
/// unknown. The window in the settings may be smaller than the true one, so the text counts too: a
/// token has at least one byte. An answer without a limit may be as long as the window.
pub(super) fn worst(provider: &dyn Provider, size: RequestSize) -> Option<Reserved> {
    let ModelChoice { context_window: window, parameters, .. } = provider.choice();
    let input = size.text_bytes.saturating_add(size.media_tokens).max(*window);
    let output =
        answer_limit(parameters).unwrap_or_else(|| answer_tokens_max(parameters).max(*window));
    (*window > 0).then(|| reserved(&priced(provider, input, output)))
}

fn priced(provider: &dyn Provider, input: u64, output: u64) -> Usage {
    let usage = Usage { input, output, ..Usage::default() };
    // The vendor may keep the input in its cache, which may cost more than reading it.
    let cached = Usage { input: 0, cache_write: input, ..usage };
    let cost_micros = provider.cost_micros(&usage).max(provider.cost_micros(&cached));
    Usage { cost_micros, ..usage }
}

/// Waits until a request that is under way is settled; then the next decision tries again.
pub(super) fn wait(settled: BoxFuture<'static, ()>, time_left: Duration) -> TurnEffect {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let future = Box::pin(async move {
        stop.run_until_cancelled(settled).await;
        EffectOutcome::BudgetSettled
    });
    TurnEffect { kind: EffectKind::AwaitBudget, future, cancel, time_left }
}

pub(super) fn reserved(most: &Usage) -> Reserved {
    Reserved { tokens: most.input.saturating_add(most.output), cost_micros: most.cost_micros }
}

/// Counts the bytes of an answer while it streams.
pub(super) struct StreamCounter {
    sink: Arc<dyn DeltaSink>,
    n_bytes: AtomicU64,
}

impl StreamCounter {
    pub(super) fn new(sink: Arc<dyn DeltaSink>) -> StreamCounter {
        StreamCounter { sink, n_bytes: AtomicU64::new(0) }
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes.load(Ordering::Relaxed)
    }
}

impl DeltaSink for StreamCounter {
    fn delta(&self, delta: Delta<'_>) {
        let text = match delta.part {
            DeltaPart::Text(text) | DeltaPart::Thinking(text) => text,
            DeltaPart::CallBegun { tool, .. } => tool,
            DeltaPart::CallInput { json, .. } => json,
        };
        self.n_bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
        self.sink.delta(delta);
    }
}

/// Estimates what an unfinished answer used, if the vendor did not say: the whole request and what
/// was streamed, never more than was reserved. Without anything streamed, only a stopped answer is
/// estimated: a refused request costs nothing, and what a silent server did is not known.
pub(super) fn estimate_usage(
    failure: &mut AnswerFailure,
    provider: &dyn Provider,
    most: &Usage,
    streamed_bytes: u64,
) {
    let has_cost = streamed_bytes > 0 || failure.cause == FailureCause::Cancelled;
    if failure.usage.is_some() || !has_cost {
        return;
    }
    let output = streamed_bytes.div_ceil(BYTES_PER_TOKEN).min(most.output);
    let usage = Usage { input: most.input, output, is_estimate: true, ..Usage::default() };
    let cost_micros = provider.cost_micros(&usage).min(most.cost_micros);
    failure.usage = Some(Usage { cost_micros, ..usage });
}

/// What is known of what a request used. One that failed before an answer began used nothing; if it
/// was sent and a server fell silent, nobody knows, so its reservation stays.
fn settlement(answer: &Result<Answer, AnswerFailure>) -> Settlement {
    match answer {
        Ok(answer) => answer.usage.map_or(Settlement::Uncounted, Settlement::Used),
        Err(AnswerFailure { usage: Some(usage), .. }) => Settlement::Used(*usage),
        Err(AnswerFailure { cause: FailureCause::Failed { kind, .. }, .. })
            if !matches!(kind, FailureKind::Cut | FailureKind::Timeout) =>
        {
            Settlement::Used(Usage::default())
        }
        Err(_) => Settlement::Unknown,
    }
}
