//! The rules of the Messages API.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    Object, Outline, filled, input_schema, not_blank, object, only_keys, parse, text, tool_name,
};

const CACHE_MARKERS_MAX: usize = 4;

/// # Errors
/// Says in words which rule the body breaks.
pub fn validate_anthropic(body: &[u8]) -> Result<Outline, String> {
    let request = parse(body)?;
    if request.get("max_tokens").and_then(Value::as_u64).unwrap_or(0) == 0 {
        return Err("`max_tokens` is missing or 0".to_owned());
    }
    let mut reader = Reader::default();
    if let Some(tools) = request.get("tools") {
        reader.tools(tools)?;
    }
    reader.system(request.get("system").unwrap_or(&Value::Null))?;
    let messages = filled(request.get("messages").unwrap_or(&Value::Null), "`messages`")?;
    for (index, message) in messages.iter().enumerate() {
        let message = object(message, "a message")?;
        reader.message(index, message).map_err(|error| format!("message {index}: {error}"))?;
    }
    if !reader.unanswered.is_empty() || messages.len().is_multiple_of(2) {
        return Err("the last message is not from the user".to_owned());
    }
    if reader.n_cache_markers > CACHE_MARKERS_MAX {
        return Err(format!("more than {CACHE_MARKERS_MAX} cache markers"));
    }
    Ok(reader.outline)
}

#[derive(Default)]
struct Reader {
    outline: Outline,
    /// The calls of the message before.
    unanswered: Vec<String>,
    call_ids: HashSet<String>,
    n_cache_markers: usize,
}

impl Reader {
    fn tools(&mut self, tools: &Value) -> Result<(), String> {
        let mut names = HashSet::new();
        for tool in filled(tools, "`tools`")? {
            let tool = self.without_marker(tool)?;
            only_keys(&tool, &["name", "description", "input_schema"], "a tool")?;
            if !names.insert(tool_name(&tool)?.to_owned()) {
                return Err("a tool is declared twice".to_owned());
            }
            input_schema(tool.get("input_schema"))?;
            self.outline.push("tool", &Value::Object(tool));
        }
        Ok(())
    }

    fn system(&mut self, system: &Value) -> Result<(), String> {
        let blocks = as_blocks(system, "`system`")?;
        for block in &blocks {
            let block = self.without_marker(block)?;
            plain_text(&block)?;
            self.outline.push("system", &Value::Object(block));
        }
        Ok(())
    }

    fn message(&mut self, index: usize, message: &Object) -> Result<(), String> {
        only_keys(message, &["role", "content"], "a message")?;
        let expected = if index.is_multiple_of(2) { "user" } else { "assistant" };
        if text(message, "role")? != expected {
            return Err(format!("the role is not `{expected}`"));
        }
        let blocks = as_blocks(message.get("content").unwrap_or(&Value::Null), "`content`")?;
        if expected == "user" { self.user(&blocks) } else { self.assistant(&blocks) }
    }

    fn user(&mut self, blocks: &[Value]) -> Result<(), String> {
        let mut unanswered: HashSet<String> =
            std::mem::take(&mut self.unanswered).into_iter().collect();
        for block in blocks {
            let block = self.without_marker(block)?;
            let kind = text(&block, "type")?;
            if kind != "tool_result" && !unanswered.is_empty() {
                return Err(format!("`{kind}` before the results of all calls"));
            }
            let block = match kind {
                "tool_result" => self.result(block, &mut unanswered)?,
                _ => user_block(block)?,
            };
            self.outline.push("user", &Value::Object(block));
        }
        if unanswered.is_empty() { Ok(()) } else { Err("a call has no result".to_owned()) }
    }

