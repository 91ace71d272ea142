//! A model that answers from a script.
//!
//! It keeps every body it was sent, because what a model was sent is half of what the engine
//! promises; and it never runs dry, because a test that asks too often should fail on what it
//! compares, not hang.

mod models;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kith_vocab::block::Thinking;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::models::{FailureKind, Wire};
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, AskContext, Delta, DeltaPart, DeltaSink, FailureCause,
    ModelChoice, Provider,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;
use crate::sha256_hex;

pub use models::ScriptedModels;

/// What the model says when its script is over.
pub const END_OF_SCRIPT: &str = "(end of script)";

/// One turn of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptedTurn {
    Answers(Answer),
    /// Says the text, then ends like this.
    Breaks {
        partial: String,
        cause: FailureCause,
    },
    /// Says the text, then nothing until it is cancelled.
    Waits {
        partial: String,
    },
    /// Says nothing until the gate is open, then goes on. A cancel ends the wait.
    Behind {
        gate: Gate,
        turn: Box<ScriptedTurn>,
    },
    /// Says nothing and never returns, even when it is cancelled: a model that breaks the rule.
    Hangs,
}

/// A request as the model received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedBody {
    pub bytes: Vec<u8>,
    pub sha256: String,
}

type Hook = Arc<dyn Fn(usize) + Send + Sync>;

pub struct ScriptedModel {
    choice: ModelChoice,
    hook: Option<Hook>,
    script: Mutex<VecDeque<ScriptedTurn>>,
    received: Mutex<Vec<ReceivedBody>>,
    times_left: Mutex<Vec<Duration>>,
}

impl ScriptedModel {
    pub fn new(script: impl IntoIterator<Item = ScriptedTurn>) -> ScriptedModel {
        ScriptedModel {
            choice: ModelChoice {
                provider: "scripted".to_owned(),
                wire: Wire::OpenaiChat,
                model: "scripted".to_owned(),
                parameters: Json::empty_object(),
                context_window: 128_000,
            },
            hook: None,
            script: Mutex::new(script.into_iter().collect()),
            received: Mutex::default(),
            times_left: Mutex::default(),
        }
    }

    #[must_use]
    pub fn with_wire(mut self, wire: Wire) -> ScriptedModel {
        self.choice.wire = wire;
        self
    }

    #[must_use]
    pub fn with_choice(mut self, choice: ModelChoice) -> ScriptedModel {
        self.choice = choice;
        self
    }

