//! A model behind a vendor's wire.
//!
//! A provider gets the bytes of a request, already written into the log by their hash, and gives
//! back a whole answer or the reason there is none. It never decides what is sent.

use tokio_util::sync::CancellationToken;

use crate::block::Thinking;
use crate::clock::BoxFuture;
use crate::event::messages::{StopReason, Usage};
use crate::event::models::{FailureKind, Wire};
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

    /// Sends the body and reads the answer to its end. `tap` sees the answer grow.
    fn ask<'a>(
        &'a self,
        body: Vec<u8>,
        tap: &'a dyn Tap,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Unfinished>>;
}

/// A live, lossy view of an answer for screens. Nothing may rely on it.
pub trait Tap: Send + Sync {
    fn delta(&self, delta: Delta<'_>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    Text(&'a str),
    Thinking(&'a str),
    /// The model began to call a tool; its arguments are not complete yet.
    CallBegun {
        tool: &'a str,
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
pub struct Unfinished {
    pub cause: Cause,
    /// What had been said by then. Only text: a half call or unsigned thinking is worth nothing.
    pub partial_text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
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