    fn result(
        &mut self,
        mut block: Object,
        unanswered: &mut HashSet<String>,
    ) -> Result<Object, String> {
        only_keys(&block, &["type", "tool_use_id", "content", "is_error"], "a result")?;
        let id = text(&block, "tool_use_id")?;
        if !unanswered.remove(id) {
            return Err(format!("result of `{id}`, which was not called just before or has one"));
        }
        let parts = as_blocks(block.get("content").unwrap_or(&Value::Null), "a result")?;
        let mut canonical = Vec::new();
        for part in &parts {
            let part = self.without_marker(part)?;
            if !matches!(text(&part, "type")?, "text" | "image" | "document") {
                return Err("a result holds something that is neither text nor media".to_owned());
            }
            canonical.push(Value::Object(user_block(part)?));
        }
        block.insert("content".to_owned(), Value::Array(canonical));
        Ok(block)
    }

    fn assistant(&mut self, blocks: &[Value]) -> Result<(), String> {
        let mut last_kind = String::new();
        for block in blocks {
            let marked = block.get("cache_control").is_some();
            let block = self.without_marker(block)?;
            text(&block, "type")?.clone_into(&mut last_kind);
            match last_kind.as_str() {
                "text" => plain_text(&block)?,
                "thinking" => {
                    only_keys(&block, &["type", "thinking", "signature"], "thinking")?;
                    text(&block, "signature")?;
                    if !block.get("thinking").is_some_and(Value::is_string) {
                        return Err("`thinking` is missing".to_owned());
                    }
                }
                "redacted_thinking" => {
                    only_keys(&block, &["type", "data"], "redacted thinking")?;
                    text(&block, "data")?;
                }
                "tool_use" => self.call(&block)?,
                kind => return Err(format!("an assistant message holds `{kind}`")),
            }
            if marked && last_kind.ends_with("thinking") {
                return Err("thinking cannot carry a cache marker".to_owned());
            }
            self.outline.push("assistant", &Value::Object(block));
        }
        if last_kind.ends_with("thinking") {
            return Err("the last block of an assistant message is thinking".to_owned());
        }
        Ok(())
    }

    fn call(&mut self, block: &Object) -> Result<(), String> {
        only_keys(block, &["type", "id", "name", "input"], "a call")?;
        let id = text(block, "id")?;
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
            return Err(format!("call id `{id}` is not [a-zA-Z0-9_-]+"));
        }
        if !self.call_ids.insert(id.to_owned()) {
            return Err(format!("call id `{id}` stands twice"));
        }
        tool_name(block)?;
        object(block.get("input").unwrap_or(&Value::Null), "`input`")?;
        self.unanswered.push(id.to_owned());
        Ok(())
    }

    fn without_marker(&mut self, block: &Value) -> Result<Object, String> {
        let mut block = object(block, "a block")?.clone();
        if let Some(marker) = block.shift_remove("cache_control") {
            if marker.get("type") != Some(&Value::from("ephemeral")) {
                return Err("a cache marker is not `ephemeral`".to_owned());
            }
            self.n_cache_markers += 1;
        }
        Ok(block)
    }
}

/// A string stands for one text block; both are one element.
fn as_blocks(content: &Value, what: &str) -> Result<Vec<Value>, String> {
    match content {
        Value::String(text) => Ok(vec![json!({"type": "text", "text": text})]),
        _ => filled(content, what).map(<[Value]>::to_vec),
    }
}

fn plain_text(block: &Object) -> Result<(), String> {
    only_keys(block, &["type", "text"], "a text block")?;
    if block.get("type") != Some(&Value::from("text")) {
        return Err("a block is not text".to_owned());
    }
    not_blank(block, "text").map(|_| ())
}

fn user_block(block: Object) -> Result<Object, String> {
    match text(&block, "type")? {
        "text" => plain_text(&block)?,
        "image" | "document" => {
            let source = object(block.get("source").unwrap_or(&Value::Null), "`source`")?;
            match text(source, "type")? {
                "base64" => {
                    text(source, "media_type")?;
                    text(source, "data")?;
                }
                "url" => {
                    text(source, "url")?;
                }
                "text" => {
                    text(source, "data")?;
                }
                kind => return Err(format!("unknown source `{kind}`")),
            }
        }
        kind => return Err(format!("a user message holds `{kind}`")),
    }
    Ok(block)
}
