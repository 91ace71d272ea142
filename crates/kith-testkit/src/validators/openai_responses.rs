//! The rules of the Responses API, without the vendor's storage.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    Object, Outline, filled, input_schema, not_blank, object, only_keys, parse, text, tool_name,
};

const CALL_ID_BYTES_MAX: usize = 64;

/// # Errors
/// Says in words which rule the body breaks.
pub fn validate_openai_responses(body: &[u8]) -> Result<Outline, String> {
    let request = parse(body)?;
    if request.get("store") != Some(&Value::Bool(false)) {
        return Err("`store` is not false, so the vendor would keep the conversation".to_owned());
    }
    if let Some(key) = ["previous_response_id", "conversation"]
        .iter()
        .find(|it| request.get(**it).is_some_and(|value| !value.is_null()))
    {
        return Err(format!("`{key}` adds what the body does not hold"));
    }
    let mut reader = Reader::default();
    if let Some(tools) = request.get("tools") {
        reader.tools(tools)?;
    }
    let instructions = not_blank(&request, "instructions")?;
    reader.outline.push("system", &json!({"type": "text", "text": instructions}));
    let input = filled(request.get("input").unwrap_or(&Value::Null), "`input`")?;
    for (index, item) in input.iter().enumerate() {
        let item = object(item, "an item")?;
        reader.item(item).map_err(|error| format!("item {index}: {error}"))?;
    }
    reader.end()
}

#[derive(Default)]
struct Reader {
    outline: Outline,
    /// Calls without an output yet, the next one last.
    unanswered: Vec<String>,
    call_ids: HashSet<String>,
    last: Last,
}

/// The item before.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    User,
    Assistant,
    Reasoning,
    Call,
    Output,
}

impl Reader {
    fn tools(&mut self, tools: &Value) -> Result<(), String> {
        let mut names = HashSet::new();
        for tool in filled(tools, "`tools`")? {
            let declared = object(tool, "a tool")?;
            let known = ["type", "name", "description", "parameters", "strict"];
            only_keys(declared, &known, "a tool")?;
            if declared.get("type") != Some(&Value::from("function")) {
                return Err("a tool is not of type `function`".to_owned());
            }
            // Without it the vendor holds every schema to rules that ours do not follow.
            if declared.get("strict") != Some(&Value::Bool(false)) {
                return Err("a tool is not `strict: false`".to_owned());
            }
            if !names.insert(tool_name(declared)?) {
                return Err("a tool is declared twice".to_owned());
            }
            input_schema(declared.get("parameters"))?;
            self.outline.push("tool", tool);
        }
        Ok(())
    }

    fn item(&mut self, item: &Object) -> Result<(), String> {
        let kind = text(item, "type")?;
        let role = if kind == "message" { text(item, "role")? } else { "" };
        let now = match (kind, role) {
            ("message", "user") => Last::User,
            ("message", "assistant") => Last::Assistant,
            ("reasoning", _) => Last::Reasoning,
            ("function_call", _) => Last::Call,
            ("function_call_output", _) => Last::Output,
            _ => return Err(format!("unknown item `{kind}` {role}")),
        };
        let follows = matches!(now, Last::Assistant | Last::Reasoning | Last::Call);
        if self.last == Last::Reasoning && !follows {
            return Err("reasoning without the item that it led to".to_owned());
        }
        let may_wait = matches!(now, Last::Call | Last::Output)
            || (self.last == Last::Call && matches!(now, Last::Assistant | Last::Reasoning));
        if !self.unanswered.is_empty() && !may_wait {
            return Err(format!("call `{}` has no output", self.unanswered.join("`, `")));
        }
        match now {
            Last::User => self.message(item, &["input_text", "input_image", "input_file"])?,
            Last::Assistant => self.message(item, &["output_text", "refusal"])?,
            Last::Reasoning => self.reasoning(item)?,
            Last::Call => self.call(item)?,
            Last::Output | Last::Nothing => self.output(item)?,
        }
        self.last = now;
        Ok(())
    }