    /// Called with the number of the request, from 1, before it is answered: the moment at which
    /// a person types on, or the process dies.
    #[must_use]
    pub fn with_hook(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> ScriptedModel {
        self.hook = Some(Arc::new(hook));
        self
    }

    #[must_use]
    pub fn says(self, text: &str) -> ScriptedModel {
        self.answers(vec![AnswerBlock::Text(text.to_owned())], StopReason::EndTurn)
    }

    /// Thinks, with a signature, and then says the text.
    #[must_use]
    pub fn thinks(self, thought: &str, text: &str) -> ScriptedModel {
        let thinking =
            Thinking { text: thought.into(), signature: Some("signature".into()), redacted: None };
        let content = vec![AnswerBlock::Thinking(thinking), AnswerBlock::Text(text.to_owned())];
        self.answers(content, StopReason::EndTurn)
    }

    /// Says the text, unless it is empty, and calls the tools.
    #[must_use]
    pub fn calls(self, text: &str, calls: &[(&str, Value)]) -> ScriptedModel {
        let calls: Vec<(&str, String)> =
            calls.iter().map(|(tool, input)| (*tool, input.to_string())).collect();
        self.calls_raw(text, &calls, StopReason::ToolCall)
    }

    /// Like `calls`, with arguments that need not be JSON and any reason to stop.
    #[must_use]
    pub fn calls_raw(
        self,
        text: &str,
        calls: &[(&str, String)],
        stop_reason: StopReason,
    ) -> ScriptedModel {
        let text = (!text.is_empty()).then(|| AnswerBlock::Text(text.to_owned()));
        let calls = calls.iter().enumerate().map(|(index, (tool, arguments))| AnswerBlock::Call {
            provider_call_id: format!("call_{index}"),
            tool: (*tool).to_owned(),
            arguments: arguments.clone(),
        });
        self.answers(text.into_iter().chain(calls).collect(), stop_reason)
    }

    #[must_use]
    pub fn answers(self, content: Vec<AnswerBlock>, stop_reason: StopReason) -> ScriptedModel {
        self.then(ScriptedTurn::Answers(Answer { content, usage: None, stop_reason }))
    }

    /// An answer with nothing in it.
    #[must_use]
    pub fn empty(self) -> ScriptedModel {
        self.answers(Vec::new(), StopReason::EndTurn)
    }

    #[must_use]
    pub fn fails(self, kind: FailureKind, retryable: bool) -> ScriptedModel {
        self.breaks("", kind, retryable)
    }

    /// The stream ends in the middle of an answer.
    #[must_use]
    pub fn cut(self, partial: &str) -> ScriptedModel {
        self.breaks(partial, FailureKind::Cut, true)
    }

    /// Does not answer until it is cancelled.
    #[must_use]
    pub fn waits(self) -> ScriptedModel {
        self.waits_after("")
    }

    #[must_use]
    pub fn waits_after(self, partial: &str) -> ScriptedModel {
        self.then(ScriptedTurn::Waits { partial: partial.to_owned() })
    }

    /// Never returns, even when it is cancelled.
    #[must_use]
    pub fn hangs(self) -> ScriptedModel {
        self.then(ScriptedTurn::Hangs)
    }

    /// Lets the turn that was scripted last wait for the gate.
    #[must_use]
    pub fn behind(self, gate: &Gate) -> ScriptedModel {
        let last = self.script.lock().unwrap().pop_back();
        let turn = Box::new(last.expect("`behind` stands after the turn that waits"));
        self.then(ScriptedTurn::Behind { gate: gate.clone(), turn })
    }

    #[must_use]
    pub fn then(self, turn: ScriptedTurn) -> ScriptedModel {
        self.script.lock().unwrap().push_back(turn);
        self
    }

    fn breaks(self, partial: &str, kind: FailureKind, retryable: bool) -> ScriptedModel {
        let message = "the script says so".to_owned();
        let cause = FailureCause::Failed { kind, message, retryable, retry_after_ms: None };
        self.then(ScriptedTurn::Breaks { partial: partial.to_owned(), cause })
    }

    pub fn bodies(&self) -> Vec<ReceivedBody> {
        self.received.lock().unwrap().clone()
    }

    /// How much time each request was given.
    pub fn times_left(&self) -> Vec<Duration> {
        self.times_left.lock().unwrap().clone()
    }

    /// How many turns of the script have not been asked for.
    pub fn n_turns_left(&self) -> usize {
        self.script.lock().unwrap().len()
    }

    fn next_turn(&self) -> ScriptedTurn {
        let end = || {
            ScriptedTurn::Answers(Answer {
                content: vec![AnswerBlock::Text(END_OF_SCRIPT.to_owned())],
                usage: None,
                stop_reason: StopReason::EndTurn,
            })
        };
        self.script.lock().unwrap().pop_front().unwrap_or_else(end)
    }
}

impl Default for ScriptedModel {
    fn default() -> ScriptedModel {
        ScriptedModel::new([])
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("choice", &self.choice)
            .field("script", &self.script)
            .finish_non_exhaustive()
    }
}

impl Provider for ScriptedModel {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            let n_body_bytes = body.len();
            let number = {
                let mut received = self.received.lock().unwrap();
                received.push(ReceivedBody { sha256: sha256_hex(&body), bytes: body });
                received.len()
            };
            self.times_left.lock().unwrap().push(ctx.time_left);
            if let Some(hook) = &self.hook {
                hook(number);
            }
            let cancelled = |partial_text: String| AnswerFailure {
                cause: FailureCause::Cancelled,
                partial_text,
                usage: None,
            };
            if ctx.cancel.is_cancelled() {
                return Err(cancelled(String::new()));
            }
            let mut turn = self.next_turn();
            while let ScriptedTurn::Behind { gate, turn: held } = turn {
                tokio::select! {
                    biased;
                    () = ctx.cancel.cancelled() => return Err(cancelled(String::new())),
                    () = gate.pass() => turn = *held,
                }
            }
            match turn {
                ScriptedTurn::Answers(mut answer) => {
                    let counted = usage(n_body_bytes, &answer);
                    answer.usage.get_or_insert(counted);
                    stream(&answer, &*ctx.sink);
                    Ok(answer)
                }
                ScriptedTurn::Breaks { partial, cause } => {
                    stream_text(0, &partial, &*ctx.sink);
                    Err(AnswerFailure { cause, partial_text: partial, usage: None })
                }
                ScriptedTurn::Waits { partial } => {
                    stream_text(0, &partial, &*ctx.sink);
                    ctx.cancel.cancelled().await;
                    Err(cancelled(partial))
                }
                ScriptedTurn::Hangs => std::future::pending().await,
                ScriptedTurn::Behind { .. } => unreachable!("every gate was passed"),
            }
        })
    }
}

