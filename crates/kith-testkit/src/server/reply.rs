//! What the server says, byte for byte.

use serde_json::{Value, json};

use crate::gate::Gate;
use crate::scripted::END_OF_SCRIPT;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerReply {
    Text(String),
    /// A text, unless it is empty, and calls: tool and arguments. The arguments come in two pieces.
    Calls {
        text: String,
        calls: Vec<(String, String)>,
    },
    Raw {
        status: u16,
        content_type: String,
        body: Vec<u8>,
    },
    /// The connection ends after so many bytes of the reply's body.
    Cut {
        after: usize,
        reply: Box<ServerReply>,
    },
    /// The reply, once the gate is open.
    Behind {
        gate: Gate,
        reply: Box<ServerReply>,
    },
    /// A page where a stream should be.
    Html,
    TooManyRequests {
        retry_after_secs: u64,
    },
    ServerError,
    /// Text without end, one event after each pause.
    Trickle {
        pause_ms: u64,
    },
    /// Comments without end, one after each pause, and no answer.
    Pings {
        pause_ms: u64,
    },
    /// Not one byte.
    Hang,
}

impl ServerReply {
    pub fn text(text: &str) -> ServerReply {
        ServerReply::Text(text.to_owned())
    }

    pub fn calls(text: &str, calls: &[(&str, Value)]) -> ServerReply {
        let calls = calls.iter().map(|(tool, input)| ((*tool).to_owned(), input.to_string()));
        ServerReply::Calls { text: text.to_owned(), calls: calls.collect() }
    }

    #[must_use]
    pub fn behind(self, gate: &Gate) -> ServerReply {
        ServerReply::Behind { gate: gate.clone(), reply: Box::new(self) }
    }

    #[must_use]
    pub fn cut_after(self, n_bytes: usize) -> ServerReply {
        ServerReply::Cut { after: n_bytes, reply: Box::new(self) }
    }

    pub(super) fn end_of_script() -> ServerReply {
        ServerReply::text(END_OF_SCRIPT)
    }

    /// The whole body, uncut: what a test cuts at every byte.
    pub fn body(&self) -> Vec<u8> {
        self.chunks().concat()
    }

    pub(super) fn head(&self) -> String {
        let (status, content_type, more) = match self {
            ServerReply::Raw { status, content_type, .. } => {
                (*status, content_type.as_str(), String::new())
            }
            ServerReply::Html => (200, "text/html; charset=utf-8", String::new()),
            ServerReply::TooManyRequests { retry_after_secs } => {
                (429, "application/json", format!("retry-after: {retry_after_secs}\r\n"))
            }
            ServerReply::ServerError => (500, "application/json", String::new()),
            ServerReply::Cut { reply, .. } | ServerReply::Behind { reply, .. } => {
                return reply.head();
            }
            _ => (200, "text/event-stream", String::new()),
        };
        format!(
            "HTTP/1.1 {status} {}\r\ncontent-type: {content_type}\r\n{more}\
             transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
            reason(status)
        )
    }

    pub(super) fn chunks(&self) -> Vec<Vec<u8>> {
        match self {
            ServerReply::Text(text) => stream(text, &[]),
            ServerReply::Calls { text, calls } => stream(text, calls),
            ServerReply::Raw { body, .. } if body.is_empty() => Vec::new(),
            ServerReply::Raw { body, .. } => vec![body.clone()],
            ServerReply::Cut { reply, .. } | ServerReply::Behind { reply, .. } => reply.chunks(),
            ServerReply::Html => vec![b"<!doctype html><title>Sign in</title>".to_vec()],
            ServerReply::TooManyRequests { .. } => vec![error("rate_limit_exceeded")],
            ServerReply::ServerError => vec![error("server_error")],
            ServerReply::Trickle { .. } | ServerReply::Pings { .. } | ServerReply::Hang => {
                Vec::new()
            }
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Status",
    }
}

fn error(kind: &str) -> Vec<u8> {
    json!({"error": {"message": "the script says so", "type": kind, "code": kind}})
        .to_string()
        .into_bytes()
}

fn stream(text: &str, calls: &[(String, String)]) -> Vec<Vec<u8>> {
    let mut events = vec![delta(&json!({"role": "assistant", "content": ""}), None)];
    for piece in text.split_inclusive(' ') {
        events.push(delta(&json!({"content": piece}), None));
    }
    for (index, (tool, arguments)) in calls.iter().enumerate() {
        let (first, second) = arguments.split_at(middle(arguments));
        let function = json!({"name": tool, "arguments": first});
        let begun = json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
        events.push(delta(&json!({"tool_calls": [begun]}), None));
        let rest = json!({"index": index, "function": {"arguments": second}});
        events.push(delta(&json!({"tool_calls": [rest]}), None));
    }
    let finish_reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    events.push(delta(&json!({}), Some(finish_reason)));
    let usage = json!({
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
    });
    events.push(event(&chunk(&json!([]), &usage)));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

fn middle(text: &str) -> usize {
    text.floor_char_boundary(text.len() / 2)
}

fn delta(delta: &Value, finish_reason: Option<&str>) -> Vec<u8> {
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
    event(&chunk(&choices, &Value::Null))
}

fn chunk(choices: &Value, usage: &Value) -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_794_744_000,
        "model": "fake",
        "choices": choices,
        "usage": usage,
    })
}

fn event(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}
