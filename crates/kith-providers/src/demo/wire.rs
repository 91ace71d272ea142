//! The request as the demo model reads it.
//!
//! It gets the same bytes as a real model, so that what is proven of them holds for it too.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::conversation::{DemoMessage, DemoRequest, DemoTool, last_reminder};
use crate::tool_name;

#[derive(Deserialize)]
struct DemoBody {
    messages: Vec<WireMessage>,
    #[serde(default)]
    tools: Vec<Value>,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Value,
    tool_call_id: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Value>,
}

pub(super) fn read(body: &[u8]) -> Result<DemoRequest, serde_json::Error> {
    let body: DemoBody = serde_json::from_slice(body)?;
    let tools = body.tools.iter().map(tool).collect();
    let mut request = DemoRequest { tools, ..DemoRequest::default() };
    let mut called: HashMap<String, String> = HashMap::new();
    for message in body.messages {
        let texts = texts(&message.content);
        if message.role == "assistant" {
            request.reminder = None;
        } else if message.role != "system" {
            let found = texts.iter().filter_map(|text| last_reminder(text)).next_back();
            request.reminder = found.or(request.reminder.take());
        }
        match message.role.as_str() {
            "system" => request.system = texts.concat(),
            "user" => {
                let said = texts.iter().filter_map(|text| DemoMessage::by_user(text));
                request.messages.extend(said);
            }
            "tool" => {
                let id = message.tool_call_id.unwrap_or_default();
                let tool = called.get(&id).cloned().unwrap_or_default();
                request.messages.push(DemoMessage::by_tool(tool, &texts.concat()));
            }
            _ => {
                let calls = message.tool_calls.iter();
                called.extend(calls.map(|call| (word(&call["id"]), function_name(call))));
                request.messages.push(DemoMessage::Model);
            }
        }
    }
    request.n_calls = called.len();
    Ok(request)
}

/// The content of a message is one text or a list of parts.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts.iter().map(|part| word(&part["text"])).collect(),
        _ => Vec::new(),
    }
}

fn tool(tool: &Value) -> DemoTool {
    let required = tool["function"]["parameters"]["required"].as_array();
    let required = required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    DemoTool { name: function_name(tool), required: required.collect() }
}

fn function_name(value: &Value) -> String {
    tool_name::unescape(&word(&value["function"]["name"])).into_owned()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