    fn message(&mut self, item: &Object, kinds: &[&str]) -> Result<(), String> {
        only_keys(item, &["type", "role", "content"], "a message")?;
        let role = text(item, "role")?.to_owned();
        for part in filled(item.get("content").unwrap_or(&Value::Null), "`content`")? {
            check_part(object(part, "a part")?, kinds)?;
            self.outline.push(&role, part);
        }
        Ok(())
    }

    fn reasoning(&mut self, item: &Object) -> Result<(), String> {
        only_keys(item, &["type", "id", "summary", "encrypted_content"], "reasoning")?;
        text(item, "encrypted_content")?;
        let Some(summary) = item.get("summary").and_then(Value::as_array) else {
            return Err("`summary` is not a list".to_owned());
        };
        for part in summary {
            let part = object(part, "a summary")?;
            only_keys(part, &["type", "text"], "a summary")?;
            if part.get("type") != Some(&Value::from("summary_text")) {
                return Err("a summary is not `summary_text`".to_owned());
            }
            text(part, "text")?;
        }
        self.outline.push("assistant", &Value::Object(item.clone()));
        Ok(())
    }

    fn call(&mut self, item: &Object) -> Result<(), String> {
        only_keys(item, &["type", "call_id", "name", "arguments"], "a call")?;
        let id = text(item, "call_id")?;
        if id.len() > CALL_ID_BYTES_MAX {
            return Err(format!("call id `{id}` is longer than {CALL_ID_BYTES_MAX}"));
        }
        if !self.call_ids.insert(id.to_owned()) {
            return Err(format!("call id `{id}` stands twice"));
        }
        tool_name(item)?;
        let arguments: Result<Object, _> = serde_json::from_str(text(item, "arguments")?);
        arguments.map_err(|_| format!("the arguments of `{id}` are not a JSON object"))?;
        self.unanswered.insert(0, id.to_owned());
        self.outline.push("assistant", &Value::Object(item.clone()));
        Ok(())
    }

    fn output(&mut self, item: &Object) -> Result<(), String> {
        only_keys(item, &["type", "call_id", "output"], "an output")?;
        let id = text(item, "call_id")?;
        match self.unanswered.pop() {
            Some(expected) if expected == id => (),
            Some(expected) => return Err(format!("output of `{id}` where `{expected}` is due")),
            None => return Err(format!("output of `{id}`, which was not called just before")),
        }
        let output = item.get("output").unwrap_or(&Value::Null);
        if output.is_string() {
            text(item, "output")?;
        } else {
            for part in filled(output, "`output`")? {
                check_part(object(part, "a part")?, &["input_text", "input_image", "input_file"])?;
            }
        }
        self.outline.push("tool", &Value::Object(item.clone()));
        Ok(())
    }

    fn end(self) -> Result<Outline, String> {
        if !self.unanswered.is_empty() {
            return Err(format!("call `{}` has no output", self.unanswered.join("`, `")));
        }
        match self.last {
            Last::User | Last::Output => Ok(self.outline),
            _ => Err("the last item is neither from the user nor an output".to_owned()),
        }
    }
}

fn check_part(part: &Object, kinds: &[&str]) -> Result<(), String> {
    let kind = text(part, "type")?;
    if !kinds.contains(&kind) {
        return Err(format!("a part `{kind}` does not belong here"));
    }
    match kind {
        "input_image" => {
            only_keys(part, &["type", "image_url", "detail"], "an image")?;
            let url = text(part, "image_url")?;
            let is_url = url.starts_with("https://") || url.starts_with("data:image/");
            if is_url { Ok(()) } else { Err("an image is neither https nor data".to_owned()) }
        }
        "input_file" => {
            only_keys(part, &["type", "filename", "file_data"], "a file")?;
            text(part, "filename")?;
            text(part, "file_data").map(|_| ())
        }
        "refusal" => text(part, "refusal").map(|_| ()),
        _ => {
            only_keys(part, &["type", "text"], "a text")?;
            text(part, "text").map(|_| ())
        }
    }
}
