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
use kith_vocab::event::models::Wire;
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::text::FramedText;
use serde::de::Error as _;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::answer::read_member;
use crate::media::{EncodedMedia, InOneText, MediaBytes, MediaNote, ShownMedia, not_shown, shown};
use crate::render::{NO_TEXT, RenderError, RequestParts, ResultText};
use crate::text_piece::TextPiece;
use crate::tool_name;
use crate::vendor_error::VendorError;

const RESERVED_KEYS: [&str; 4] = ["model", "messages", "tools", "stream"];

const STREAM_OPTIONS: &str = "stream_options";

pub(super) fn render(
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    let parts = RequestParts::new(request, media, &RESERVED_KEYS, |name, tool| {
        let function =
            OpenAiFunction { name, description: &tool.description, parameters: &tool.input_schema };
        OpenAiTool { kind: "function", function }
    })?;
    serde_json::to_writer(writer, &OpenAiBody(parts)).map_err(RenderError::Write)
}

struct OpenAiBody<'a>(RequestParts<'a, OpenAiTool<'a>>);

impl Serialize for OpenAiBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RequestParts { request, parameters, media, tools } = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model)?;
        map.serialize_entry("messages", &OpenAiMessages(request, media))?;
        if !tools.is_empty() {
            map.serialize_entry("tools", tools)?;
        }
        map.serialize_entry("stream", &true)?;
        parameters.write_or(STREAM_OPTIONS, &StreamOptions { include_usage: true }, &mut map)?;
        parameters.write_others(STREAM_OPTIONS, &mut map)?;
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

struct OpenAiMessages<'a>(&'a ModelRequest<'a>, &'a MediaBytes);

impl Serialize for OpenAiMessages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        seq.serialize_element(&OpenAiMessage { role: "system", content: self.0.system })?;
        for message in &self.0.messages {
            match message.role {
                Role::User => user_messages(message, self.1, &mut seq)?,
                Role::Assistant => seq.serialize_element(&assistant_message(message))?,
            }
        }
        seq.end()
    }
}

fn user_messages<S: SerializeSeq>(
    message: &Message,
    media: &MediaBytes,
    seq: &mut S,
) -> Result<(), S::Error> {
    let mut parts: Vec<UserPart<'_>> = Vec::new();
    for element in &message.elements {
        if let ElementKind::Result(result) = &element.kind {
            // Results are text here, so their images follow in the message of the user.
            parts.extend(images_of(result, media).map(UserPart::Image));
            seq.serialize_element(&ToolMessage {
                role: "tool",
                tool_call_id: result.call_id,
                content: InOneText(ResultText { result, media, wire: Wire::OpenaiChat }),
            })?;
        }
    }
    parts.extend(message.elements.iter().filter_map(|element| user_part(element, media)));
    match parts.as_slice() {
        [] => Ok(()),
        [UserPart::Text(text)] => {
            seq.serialize_element(&OpenAiMessage { role: "user", content: InOneText(text) })
        }
        several => seq.serialize_element(&OpenAiMessage { role: "user", content: several }),
    }
}

fn user_part<'a>(element: &'a Element, media: &'a MediaBytes) -> Option<UserPart<'a>> {
    Some(match &element.kind {
        ElementKind::Text(text) | ElementKind::Meta(text) => {
            UserPart::Text(ElementText::Text(text))
        }
        ElementKind::Media(it) => match shown(Wire::OpenaiChat, it, media) {
            ShownMedia::Image(image) => UserPart::Image(image),
            ShownMedia::Pdf(_) => return None,
            ShownMedia::Note(note) => UserPart::Text(ElementText::Media(note)),
        },
        ElementKind::Thinking { .. } | ElementKind::Call(_) | ElementKind::Result(_) => {
            return None;
        }
    })
}

fn images_of<'a>(
    result: &'a CallResult,
    media: &'a MediaBytes,
) -> impl Iterator<Item = EncodedMedia<'a>> {
    result.parts.iter().filter_map(|part| match &part.kind {
        ResultPartKind::Media(it) => match shown(Wire::OpenaiChat, it, media) {
            ShownMedia::Image(image) => Some(image),
            _ => None,
        },
        ResultPartKind::Text(_) => None,
    })
}

enum UserPart<'a> {
    Text(ElementText<'a>),
    Image(EncodedMedia<'a>),
}

impl Serialize for UserPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            UserPart::Text(text) => {
                TextPart { kind: "text", text: InOneText(text) }.serialize(serializer)
            }
            UserPart::Image(image) => {
                let image_url = ImageUrl { url: InOneText(*image) };
                ImagePart { kind: "image_url", image_url }.serialize(serializer)
            }
        }
    }
}

#[derive(Serialize)]
struct ImagePart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    image_url: ImageUrl<'a>,
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: InOneText<EncodedMedia<'a>>,
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
    content: InOneText<ResultText<'a>>,
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

/// The text of an answer's element.
fn text_of(element: &Element) -> Option<ElementText<'_>> {
    match &element.kind {
        ElementKind::Text(text) | ElementKind::Meta(text) => Some(ElementText::Text(text)),
        ElementKind::Media(media) => Some(ElementText::Media(not_shown(media))),
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
    pub(super) content: TextPiece,
    #[serde(default, deserialize_with = "text")]
    pub(super) reasoning_content: TextPiece,
    #[serde(default, deserialize_with = "text")]
    pub(super) reasoning: TextPiece,
    #[serde(default, deserialize_with = "text")]
    pub(super) refusal: TextPiece,
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
    pub(super) arguments: TextPiece,
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

impl Chunk<'_> {
    /// Usage is worth having, but never worth an answer: odd counts are passed over.
    pub(super) fn usage(&self) -> Option<Tokens> {
        read_member(self.usage)
    }

    pub(super) fn error(&self) -> Option<VendorError> {
        VendorError::of_member(self.error)
    }
}

impl Tokens {
    pub(super) fn cached(&self) -> u64 {
        let details = self.details.as_ref().and_then(|it| it.cached_tokens);
        details.or(self.cache_hit).unwrap_or(0)
    }
}

/// A string, `null`, or the list of parts that some servers send for one text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TextPiece, D::Error> {
    #[derive(Deserialize)]
    struct ContentPart {
        text: Option<TextPiece>,
    }
    let raw = <&RawValue>::deserialize(deserializer)?.get();
    match raw.as_bytes().first() {
        Some(b'n') => Ok(TextPiece::default()),
        Some(b'[') => {
            let parts: Vec<ContentPart> = serde_json::from_str(raw).map_err(D::Error::custom)?;
            Ok(parts.into_iter().filter_map(|part| part.text).collect())
        }
        _ => serde_json::from_str(raw).map_err(D::Error::custom),
    }
}

/// A string of JSON as the protocol has it, or the JSON itself as some servers send it.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TextPiece, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?.get();
    match raw.as_bytes().first() {
        Some(b'n') => Ok(TextPiece::default()),
        Some(b'"') => serde_json::from_str(raw).map_err(D::Error::custom),
        _ => Ok(TextPiece::from(raw)),
    }
}
