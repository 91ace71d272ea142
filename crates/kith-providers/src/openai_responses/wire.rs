//! The JSON of OpenAI Responses.
//!
//! A request is written straight into the body from borrowed parts; only the items of one message
//! exist at a time. The members of an event are read one by one, by its type.

use std::borrow::Cow;
use std::io;

use kith_vocab::block::{Media, Thinking};
use kith_vocab::conversation::{
    CallResult, Element, ElementKind, Message, ModelRequest, ResultPartKind, Role,
};
use kith_vocab::event::models::Wire;
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::text::FramedText;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::answer::read_member;
use crate::media::{EncodedMedia, InOneText, MediaBytes, MediaNote, ShownMedia, not_shown, shown};
use crate::render::{NO_TEXT, RenderError, RequestParts, ResultText, own_thinking};
use crate::text_piece::TextPiece;
use crate::tool_name;
use crate::vendor_error::VendorError;

const RESERVED_KEYS: [&str; 6] = ["model", "instructions", "input", "tools", "stream", "store"];

const INCLUDE: &str = "include";
const ENCRYPTED_REASONING: [&str; 1] = ["reasoning.encrypted_content"];

/// A file needs a name here; this one is for those that have none.
const FILE_NAME: &str = "file.pdf";

pub(super) fn render(
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    let parts = RequestParts::new(request, media, &RESERVED_KEYS, |name, tool| ResponsesTool {
        kind: "function",
        name,
        description: &tool.description,
        parameters: &tool.input_schema,
        strict: false,
    })?;
    serde_json::to_writer(writer, &ResponsesBody(parts)).map_err(RenderError::Write)
}

struct ResponsesBody<'a>(RequestParts<'a, ResponsesTool<'a>>);

impl Serialize for ResponsesBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RequestParts { request, parameters, media, tools } = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model)?;
        map.serialize_entry("instructions", request.system)?;
        if !tools.is_empty() {
            map.serialize_entry("tools", tools)?;
        }
        map.serialize_entry("input", &InputItems { request, media })?;
        map.serialize_entry("stream", &true)?;
        map.serialize_entry("store", &false)?;
        parameters.write_or(INCLUDE, &ENCRYPTED_REASONING, &mut map)?;
        parameters.write_others(INCLUDE, &mut map)?;
        map.end()
    }
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Json,
    /// The vendor's own choice would be to refuse schemas with optional members.
    strict: bool,
}

struct InputItems<'a> {
    request: &'a ModelRequest<'a>,
    media: &'a MediaBytes,
}

impl Serialize for InputItems<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for message in &self.request.messages {
            let items = match message.role {
                Role::User => self.user_items(message),
                Role::Assistant => self.assistant_items(message),
            };
            for item in items {
                seq.serialize_element(&item)?;
            }
        }
        seq.end()
    }
}

