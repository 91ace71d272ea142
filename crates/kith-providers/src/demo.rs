//! The built-in model that needs no key and no network.
//!
//! It is a set of rules and says so. It exists so that every part of Kith (tools, approvals,
//! memory, the log and its proof) can be tried before anyone has chosen a model; so it gets the
//! same bytes as a real one and answers through the same port.

mod conversation;
mod intent;
mod rules;
mod wire;

use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::models::{FailureKind, Wire};
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, AskContext, Delta, DeltaPart, DeltaSink, FailureCause,
    ModelChoice, Provider,
};
use kith_vocab::secret::filter::SecretFilter;
use tokio_util::sync::CancellationToken;

use crate::answer::PartialAnswer;
use crate::fault::Fault;
use conversation::is_ideograph;
use rules::DemoReply;

/// Nothing in the demo depends on it; a small one lets compaction be tried.
const CONTEXT_WINDOW: u64 = 32_768;

/// The usual rough estimate.
const BYTES_PER_TOKEN: usize = 4;

/// The digest of its address in a log. It has no address, so the digest is fixed.
pub const ENDPOINT_DIGEST: &str = "2a97516c354b6884";

pub struct Demo {
    choice: ModelChoice,
}

pub fn demo() -> Demo {
    Demo {
        choice: ModelChoice {
            provider: "demo".to_owned(),
            wire: Wire::OpenaiChat,
            model: "demo".to_owned(),
            parameters: Json::empty_object(),
            context_window: CONTEXT_WINDOW,
        },
    }
}

impl Provider for Demo {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            let request = wire::read(&body).map_err(|error| {
                let what = format!("could not read the request: {error}");
                let fault = Fault::new(FailureKind::Malformed, what);
                fault.into_failure(
                    &self.choice.provider,
                    &SecretFilter::default(),
                    PartialAnswer::default(),
                )
            })?;
            let reply = rules::reply(&request);
            speak(&reply.text, &*ctx.sink, &ctx.cancel).await?;
            Ok(answer(reply, body.len(), request.n_calls, &*ctx.sink))
        })
    }
}

/// Word by word, as a model would; a stop is heard between any two.
async fn speak(
    text: &str,
    sink: &dyn DeltaSink,
    cancel: &CancellationToken,
) -> Result<(), AnswerFailure> {
    let mut said = 0;
    for word in words(text) {
        if cancel.is_cancelled() {
            let (cause, partial_text) = (FailureCause::Cancelled, text[..said].to_owned());
            return Err(AnswerFailure { cause, partial_text, usage: None });
        }
        sink.delta(Delta { block: 0, part: DeltaPart::Text(word) });
        said += word.len();
        tokio::task::yield_now().await;
    }
    Ok(())
}

fn answer(
    reply: DemoReply,
    body_bytes: usize,
    n_calls_before: usize,
    sink: &dyn DeltaSink,
) -> Answer {
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
    let mut answer_bytes = reply.text.len();
    let mut content = Vec::new();
    if !reply.text.is_empty() {
        content.push(AnswerBlock::Text(reply.text));
    }
    let mut stop_reason = StopReason::EndTurn;
    if let Some(call) = reply.call {
        let block = u32::from(!content.is_empty());
        let delta = |part| sink.delta(Delta { block, part });
        delta(DeltaPart::CallBegun { call: 0, tool: &call.tool });
        delta(DeltaPart::CallInput { call: 0, json: &call.arguments });
        answer_bytes += call.arguments.len();
        content.push(AnswerBlock::Call {
            provider_call_id: format!("demo_{}", n_calls_before + 1),
            tool: call.tool,
            arguments: call.arguments,
        });
        stop_reason = StopReason::ToolCall;
    }
    let usage =
        Usage { input: tokens(body_bytes), output: tokens(answer_bytes), ..Usage::default() };
    Answer { content, usage: Some(usage), stop_reason }
}

/// Pieces that end with a space or an ideograph; together they are the text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|ch: char| ch.is_whitespace() || is_ideograph(ch))
}

#[cfg(test)]
mod tests;
