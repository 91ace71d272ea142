//! What the vendors accept, written from their rules and not from our code.
//!
//! A renderer tested against itself proves nothing. These read the bytes as the vendor would and
//! refuse whatever it would answer with an error, and some of what it would merely misread.

mod anthropic;
mod openai_chat;
mod openai_responses;

use kith_vocab::event::models::Wire;
use serde_json::{Map, Value};

pub use anthropic::validate_anthropic;
pub use openai_chat::validate_openai_chat;
pub use openai_responses::validate_openai_responses;

/// The body as the vendor of this wire would read it.
///
/// # Errors
/// Says in words which rule the body breaks.
pub fn validate(wire: Wire, body: &[u8]) -> Result<Outline, String> {
    match wire {
        Wire::OpenaiChat => validate_openai_chat(body),
        Wire::Anthropic => validate_anthropic(body),
        Wire::OpenaiResponses => validate_openai_responses(body),
    }
}

/// The elements of a request in the order in which the model reads them: tools, system prompt,
/// content blocks; in canonical form without cache markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub elements: Vec<String>,
}

/// Checks that every element of the earlier request is in the later one, byte-equal and before
/// anything new.
///
/// # Panics
/// With the first element that differs.
#[track_caller]
pub fn assert_stable(earlier: &Outline, later: &Outline) {
    for (index, element) in earlier.elements.iter().enumerate() {
        let now = later.elements.get(index).map_or("(missing)", String::as_str);
        assert_eq!(now, element, "element {index} of {} changed", earlier.elements.len());
    }
}

impl Outline {
    fn push(&mut self, what: &str, value: &Value) {
        self.elements.push(format!("{what} {value}"));
    }
}

type Object = Map<String, Value>;

fn parse(body: &[u8]) -> Result<Object, String> {
    let value: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let Value::Object(request) = value else {
        return Err("the body is not a JSON object".to_owned());
    };
    text(&request, "model")?;
    Ok(request)
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Object, String> {
    value.as_object().ok_or_else(|| format!("{what} is not an object"))
}

/// A list that may not be empty.
fn filled<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], String> {
    match value.as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(format!("{what} is not a filled list")),
    }
}

/// A string member that may not be empty.
fn text<'a>(object: &'a Object, key: &str) -> Result<&'a str, String> {
    match object.get(key).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("`{key}` is missing or empty")),
    }
}

fn not_blank<'a>(object: &'a Object, key: &str) -> Result<&'a str, String> {
    let text = text(object, key)?;
    if text.trim().is_empty() { Err(format!("`{key}` is blank")) } else { Ok(text) }
}

fn only_keys(object: &Object, known: &[&str], what: &str) -> Result<(), String> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown key `{key}` in {what}")),
        None => Ok(()),
    }
}

fn tool_name(object: &Object) -> Result<&str, String> {
    let name = text(object, "name")?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.len() <= 64 && name.bytes().all(allowed) {
        Ok(name)
    } else {
        Err(format!("tool name `{name}` is not [A-Za-z0-9_-]{{1,64}}"))
    }
}

/// A JSON Schema for a tool's input: both vendors want an object described.
fn input_schema(value: Option<&Value>) -> Result<(), String> {
    let schema = object(value.unwrap_or(&Value::Null), "a tool's schema")?;
    if schema.get("type") == Some(&Value::from("object")) {
        Ok(())
    } else {
        Err("a tool's schema is not of type `object`".to_owned())
    }
}

#[cfg(test)]
mod tests;
