//! The JSON of OpenAI Chat Completions, as many servers speak it.
//!
//! A request is written straight into the body from borrowed parts. What comes back is read with
//! patience: servers add keys, leave keys out and write `null` where they have nothing to say.

use std::borrow::Cow;
use std::fmt;
use std::io;

use kith_vocab::conversation::{
    CallResult, Element, ElementKind, Message, ModelRequest, ResultPartKind, Role,
};
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::text::FramedText;
use serde::de::Error as _;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::parameters::Parameters;
use crate::render::{MediaNote, NO_OUTPUT, NO_TEXT, RenderError, listed_tool_name};
use crate::tool_name;

pub(super) const RESERVED_KEYS: [&str; 4] = ["model", "messages", "tools", "stream"];

const STREAM_OPTIONS: &str = "stream_options";

pub(super) fn render(
    request: &ModelRequest<'_>,
    parameters: &Parameters<'_>,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    let tools = request.tools.iter().map(|tool| {
        let name = listed_tool_name(&tool.name)?;
        let function =
            OpenAiFunction { name, description: &tool.description, parameters: &tool.input_schema };
        Ok(OpenAiTool { kind: "function", function })
    });
    let tools = tools.collect::<Result<Vec<_>, _>>()?;
    let whole = OpenAiBody { request, parameters, tools };
    serde_json::to_writer(writer, &whole).map_err(RenderError::Write)
}

struct OpenAiBody<'a> {
    request: &'a ModelRequest<'a>,
    parameters: &'a Parameters<'a>,
    tools: Vec<OpenAiTool<'a>>,
}

impl Serialize for OpenAiBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", self.request.model)?;
        map.serialize_entry("messages", &OpenAiMessages(self.request))?;
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        map.serialize_entry("stream", &true)?;
        match self.parameters.get(STREAM_OPTIONS) {
            None => map.serialize_entry(STREAM_OPTIONS, &StreamOptions { include_usage: true })?,
            // Some servers refuse a request that has the key, whatever its value.
            Some(none) if matches!(none.get(), "false" | "null") => (),
            Some(options) => map.serialize_entry(STREAM_OPTIONS, options)?,
        }
        for (key, value) in self.parameters.iter().filter(|(key, _)| *key != STREAM_OPTIONS) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct OpenAiTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OpenAiFunction<'a>,
}

#[derive(Serialize)]
struct OpenAiFunction<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Json,
}

struct OpenAiMessages<'a>(&'a ModelRequest<'a>);

impl Serialize for OpenAiMessages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        seq.serialize_element(&OpenAiMessage { role: "system", content: self.0.system })?;
        for message in &self.0.messages {
            match message.role {
                Role::User => user_messages(message, &mut seq)?,
                Role::Assistant => seq.serialize_element(&assistant_message(message))?,
            }
        }
        seq.end()
    }
}

fn user_messages<S: SerializeSeq>(message: &Message, seq: &mut S) -> Result<(), S::Error> {
    for element in &message.elements {
        if let ElementKind::Result(result) = &element.kind {
            seq.serialize_element(&ToolMessage {
                role: "tool",
                tool_call_id: result.call_id,
                content: InOneText(ToolResultText(result)),
            })?;
        }
    }
    let texts: Vec<ElementText<'_>> = message.elements.iter().filter_map(text_of).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => seq.serialize_element(&OpenAiMessage { role: "user", content: InOneText(one) }),
        several => {
            let parts: Vec<TextPart<'_>> = several
                .iter()
                .map(|text| TextPart { kind: "text", text: InOneText(text) })
                .collect();
            seq.serialize_element(&OpenAiMessage { role: "user", content: parts })
        }
    }
}

fn assistant_message(message: &Message) -> OpenAiAssistantMessage<'_> {
    let calls: Vec<OpenAiCall<'_>> = message
        .elements
        .iter()
        .filter_map(|element| match &element.kind {
            // When the arguments were no JSON, `input` is an empty object: a server that checks
            // the history would refuse all of it for the sake of a call that never ran.
            ElementKind::Call(call) => Some(OpenAiCall {
                id: call.call_id,
                kind: "function",
                function: OpenAiCallFunction {
                    name: tool_name::escape_called(&call.tool),
                    arguments: call.input.as_str(),
                },
            }),
            _ => None,
        })
        .collect();
    let texts = Texts(&message.elements);
    let content = match (texts.is_empty(), calls.is_empty()) {
        (false, _) => Some(InOneText(AnswerText::Said(texts))),
        (true, false) => None,
        (true, true) => Some(InOneText(AnswerText::Nothing)),
    };
    OpenAiAssistantMessage { role: "assistant", content, tool_calls: calls }
}

#[derive(Serialize)]
struct OpenAiMessage<T> {
    role: &'static str,
    content: T,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: CallId,
    content: InOneText<ToolResultText<'a>>,
}

#[derive(Serialize)]
struct OpenAiAssistantMessage<'a> {
    role: &'static str,
    content: Option<InOneText<AnswerText<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OpenAiCall<'a>>,
}

#[derive(Serialize)]
struct OpenAiCall<'a> {
    id: CallId,
    #[serde(rename = "type")]
    kind: &'static str,
    function: OpenAiCallFunction<'a>,
}

#[derive(Serialize)]
struct OpenAiCallFunction<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

#[derive(Serialize)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: InOneText<&'a ElementText<'a>>,
}

/// Writes a value that displays as several pieces as one JSON string, without joining them first.
struct InOneText<T>(T);