impl<'a> InputItems<'a> {
    fn user_items(&self, message: &'a Message) -> Vec<InputItem<'a>> {
        let mut items = Vec::new();
        let mut content = Vec::new();
        for element in &message.elements {
            match &element.kind {
                ElementKind::Result(result) => items.push(InputItem::FunctionCallOutput {
                    call_id: result.call_id,
                    output: self.output(result),
                }),
                ElementKind::Text(text) | ElementKind::Meta(text) => {
                    content.push(InputPart::text(text));
                }
                ElementKind::Media(media) => content.push(self.media_part(media)),
                ElementKind::Thinking { .. } | ElementKind::Call(_) => (),
            }
        }
        if !content.is_empty() {
            items.push(InputItem::Message { role: "user", content });
        }
        items
    }

    fn assistant_items(&self, message: &'a Message) -> Vec<InputItem<'a>> {
        let mut items: Vec<InputItem<'a>> = Vec::new();
        for element in &message.elements {
            let item = match &element.kind {
                ElementKind::Thinking { .. } => {
                    own_thinking(self.request, &element.kind).and_then(reasoning)
                }
                ElementKind::Call(call) => Some(InputItem::FunctionCall {
                    call_id: call.call_id,
                    name: tool_name::escape_called(&call.tool),
                    // When the arguments were no JSON, `input` is an empty object.
                    arguments: call.input.as_str(),
                }),
                _ => {
                    let Some(part) = answer_part(element) else { continue };
                    if let Some(InputItem::Message { content, .. }) = items.last_mut() {
                        content.push(part);
                        continue;
                    }
                    Some(InputItem::Message { role: "assistant", content: vec![part] })
                }
            };
            items.extend(item);
        }
        // Reasoning that led to nothing is refused by the server that wrote it.
        while matches!(items.last(), Some(InputItem::Reasoning { .. })) {
            items.pop();
        }
        if items.is_empty() {
            let part = InputPart::OutputText { text: Cow::Owned(NO_TEXT.into()) };
            items.push(InputItem::Message { role: "assistant", content: vec![part] });
        }
        items
    }

    fn output(&self, result: &'a CallResult) -> CallOutput<'a> {
        let has_media = |bytes| {
            result.parts.iter().any(|part| match &part.kind {
                ResultPartKind::Media(it) => {
                    !matches!(shown(Wire::OpenaiResponses, it, bytes), ShownMedia::Note(_))
                }
                ResultPartKind::Text(_) => false,
            })
        };
        if !has_media(self.media) {
            let wire = Wire::OpenaiResponses;
            return CallOutput::Text(InOneText(ResultText { result, media: self.media, wire }));
        }
        let parts = result.parts.iter().filter_map(|part| match &part.kind {
            ResultPartKind::Text(text) => (!text.is_empty()).then(|| InputPart::text(text)),
            ResultPartKind::Media(it) => Some(self.media_part(it)),
        });
        CallOutput::Parts(parts.collect())
    }

    fn media_part(&self, media: &'a Media) -> InputPart<'a> {
        match shown(Wire::OpenaiResponses, media, self.media) {
            ShownMedia::Image(image) => InputPart::InputImage { image_url: InOneText(image) },
            ShownMedia::Pdf(file) => InputPart::InputFile {
                filename: media.name.as_deref().unwrap_or(FILE_NAME),
                file_data: InOneText(file),
            },
            ShownMedia::Note(note) => InputPart::InputText { text: in_words(&note) },
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message {
        role: &'static str,
        content: Vec<InputPart<'a>>,
    },
    Reasoning {
        #[serde(skip_serializing_if = "str::is_empty")]
        id: &'a str,
        summary: Vec<SummaryText<'a>>,
        encrypted_content: &'a str,
    },
    FunctionCall {
        call_id: CallId,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: CallId,
        output: CallOutput<'a>,
    },
}

#[derive(Serialize)]
struct SummaryText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    InputText { text: Cow<'a, FramedText> },
    OutputText { text: Cow<'a, FramedText> },
    InputImage { image_url: InOneText<EncodedMedia<'a>> },
    InputFile { filename: &'a str, file_data: InOneText<EncodedMedia<'a>> },
}

impl<'a> InputPart<'a> {
    fn text(text: &'a FramedText) -> InputPart<'a> {
        InputPart::InputText { text: Cow::Borrowed(text) }
    }
}

/// A result without media is one text: servers that are not OpenAI's take no other form.
#[derive(Serialize)]
#[serde(untagged)]
enum CallOutput<'a> {
    Text(InOneText<ResultText<'a>>),
    Parts(Vec<InputPart<'a>>),
}

/// The part of an answer's message that shows an element; `None` for one that says nothing.
fn answer_part(element: &Element) -> Option<InputPart<'_>> {
    let text = match &element.kind {
        ElementKind::Text(text) | ElementKind::Meta(text) => {
            (!text.is_empty()).then_some(Cow::Borrowed(text))
        }
        ElementKind::Media(media) => Some(in_words(&not_shown(media))),
        ElementKind::Thinking { .. } | ElementKind::Call(_) | ElementKind::Result(_) => None,
    };
    text.map(|text| InputPart::OutputText { text })
}

/// Reasoning of this wire has both marks: the item's id, which may be empty, and the encrypted
/// content, which is bound to it.
fn reasoning(thinking: &Thinking) -> Option<InputItem<'_>> {
    let (Some(id), Some(encrypted_content)) = (&thinking.signature, &thinking.redacted) else {
        return None;
    };
    let text = thinking.text.as_str();
    let summary =
        if text.is_empty() { Vec::new() } else { vec![SummaryText { kind: "summary_text", text }] };
    Some(InputItem::Reasoning { id, summary, encrypted_content })
}

fn in_words<'a>(note: &MediaNote<'_>) -> Cow<'a, FramedText> {
    Cow::Owned(note.to_string().into())
}

/// One event of a stream.
#[derive(Deserialize)]
pub(super) struct ResponsesEvent<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) output_index: Option<u64>,
    pub(super) item_id: Option<String>,
    /// A text, or a table in events that are not ours to read.
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A whole answer, or what is known of it so far.
#[derive(Default, Deserialize)]
pub(super) struct ResponseObject<'a> {
    pub(super) status: Option<String>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<OutputItem<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct OutputItem<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) status: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    pub(super) content: Option<Vec<OutputPart>>,
    pub(super) summary: Option<Vec<OutputPart>>,
    pub(super) encrypted_content: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct OutputPart {
    pub(super) text: Option<TextPiece>,
    pub(super) refusal: Option<TextPiece>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesTokens {
    #[serde(rename = "input_tokens")]
    pub(super) input: Option<u64>,
    #[serde(rename = "output_tokens")]
    pub(super) output: Option<u64>,
    #[serde(rename = "input_tokens_details")]
    details: Option<InputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

impl<'a> ResponsesEvent<'a> {
    /// The piece of text that the event carries, empty when it has none.
    pub(super) fn delta(&self) -> TextPiece {
        read_member(self.delta).unwrap_or_default()
    }

    pub(super) fn arguments(&self) -> Option<String> {
        self.arguments.map(arguments)
    }

    pub(super) fn item(&self) -> Option<OutputItem<'a>> {
        read_member(self.item)
    }

    pub(super) fn response(&self) -> Option<ResponseObject<'a>> {
        read_member(self.response)
    }

    /// The error of the event itself: in a member of its own, or all of the event.
    pub(super) fn error(&self, data: &str) -> VendorError {
        VendorError::of_event(self.error.map_or(data, RawValue::get))
    }
}

impl ResponseObject<'_> {
    /// Usage is worth having, but never worth an answer: odd counts are passed over.
    pub(super) fn usage(&self) -> Option<ResponsesTokens> {
        read_member(self.usage)
    }

    pub(super) fn error(&self) -> Option<VendorError> {
        VendorError::of_member(self.error)
    }

    /// Why the answer is not complete, if it says so.
    pub(super) fn incomplete_reason(&self) -> Option<String> {
        read_member::<IncompleteDetails>(self.incomplete_details)?.reason
    }
}

impl OutputItem<'_> {
    pub(super) fn arguments(&self) -> Option<String> {
        self.arguments.map(arguments)
    }
}

impl ResponsesTokens {
    pub(super) fn cached(&self) -> u64 {
        self.details.as_ref().and_then(|it| it.cached_tokens).unwrap_or(0)
    }
}

/// A string of JSON as the protocol has it, or the JSON itself as some servers send it.
fn arguments(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        text => match serde_json::from_str::<TextPiece>(text) {
            Ok(piece) => piece.into_whole(),
            Err(_) => text.to_owned(),
        },
    }
}
