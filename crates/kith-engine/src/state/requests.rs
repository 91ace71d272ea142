//! What came of requests to models: how one failed, what a turn used, how large the context is.

use kith_vocab::event::Body;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::models::{FailureKind, ModelFailed, Purpose};
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

/// Text that no vendor has counted yet is taken to have so many bytes a token.
const BYTES_PER_TOKEN: u64 = 3;

/// The model could not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    pub kind: FailureKind,
    pub attempt: u32,
    pub retry_at: Option<u64>,
}

impl ModelFailure {
    /// Attempts are counted anew for each model.
    pub(super) fn of(failed: &ModelFailed) -> ModelFailure {
        let attempt = if failed.fallback.is_some() { 0 } else { failed.attempt };
        ModelFailure { kind: failed.kind, attempt, retry_at: failed.retry_at }
    }
}

/// The sum of what the requests of a turn used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    pub tokens: u64,
    pub cost_micros: u64,
}

impl TurnUsage {
    pub(super) fn add(&mut self, usage: &Usage) {
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        self.tokens = tokens.into_iter().fold(self.tokens, u64::saturating_add);
        self.cost_micros = self.cost_micros.saturating_add(usage.cost_micros.unwrap_or(0));
    }
}

/// The size of the context in tokens, estimated from the last request whose tokens were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSize {
    /// The last request, and the bytes of its body.
    asked: Option<(EventId, u64)>,
    /// The bytes of the last body that was answered to the end.
    answered: Option<u64>,
    /// The bytes of the last body that was counted, and its tokens.
    counted: Option<(u64, u64)>,
}

impl ContextSize {
    pub(super) fn fold(&mut self, body: &Body) {
        match body {
            Body::ModelRequested(it) if it.purpose == Purpose::Turn => {
                self.asked = Some((it.request_id, it.body_bytes));
            }
            Body::AssistantMessage(it) => {
                let is_whole = !matches!(it.stop_reason, StopReason::Cancelled | StopReason::Error);
                if let Some((request, bytes)) = self.asked
                    && it.request_id == Some(request)
                    && is_whole
                {
                    self.answered = Some(bytes);
                }
                if let (Some((request, bytes)), Some(usage)) = (self.asked, &it.usage)
                    && it.request_id == Some(request)
                    && !usage.is_estimate
                {
                    let tokens = [usage.input, usage.cache_read, usage.cache_write];
                    let tokens = tokens.into_iter().fold(0, u64::saturating_add);
                    self.counted = (tokens > 0).then_some((bytes, tokens)).or(self.counted);
                }
            }
            // What is shown next is shorter than what was counted.
            Body::Compact(_) | Body::LeafMoved(_) => *self = ContextSize::default(),
            _ => (),
        }
    }

    pub fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// The tokens of the last request that was answered to the end.
    pub fn answered_tokens(&self) -> Option<u64> {
        self.answered.map(|bytes| self.tokens(bytes))
    }

    /// The tokens of a body of this length that continues the last one.
    pub fn tokens(&self, body_bytes: u64) -> u64 {
        match self.counted {
            Some((bytes, tokens)) if bytes <= body_bytes => {
                tokens.saturating_add((body_bytes - bytes) / BYTES_PER_TOKEN)
            }
            _ => body_bytes / BYTES_PER_TOKEN,
        }
    }
}
