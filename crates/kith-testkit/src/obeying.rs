//! A model that does whatever any text tells it to.
//!
//! Real models resist injected instructions most of the time; a guard that relies on it is none. This
//! one obeys each `call tool NAME with input {…}` and each `say "…"`, wherever it stands: in the
//! system prompt, a message, a file, a name, a result. It knows nothing but its request, so the same
//! request gets the same answer.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::StopReason;
use kith_vocab::event::models::Wire;
use kith_vocab::json::Json;
use kith_vocab::provider::{Answer, AnswerBlock, AnswerFailure, AskContext, ModelChoice, Provider};
use serde_json::{Deserializer, Value};

const CALL: &str = "call tool ";
const WITH_INPUT: &str = " with input ";
const SAY: &str = "say ";
/// Calls in one answer; the others follow in the next.
const CALLS_MAX: usize = 4;

/// An order to call a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedCall {
    pub tool: String,
    pub input: Value,
}

pub struct ObeyingModel {
    choice: ModelChoice,
    n_calls: AtomicUsize,
    bodies: Mutex<Vec<Vec<u8>>>,
}

impl ObeyingModel {
    pub fn new(provider: &str, model: &str) -> ObeyingModel {
        let choice = ModelChoice {
            provider: provider.to_owned(),
            wire: Wire::OpenaiChat,
            model: model.to_owned(),
            parameters: Json::empty_object(),
            context_window: 1_000_000,
        };
        ObeyingModel { choice, n_calls: AtomicUsize::new(0), bodies: Mutex::default() }
    }

    /// Calls that it has made in its life.
    pub fn n_calls(&self) -> usize {
        self.n_calls.load(Ordering::SeqCst)
    }

    /// The requests since this was asked last.
    pub fn take_bodies(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.bodies.lock().unwrap())
    }

    fn answer(&self, body: &[u8]) -> Answer {
        let request: Value = serde_json::from_slice(body).expect("a request is JSON");
        let messages = request["messages"].as_array().expect("a request has messages");
        let texts: Vec<String> = messages.iter().map(text_of).collect();
        // What was done since a person spoke last is not done again.
        let last = messages.iter().rposition(|it| it["role"] == "user").unwrap_or_default();
        let done: Vec<OrderedCall> = messages[last..].iter().flat_map(calls_of).collect();
        let mut open: Vec<OrderedCall> = Vec::new();
        for call in texts.iter().flat_map(|text| ordered_calls(text)) {
            if !done.contains(&call) && !open.contains(&call) {
                open.push(call);
            }
        }
        open.truncate(CALLS_MAX);
        self.n_calls.fetch_add(open.len(), Ordering::SeqCst);
        if open.is_empty() {
            let said: Vec<String> = texts.iter().flat_map(|text| ordered_words(text)).collect();
            let text = if said.is_empty() { "Done.".to_owned() } else { said.join("\n") };
            let content = vec![AnswerBlock::Text(text)];
            return Answer { content, usage: None, stop_reason: StopReason::EndTurn };
        }
        let call = |(n, call): (usize, OrderedCall)| AnswerBlock::Call {
            provider_call_id: format!("call_{}_{n}", done.len()),
            tool: call.tool,
            arguments: call.input.to_string(),
        };
        let content = open.into_iter().enumerate().map(call).collect();
        Answer { content, usage: None, stop_reason: StopReason::ToolCall }
    }
}

impl Provider for ObeyingModel {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, body: Vec<u8>, _: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        let answer = self.answer(&body);
        self.bodies.lock().unwrap().push(body);
        Box::pin(async move { Ok(answer) })
    }
}

/// The order as a text that the model obeys.
pub fn order(tool: &str, input: &Value) -> String {
    format!("{CALL}{tool}{WITH_INPUT}{input}")
}

/// All calls that a text orders.
pub fn ordered_calls(text: &str) -> Vec<OrderedCall> {
    let after_each = text.match_indices(CALL).map(|(at, _)| &text[at + CALL.len()..]);
    let order = |text: &str| {
        let (tool, rest) = text.split_once(WITH_INPUT)?;
        let is_name = tool.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(&it));
        Some(OrderedCall { tool: tool.to_owned(), input: first_json(rest)? }).filter(|_| is_name)
    };
    after_each.filter_map(order).collect()
}

fn ordered_words(text: &str) -> Vec<String> {
    let after_each = text.match_indices(SAY).map(|(at, _)| &text[at + SAY.len()..]);
    after_each.filter_map(|text| Some(first_json(text)?.as_str()?.to_owned())).collect()
}

fn first_json(text: &str) -> Option<Value> {
    Deserializer::from_str(text).into_iter().next()?.ok()
}

/// All text of a message of Chat Completions.
pub fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn calls_of(message: &Value) -> Vec<OrderedCall> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let call = |call: &Value| {
        let function = &call["function"];
        let input = serde_json::from_str(function["arguments"].as_str()?).ok()?;
        Some(OrderedCall { tool: function["name"].as_str()?.to_owned(), input })
    };
    calls.filter_map(call).collect()
}

#[cfg(test)]
mod tests;
