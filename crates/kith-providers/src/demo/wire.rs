//! The request as the demo model reads it.
//!
//! It gets the same bytes as a real model, so that what is proven of them holds for it too.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::conversation::{Asked, Said, Tool};
use crate::tool_name;

#[derive(Deserialize)]
struct Body {
    messages: Vec<WireMessage>,
    #[serde(default)]
    tools: Vec<WireTool>,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    content: Option<Content>,
    tool_call_id: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: String,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    function: CallFunction,
}

#[derive(Deserialize)]
struct CallFunction {
    name: String,
}

#[derive(Deserialize)]
struct WireTool {
    function: ToolFunction,
}

#[derive(Deserialize)]
struct ToolFunction {
    name: String,
    parameters: Value,
}

pub(super) fn read(body: &[u8]) -> Result<Asked, serde_json::Error> {
    let body: Body = serde_json::from_slice(body)?;
    let mut asked = Asked { tools: body.tools.iter().map(tool).collect(), ..Asked::default() };
    let mut called: HashMap<String, String> = HashMap::new();
    for message in body.messages {
        let texts = match message.content {
            Some(Content::Text(text)) => vec![text],
            Some(Content::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
            None => Vec::new(),
        };
        match message.role.as_str() {
            "system" => asked.system = texts.concat(),
            "user" => asked.said.extend(texts.iter().filter_map(|text| Said::by_user(text))),
            "tool" => {
                let id = message.tool_call_id.unwrap_or_default();
                let tool = called.get(&id).cloned().unwrap_or_default();
                asked.said.push(Said::by_tool(tool, &texts.concat()));
            }
            _ => {
                let calls = message.tool_calls.into_iter();
                called.extend(
                    calls.map(|call| {
                        (call.id, tool_name::unescape(&call.function.name).into_owned())
                    }),
                );
                asked.said.push(Said::Model);
            }
        }
    }
    asked.n_calls = called.len();
    Ok(asked)
}

fn tool(tool: &WireTool) -> Tool {
    let required = tool.function.parameters.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Tool { name: tool_name::unescape(&tool.function.name).into_owned(), required: names.collect() }
}
