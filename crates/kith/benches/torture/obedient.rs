//! A model that does what the message says and knows nothing but the request it was sent.
//!
//! A script would lose its place when the process dies; here the same request gets the same
//! answer in every life, as from a vendor.

use std::collections::HashSet;
use std::sync::Mutex;

use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::StopReason;
use kith_vocab::event::models::{FailureKind, Wire};
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, AskContext, FailureCause, ModelChoice, Provider,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) const WRITE: &str = "write_file";
pub(crate) const READ: &str = "read_file";

pub(crate) struct Obedient {
    choice: ModelChoice,
    /// Requests that were failed once and are answered when they come again.
    stumbled: Mutex<HashSet<Vec<u8>>>,
    wants_a_stop: Notify,
}

impl Obedient {
    pub(crate) fn new() -> Obedient {
        let choice = ModelChoice {
            provider: "obedient".to_owned(),
            wire: Wire::OpenaiChat,
            model: "obedient".to_owned(),
            parameters: Json::empty_object(),
            context_window: 128_000,
        };
        Obedient { choice, stumbled: Mutex::default(), wants_a_stop: Notify::new() }
    }

    /// Returns when it was told to be stopped: somebody must cancel its turn then.
    pub(crate) async fn stop_wanted(&self) {
        self.wants_a_stop.notified().await;
    }

    async fn answer(
        &self,
        body: &[u8],
        cancel: CancellationToken,
    ) -> Result<Answer, AnswerFailure> {
        let (wish, n_results) = read_request(body);
        let calls: &[(&str, u32)] = match (wish.split(':').next().unwrap_or_default(), n_results) {
            ("write once" | "write, then write", 0) => &[(WRITE, 1)],
            ("write twice", 0) => &[(WRITE, 1), (WRITE, 2)],
            ("read", 0) => &[(READ, 1), (READ, 2)],
            ("read and write", 0) => &[(READ, 1), (WRITE, 1), (WRITE, 2)],
            ("write, then write", 1) => &[(WRITE, 2)],
            ("fail", _) => return Err(failed("no such key", false)),
            ("stumble", _) if self.is_new(body) => return Err(failed("try again", true)),
            ("stop", _) => {
                self.wants_a_stop.notify_one();
                cancel.cancelled().await;
                let partial_text = "I was about to".to_owned();
                return Err(AnswerFailure {
                    cause: FailureCause::Cancelled,
                    partial_text,
                    usage: None,
                });
            }
            _ => &[],
        };
        let text = if calls.is_empty() { "Done." } else { "Doing it." };
        let mut content = vec![AnswerBlock::Text(text.to_owned())];
        content.extend(calls.iter().enumerate().map(|(index, (tool, n))| AnswerBlock::Call {
            provider_call_id: format!("call_{index}"),
            tool: (*tool).to_owned(),
            arguments: json!({"of": wish, "n": n}).to_string(),
        }));
        let stop_reason = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCall };
        Ok(Answer { content, usage: None, stop_reason })
    }

    fn is_new(&self, body: &[u8]) -> bool {
        self.stumbled.lock().expect("nobody panics here").insert(body.to_vec())
    }
}

impl Provider for Obedient {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move { self.answer(&body, ctx.cancel).await })
    }
}

/// What was said last, and how many results have come since.
fn read_request(body: &[u8]) -> (String, usize) {
    let request: Value = serde_json::from_slice(body).expect("a request is JSON");
    let messages = request["messages"].as_array().expect("a request has messages");
    let role = |message: &Value| message["role"].as_str().unwrap_or_default().to_owned();
    let last = messages.iter().rposition(|it| role(it) == "user").expect("someone spoke");
    let content = &messages[last]["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default();
    let n_results = messages[last..].iter().filter(|it| role(it) == "tool").count();
    (text.to_owned(), n_results)
}

fn failed(message: &str, retryable: bool) -> AnswerFailure {
    let (kind, message) = (FailureKind::Network, message.to_owned());
    let cause = FailureCause::Failed { kind, message, retryable, retry_after_ms: None };
    AnswerFailure { cause, partial_text: String::new(), usage: None }
}
