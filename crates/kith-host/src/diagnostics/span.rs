//! Spans of turns, requests and calls, after the GenAI conventions of OpenTelemetry, and their JSON as
//! OTLP/HTTP has it.
//!
//! Written by hand: the crates of OpenTelemetry would bring an SDK, gRPC and protobuf for what is one
//! object. Of the mapping these are easy to get wrong: ids are hex, whole numbers of 64 bits are
//! strings, enumerations are numbers.

use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::models::Wire;
use kith_vocab::ids::{CallId, EventId, SessionId};
use serde_json::{Value, json};

/// Milliseconds to nanoseconds.
const NANOS: u128 = 1_000_000;
/// Length of a name in a span.
const NAME_CHARS_MAX: usize = 120;

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceSpan {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// Milliseconds since 1970.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Vec<(&'static str, SpanValue)>,
    /// Why it failed, in a word of ours.
    pub(super) error: Option<String>,
}

/// The numbers are those of OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal = 1,
    Client = 3,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SpanValue {
    Text(String),
    Number(u64),
    Texts(Vec<String>),
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> SpanValue {
        SpanValue::Text(short_name(text))
    }
}

impl From<u64> for SpanValue {
    fn from(number: u64) -> SpanValue {
        SpanValue::Number(number)
    }
}

/// A name as spans carry it.
pub(super) fn short_name(name: &str) -> String {
    name.chars().filter(|ch| !ch.is_control()).take(NAME_CHARS_MAX).collect()
}

/// The id of the trace of a turn.
pub(super) fn trace_id(turn: EventId) -> u128 {
    turn.as_uuid().as_u128()
}

/// The id of a turn's or a request's span: the random half of its event's id.
pub(super) fn span_id(event: EventId) -> u64 {
    event.as_uuid().as_u64_pair().1
}

pub(super) fn call_span_id(call: CallId) -> u64 {
    span_id(call.answer).wrapping_add(u64::from(call.index) + 1)
}

/// What a model's wire is called in the conventions, if the owner's name for the server does not say it.
pub(super) fn provider_name(provider: &str, wire: Wire) -> String {
    match (provider, wire) {
        ("", Wire::Anthropic) => "anthropic".to_owned(),
        ("", _) => "openai".to_owned(),
        (provider, _) => short_name(provider),
    }
}

pub(super) fn conversation(session_id: SessionId) -> (&'static str, SpanValue) {
    ("gen_ai.conversation.id", SpanValue::Text(session_id.to_string()))
}

/// In the conventions the tokens of a request are all of them, also those that a cache had.
pub(super) fn usage_attributes(usage: &Usage) -> [(&'static str, SpanValue); 4] {
    let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    [
        ("gen_ai.usage.input_tokens", input.into()),
        ("gen_ai.usage.output_tokens", usage.output.into()),
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read.into()),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write.into()),
    ]
}

pub(super) fn error_attribute(error: Option<&String>) -> Option<(&'static str, SpanValue)> {
    error.map(|it| ("error.type", SpanValue::Text(it.clone())))
}

/// As the conventions write it.
pub(super) fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolCall => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Cancelled => "cancelled",
        StopReason::Error => "error",
    }
}

/// The body of a request to a collector.
pub(super) fn export_request(spans: &[TraceSpan]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource =
        [("service.name", SpanValue::from("kith")), ("service.version", SpanValue::from(version))];
    json!({ "resourceSpans": [{
        "resource": { "attributes": attributes(&resource) },
        "scopeSpans": [{
            "scope": { "name": "kith", "version": version },
            "spans": spans.iter().map(span).collect::<Vec<Value>>(),
        }],
    }] })
}

fn span(span: &TraceSpan) -> Value {
    let mut object = json!({
        "traceId": format!("{:032x}", span.trace_id),
        "spanId": format!("{:016x}", span.span_id),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": (u128::from(span.start) * NANOS).to_string(),
        "endTimeUnixNano": (u128::from(span.end.max(span.start)) * NANOS).to_string(),
        "attributes": attributes(&span.attributes),
    });
    if let Some(parent) = span.parent {
        object["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    // 2 is `ERROR`; a span that did not fail says nothing, which is `UNSET`.
    if let Some(error) = &span.error {
        object["status"] = json!({ "code": 2, "message": error });
    }
    object
}

fn attributes(attributes: &[(&'static str, SpanValue)]) -> Vec<Value> {
    let attributes = attributes.iter();
    attributes.map(|(key, value)| json!({ "key": key, "value": any_value(value) })).collect()
}

fn any_value(value: &SpanValue) -> Value {
    match value {
        SpanValue::Text(text) => json!({ "stringValue": text }),
        SpanValue::Number(number) => json!({ "intValue": number.to_string() }),
        SpanValue::Texts(texts) => {
            let values: Vec<Value> =
                texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
    }
}

#[cfg(test)]
mod tests;