fn stream(answer: &Answer, sink: &dyn DeltaSink) {
    let mut call = 0;
    for (block, content) in (0..).zip(&answer.content) {
        match content {
            AnswerBlock::Text(text) => stream_text(block, text, sink),
            AnswerBlock::Thinking(thinking) => {
                sink.delta(Delta { block, part: DeltaPart::Thinking(&thinking.text) });
            }
            AnswerBlock::Call { tool, arguments, .. } => {
                sink.delta(Delta { block, part: DeltaPart::CallBegun { call, tool } });
                sink.delta(Delta { block, part: DeltaPart::CallInput { call, json: arguments } });
                call += 1;
            }
        }
    }
}

// In several pieces, so that nobody comes to rely on one delta being one answer.
fn stream_text(block: u32, text: &str, sink: &dyn DeltaSink) {
    let pieces = text.split_inclusive(' ');
    pieces.for_each(|piece| sink.delta(Delta { block, part: DeltaPart::Text(piece) }));
}

// Not what a tokenizer would say, but the same on every run.
fn usage(n_body_bytes: usize, answer: &Answer) -> Usage {
    let said = |block: &AnswerBlock| match block {
        AnswerBlock::Text(text) => text.len(),
        AnswerBlock::Thinking(thinking) => thinking.text.len(),
        AnswerBlock::Call { arguments, .. } => arguments.len(),
    };
    let output: usize = answer.content.iter().map(said).sum();
    Usage { input: n_body_bytes as u64 / 4, output: output as u64 / 4 + 1, ..Usage::default() }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentTap;

impl DeltaSink for SilentTap {
    fn delta(&self, _delta: Delta<'_>) {}
}

/// What a test gives a request: an hour, nobody who watches.
pub fn ask_context(cancel: &CancellationToken) -> AskContext {
    const HOUR: Duration = Duration::from_hours(1);
    AskContext { time_left: HOUR, cancel: cancel.clone(), sink: Arc::new(SilentTap) }
}

/// Keeps what it sees, one line per delta: the block's index, then what came.
#[derive(Debug, Default)]
pub struct RecordingTap(Mutex<Vec<String>>);

impl RecordingTap {
    pub fn seen(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl DeltaSink for RecordingTap {
    fn delta(&self, delta: Delta<'_>) {
        let part = match delta.part {
            DeltaPart::Text(text) => format!("text {text}"),
            DeltaPart::Thinking(text) => format!("thinking {text}"),
            DeltaPart::CallBegun { call, tool } => format!("call {call} {tool}"),
            DeltaPart::CallInput { call, json } => format!("input {call} {json}"),
        };
        let line = format!("{} {part}", delta.block);
        self.0.lock().unwrap().push(line);
    }
}

#[cfg(test)]
mod tests;
