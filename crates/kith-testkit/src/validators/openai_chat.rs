//! The rules of Chat Completions.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    Object, Outline, filled, input_schema, not_blank, object, only_keys, parse, text, tool_name,
};

/// # Errors
/// Says in words which rule the body breaks.
pub fn validate_openai_chat(body: &[u8]) -> Result<Outline, String> {
    let request = parse(body)?;
    let mut outline = Outline::default();
    if let Some(tools) = request.get("tools") {
        declared_tools(tools, &mut outline)?;
    }
    let messages = filled(request.get("messages").unwrap_or(&Value::Null), "`messages`")?;
    let mut reader = Reader { outline, ..Reader::default() };
    for (index, message) in messages.iter().enumerate() {
        let message = object(message, "a message")?;
        reader.read(index, message).map_err(|error| format!("message {index}: {error}"))?;
    }
    reader.end()
}

fn declared_tools(tools: &Value, outline: &mut Outline) -> Result<(), String> {
    let mut names = HashSet::new();
    for tool in filled(tools, "`tools`")? {
        let declared = object(tool, "a tool")?;
        only_keys(declared, &["type", "function"], "a tool")?;
        if declared.get("type") != Some(&Value::from("function")) {
            return Err("a tool is not of type `function`".to_owned());
        }
        let function = object(declared.get("function").unwrap_or(&Value::Null), "`function`")?;
        only_keys(function, &["name", "description", "parameters", "strict"], "`function`")?;
        if !names.insert(tool_name(function)?) {
            return Err("a tool is declared twice".to_owned());
        }
        input_schema(function.get("parameters"))?;
        outline.push("tool", tool);
    }
    Ok(())
}

#[derive(Default)]
struct Reader {
    outline: Outline,
    /// The calls of the last assistant message that have no result yet, the next one last.
    unanswered: Vec<String>,
    call_ids: HashSet<String>,
    /// The last role that was not `tool`.
    last_role: String,
    ends_with_assistant: bool,
}

impl Reader {
    fn read(&mut self, index: usize, message: &Object) -> Result<(), String> {
        let role = text(message, "role")?;
        if (index == 0) != (role == "system") {
            return Err("the first message, and no other, is the system prompt".to_owned());
        }
        if role != "tool" && !self.unanswered.is_empty() {
            return Err(format!("call `{}` has no result", self.unanswered.join("`, `")));
        }
        match role {
            "system" => {
                only_keys(message, &["role", "content"], "the system prompt")?;
                self.content(message, "system", &["text"])?;
            }
            "user" => {
                only_keys(message, &["role", "content", "name"], "a user message")?;
                if self.last_role == "user" {
                    return Err("two user messages in a row".to_owned());
                }
                self.content(message, "user", &["text", "image_url", "input_audio", "file"])?;
            }
            "assistant" => self.assistant(message)?,
            "tool" => return self.result(message),
            _ => return Err(format!("unknown role `{role}`")),
        }
        self.ends_with_assistant = role == "assistant";
        role.clone_into(&mut self.last_role);
        Ok(())
    }

    fn assistant(&mut self, message: &Object) -> Result<(), String> {
        let known = ["role", "content", "tool_calls", "refusal", "reasoning_content", "name"];
        only_keys(message, &known, "an assistant message")?;
        // A result closes the turn of the calls, so the next answer may follow it directly.
        if self.last_role == "system" || (self.last_role == "assistant" && self.ends_with_assistant)
        {
            return Err("an assistant message follows the system prompt or another".to_owned());
        }
        let says = !message.get("content").unwrap_or(&Value::Null).is_null();
        if says {
            self.content(message, "assistant", &["text", "refusal"])?;
        }
        match message.get("tool_calls") {
            Some(calls) => self.calls(calls),
            None if says => Ok(()),
            None => Err("neither content nor calls".to_owned()),
        }
    }

    fn calls(&mut self, calls: &Value) -> Result<(), String> {
        for call in filled(calls, "`tool_calls`")? {
            let declared = object(call, "a call")?;
            only_keys(declared, &["id", "type", "function"], "a call")?;
            if declared.get("type") != Some(&Value::from("function")) {
                return Err("a call is not of type `function`".to_owned());
            }
            let id = text(declared, "id")?;
            if !self.call_ids.insert(id.to_owned()) {
                return Err(format!("call id `{id}` stands twice"));
            }
            let function = object(declared.get("function").unwrap_or(&Value::Null), "`function`")?;
            only_keys(function, &["name", "arguments"], "`function`")?;
            tool_name(function)?;
            let arguments: Result<Object, _> = serde_json::from_str(text(function, "arguments")?);
            arguments.map_err(|_| format!("the arguments of `{id}` are not a JSON object"))?;
            self.unanswered.insert(0, id.to_owned());
            self.outline.push("assistant", call);
        }
        Ok(())
    }

    fn result(&mut self, message: &Object) -> Result<(), String> {
        only_keys(message, &["role", "content", "tool_call_id"], "a tool message")?;
        let id = text(message, "tool_call_id")?;
        match self.unanswered.pop() {
            Some(expected) if expected == id => (),
            Some(expected) => return Err(format!("result of `{id}` where `{expected}` is due")),
            None => return Err(format!("result of `{id}`, which was not called just before")),
        }
        self.ends_with_assistant = false;
        self.content(message, &format!("tool {id}"), &["text"])
    }

    fn content(&mut self, message: &Object, role: &str, kinds: &[&str]) -> Result<(), String> {
        let content = message.get("content").unwrap_or(&Value::Null);
        if content.is_string() {
            // One text is the same element whether it stands alone or in a list.
            self.outline.push(role, &json!({"type": "text", "text": text(message, "content")?}));
            return Ok(());
        }
        for part in filled(content, "`content`")? {
            let mut part = object(part, "a part")?.clone();
            part.shift_remove("cache_control");
            let kind = text(&part, "type")?;
            if !kinds.contains(&kind) {
                return Err(format!("a part `{kind}` does not belong to a `{role}` message"));
            }
            check_part(&part, kind)?;
            self.outline.push(role, &Value::Object(part));
        }
        Ok(())
    }

    fn end(self) -> Result<Outline, String> {
        if !self.unanswered.is_empty() {
            return Err(format!("call `{}` has no result", self.unanswered.join("`, `")));
        }
        if self.last_role == "system" || self.ends_with_assistant {
            return Err("the last message is neither from the user nor a result".to_owned());
        }
        Ok(self.outline)
    }
}

fn check_part(part: &Object, kind: &str) -> Result<(), String> {
    only_keys(part, &["type", kind], "a part")?;
    if kind == "text" || kind == "refusal" {
        return not_blank(part, kind).map(|_| ());
    }
    let media = object(part.get(kind).unwrap_or(&Value::Null), "a part")?;
    match kind {
        "image_url" => {
            let url = text(media, "url")?;
            if url.starts_with("https://") || url.starts_with("data:image/") {
                Ok(())
            } else {
                Err("an image is neither https nor data".to_owned())
            }
        }
        "input_audio" => text(media, "data").and_then(|_| text(media, "format")).map(|_| ()),
        _ => text(media, "file_data").or_else(|_| text(media, "file_id")).map(|_| ()),
    }
}