impl<T: fmt::Display> Serialize for InOneText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// An element that this wire shows as text.
enum ElementText<'a> {
    Text(&'a FramedText),
    Media(MediaNote<'a>),
}

impl fmt::Display for ElementText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementText::Text(text) => text.fmt(f),
            ElementText::Media(note) => note.fmt(f),
        }
    }
}

fn text_of(element: &Element) -> Option<ElementText<'_>> {
    match &element.kind {
        ElementKind::Text(text) | ElementKind::Meta(text) => Some(ElementText::Text(text)),
        ElementKind::Media(media) => Some(ElementText::Media(MediaNote(media))),
        // Nothing here carries thinking; calls and results have their own places.
        ElementKind::Thinking { .. } | ElementKind::Call(_) | ElementKind::Result(_) => None,
    }
}

struct Texts<'a>(&'a [Element]);

impl Texts<'_> {
    fn is_empty(&self) -> bool {
        self.0
            .iter()
            .filter_map(text_of)
            .all(|it| matches!(it, ElementText::Text(text) if text.is_empty()))
    }
}

enum AnswerText<'a> {
    Said(Texts<'a>),
    Nothing,
}

impl fmt::Display for AnswerText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerText::Said(texts) => {
                texts.0.iter().filter_map(text_of).try_for_each(|text| text.fmt(f))
            }
            AnswerText::Nothing => f.write_str(NO_TEXT),
        }
    }
}

struct ToolResultText<'a>(&'a CallResult);

impl fmt::Display for ToolResultText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_empty = true;
        for part in &self.0.parts {
            match &part.kind {
                ResultPartKind::Text(text) => {
                    is_empty &= text.is_empty();
                    text.fmt(f)?;
                }
                ResultPartKind::Media(media) => {
                    is_empty = false;
                    MediaNote(media).fmt(f)?;
                }
            }
        }
        if is_empty { f.write_str(NO_OUTPUT) } else { Ok(()) }
    }
}

/// One event of a stream, or a whole answer where a server does not stream.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    pub(super) index: Option<u64>,
    /// In a stream.
    pub(super) delta: Option<ChoiceDelta>,
    /// In a whole answer.
    pub(super) message: Option<ChoiceDelta>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ChoiceDelta {
    #[serde(default, deserialize_with = "text")]
    pub(super) content: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) reasoning_content: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) reasoning: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) refusal: String,
    pub(super) tool_calls: Option<Vec<CallDelta>>,
    /// The form before there were several calls; some servers still use it.
    pub(super) function_call: Option<FunctionDelta>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    #[serde(default, deserialize_with = "arguments")]
    pub(super) arguments: String,
}

#[derive(Default, Deserialize)]
pub(super) struct Tokens {
    #[serde(rename = "prompt_tokens")]
    pub(super) prompt: Option<u64>,
    #[serde(rename = "completion_tokens")]
    pub(super) completion: Option<u64>,
    #[serde(rename = "prompt_tokens_details")]
    details: Option<PromptDetails>,
    /// Where DeepSeek counts what it had cached.
    #[serde(rename = "prompt_cache_hit_tokens")]
    cache_hit: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

/// An error as the vendor reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VendorError {
    pub(super) message: String,
    /// Its code and type, in whatever form it has them.
    pub(super) code: String,
}

impl Chunk<'_> {
    /// Usage is worth having, but never worth an answer: odd counts are passed over.
    pub(super) fn usage(&self) -> Option<Tokens> {
        serde_json::from_str(self.usage?.get()).ok()
    }

    pub(super) fn error(&self) -> Option<VendorError> {
        let error: Value = serde_json::from_str(self.error?.get()).ok()?;
        Some(vendor_error(&error))
    }
}

impl Tokens {
    pub(super) fn cached(&self) -> u64 {
        let details = self.details.as_ref().and_then(|it| it.cached_tokens);
        details.or(self.cache_hit).unwrap_or(0)
    }
}

/// Reads the body of an error status. Servers disagree about its form.
pub(super) fn error_of(body: &str) -> Option<VendorError> {
    let body: Value = serde_json::from_str(body).ok()?;
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(&body);
    let error = ["error", "detail"].iter().find_map(|key| body.get(key)).unwrap_or(body);
    let error = vendor_error(error);
    (!error.message.is_empty()).then_some(error)
}

fn vendor_error(error: &Value) -> VendorError {
    if let Some(message) = error.as_str() {
        return VendorError { message: message.to_owned(), code: String::new() };
    }
    let word = |key: &str| match error.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let code = format!("{} {}", word("code"), word("type")).trim().to_owned();
    VendorError { message: word("message"), code }
}

/// A string, `null`, or the list of parts that some servers send for one text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    struct ContentPart {
        text: Option<String>,
    }
    let raw = <&RawValue>::deserialize(deserializer)?.get();
    match raw.as_bytes().first() {
        Some(b'n') => Ok(String::new()),
        Some(b'[') => {
            let parts: Vec<ContentPart> = serde_json::from_str(raw).map_err(D::Error::custom)?;
            Ok(parts.into_iter().filter_map(|part| part.text).collect())
        }
        _ => serde_json::from_str(raw).map_err(D::Error::custom),
    }
}

/// A string of JSON as the protocol has it, or the JSON itself as some servers send it.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?.get();
    match raw.as_bytes().first() {
        Some(b'n') => Ok(String::new()),
        Some(b'"') => serde_json::from_str(raw).map_err(D::Error::custom),
        _ => Ok(raw.to_owned()),
    }
}
