//! A model behind a vendor's wire.
//!
//! A provider gets the bytes of a request, already written into the log by their hash, and gives
//! back a whole answer or the reason there is none. It never decides what is sent.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::block::Thinking;
use crate::clock::BoxFuture;
use crate::event::messages::{StopReason, Usage};
use crate::event::models::{FailureKind, ModelRef, Wire};
use crate::json::Json;

/// Which model, by which wire, with what parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    pub provider: String,
    pub wire: Wire,
    pub model: String,
    /// A JSON object whose members enter the body as they are.
    pub parameters: Json,
    /// In tokens.
    pub context_window: u64,
}

pub trait Provider: Send + Sync {
    fn choice(&self) -> &ModelChoice;

    /// What so many tokens cost in micro-USD, if that is known.
    fn cost_micros(&self, _usage: &Usage) -> Option<u64> {
        None
    }

    /// Sends the body and reads the answer to its end.
    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>>;
}

/// What a request may use besides its body.
#[derive(Clone)]
pub struct AskContext {
    /// What is left of the turn's time, from now on.
    pub time_left: Duration,
    /// When it is set, the provider stops soon and returns what was said so far.
    pub cancel: CancellationToken,
    /// Sees the answer grow.
    pub sink: Arc<dyn DeltaSink>,
}

/// Finds the models that a message named.
pub trait Models: Send + Sync {
    /// Returns the model exactly as it was recorded. A model of the same name at another address is
    /// another model: what was said goes only where its author wanted it to go.
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, ModelUnavailable>;
}

/// The model of a message cannot be asked from here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ModelUnavailable {
    /// One sentence: which model, and why it cannot be asked.
    pub reason: String,
}

/// A live, lossy view of an answer, for screens and estimates. Nothing may rely on it.
pub trait DeltaSink: Send + Sync {
    fn delta(&self, delta: Delta<'_>);
}

/// A piece of an answer, and the block of the answer that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// The index of the block among the answer's blocks, from 0.
    pub block: u32,
    pub part: DeltaPart<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaPart<'a> {
    Text(&'a str),
    Thinking(&'a str),
    /// The model began to call a tool; its arguments are not complete yet.
    CallBegun {
        /// The index of the call among the answer's calls, from 0.
        call: u32,
        tool: &'a str,
    },
    /// More of the call's arguments, as the vendor sends them.
    CallInput {
        call: u32,
        json: &'a str,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub content: Vec<AnswerBlock>,
    pub usage: Option<Usage>,
    pub stop_reason: StopReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerBlock {
    Text(String),
    Thinking(Thinking),
    Call {
        provider_call_id: String,
        tool: String,
        /// As the vendor sent them; they may not be JSON.
        arguments: String,
    },
}

/// An answer that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFailure {
    pub cause: FailureCause,
    /// The text so far. Half a call or unsigned thinking is useless and not kept.
    pub partial_text: String,
    /// What the vendor said so far that it used.
    pub usage: Option<Usage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureCause {
    Cancelled,
    Failed {
        kind: FailureKind,
        /// One sentence: what happened and, where we know it, what to do.
        message: String,
        /// Whether the same request may succeed later.
        retryable: bool,
        /// The vendor's own word on when.
        retry_after_ms: Option<u64>,
    },
}
