//! The JSON of Anthropic Messages.
//!
//! A request is written straight into the body from borrowed parts; only the blocks of one message
//! exist at a time. The members of an event are read one by one, by its type: servers add keys,
//! leave keys out and write `null` where they have nothing to say.

use std::borrow::Cow;
use std::io;

use base64::display::Base64Display;
use base64::engine::general_purpose::GeneralPurpose;
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
use crate::render::{NO_OUTPUT, NO_TEXT, RenderError, RequestParts, own_thinking};
use crate::text_piece::TextPiece;
use crate::tool_name;
use crate::vendor_error::VendorError;

const RESERVED_KEYS: [&str; 5] = ["model", "system", "tools", "messages", "stream"];

const MAX_TOKENS: &str = "max_tokens";

/// The vendor wants a limit in every request; this one is for those who named none.
const MAX_TOKENS_DEFAULT: u32 = 8192;

pub(super) fn render(
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    let mut parts =
        RequestParts::new(request, media, &RESERVED_KEYS, |name, tool| AnthropicTool {
            name,
            description: &tool.description,
            input_schema: &tool.input_schema,
            cache_control: None,
        })?;
    // Sessions that differ in their system prompt still share what was read before it.
    if let Some(last) = parts.tools.last_mut() {
        last.cache_control = Some(MARKER);
    }
    serde_json::to_writer(writer, &AnthropicBody(parts)).map_err(RenderError::Write)
}

struct AnthropicBody<'a>(RequestParts<'a, AnthropicTool<'a>>);

impl Serialize for AnthropicBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RequestParts { request, parameters, media, tools } = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model)?;
        match parameters.get(MAX_TOKENS) {
            Some(limit) => map.serialize_entry(MAX_TOKENS, limit)?,
            None => map.serialize_entry(MAX_TOKENS, &MAX_TOKENS_DEFAULT)?,
        }
        let block = SystemBlock { kind: "text", text: request.system, cache_control: MARKER };
        map.serialize_entry("system", &[block])?;
        if !tools.is_empty() {
            map.serialize_entry("tools", tools)?;
        }
        map.serialize_entry("messages", &AnthropicMessages { request, media })?;
        map.serialize_entry("stream", &true)?;
        parameters.write_others(MAX_TOKENS, &mut map)?;
        map.end()
    }
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: &'a Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// Asks the vendor to keep everything up to here.
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

const MARKER: CacheControl = CacheControl { kind: "ephemeral" };

struct AnthropicMessages<'a> {
    request: &'a ModelRequest<'a>,
    media: &'a MediaBytes,
}

/// Besides the markers of tools and system prompt. The vendor takes four in all. It looks for what
/// it has kept at most twenty blocks before a marker, so the end of the request before, which may
/// be further away than that, keeps its own.
const MESSAGES_MARKED: usize = 2;

impl Serialize for AnthropicMessages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let messages = &self.request.messages;
        let of_users = messages.iter().enumerate().rev().filter(|(_, it)| it.role == Role::User);
        let marked: Vec<usize> = of_users.map(|(index, _)| index).take(MESSAGES_MARKED).collect();
        let mut seq = serializer.serialize_seq(Some(messages.len()))?;
        for (index, message) in messages.iter().enumerate() {
            let mut content = self.blocks(message);
            if content.is_empty() {
                content.push(AnthropicBlock::Text { text: ours(NO_TEXT), cache_control: None });
            }
            if marked.contains(&index) {
                content.last_mut().map(AnthropicBlock::mark);
            }
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            seq.serialize_element(&AnthropicMessage { role, content })?;
        }
        seq.end()
    }
}

impl<'a> AnthropicMessages<'a> {
    fn blocks(&self, message: &'a Message) -> Vec<AnthropicBlock<'a>> {
        let is_result = |element: &&Element| matches!(element.kind, ElementKind::Result(_));
        let results = message.elements.iter().filter(is_result);
        let others = message.elements.iter().filter(|element| !is_result(element));
        let elements = results.chain(others);
        elements.filter_map(|element| self.block(message.role, &element.kind)).collect()
    }

    /// `None` for what may not or cannot be shown.
    fn block(&self, role: Role, element: &'a ElementKind) -> Option<AnthropicBlock<'a>> {
        Some(match element {
            // The vendor refuses a text of nothing but spaces.
            ElementKind::Text(text) | ElementKind::Meta(text) if text.is_blank() => return None,
            ElementKind::Text(text) | ElementKind::Meta(text) => {
                AnthropicBlock::Text { text: Cow::Borrowed(text), cache_control: None }
            }
            ElementKind::Media(media) => match role {
                Role::User => media_block(media, self.media),
                Role::Assistant => note_block(&not_shown(media)),
            },
            ElementKind::Thinking { .. } => return thought(own_thinking(self.request, element)?),
            ElementKind::Call(call) => AnthropicBlock::ToolUse {
                id: call.call_id,
                name: tool_name::escape_called(&call.tool),
                input: &call.input,
            },
            ElementKind::Result(result) => AnthropicBlock::ToolResult {
                tool_use_id: result.call_id,
                content: result_blocks(result, self.media),
                is_error: result.failed.then_some(true),
                cache_control: None,
            },
        })
    }
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<AnthropicBlock<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicBlock<'a> {
    Text {
        text: Cow<'a, FramedText>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Base64Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: Base64Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: CallId,
        name: Cow<'a, str>,
        input: &'a Json,
    },
    ToolResult {
        tool_use_id: CallId,
        content: Vec<AnthropicBlock<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

impl AnthropicBlock<'_> {
    fn mark(&mut self) {
        match self {
            AnthropicBlock::Text { cache_control, .. }
            | AnthropicBlock::Image { cache_control, .. }
            | AnthropicBlock::Document { cache_control, .. }
            | AnthropicBlock::ToolResult { cache_control, .. } => {
                *cache_control = Some(MARKER);
            }
            // Only answers contain them, and the marker is set on user messages.
            AnthropicBlock::Thinking { .. }
            | AnthropicBlock::RedactedThinking { .. }
            | AnthropicBlock::ToolUse { .. } => (),
        }
    }
}

#[derive(Serialize)]
struct Base64Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: InOneText<Base64Display<'a, 'static, GeneralPurpose>>,
}

fn source(encoded: EncodedMedia<'_>) -> Base64Source<'_> {
    let media_type = encoded.media.media_type.as_str();
    Base64Source { kind: "base64", media_type, data: InOneText(encoded.base64()) }
}

fn media_block<'a>(media: &'a Media, bytes: &'a MediaBytes) -> AnthropicBlock<'a> {
    match shown(Wire::Anthropic, media, bytes) {
        ShownMedia::Image(image) => {
            AnthropicBlock::Image { source: source(image), cache_control: None }
        }
        ShownMedia::Pdf(file) => {
            AnthropicBlock::Document { source: source(file), cache_control: None }
        }
        ShownMedia::Note(note) => note_block(&note),
    }
}

fn note_block<'a>(note: &MediaNote<'_>) -> AnthropicBlock<'a> {
    AnthropicBlock::Text { text: ours(note.to_string()), cache_control: None }
}

/// Thinking without the vendor's proof is refused by it, so it is left out. One with both marks is
/// that of OpenAI Responses, written when a model of this name was reached over that wire.
fn thought(thinking: &Thinking) -> Option<AnthropicBlock<'_>> {
    match (&thinking.signature, &thinking.redacted) {
        (Some(signature), None) => {
            Some(AnthropicBlock::Thinking { thinking: &thinking.text, signature })
        }
        (None, Some(data)) => Some(AnthropicBlock::RedactedThinking { data }),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

fn ours<'a>(text: impl Into<FramedText>) -> Cow<'a, FramedText> {
    Cow::Owned(text.into())
}

fn result_blocks<'a>(result: &'a CallResult, media: &'a MediaBytes) -> Vec<AnthropicBlock<'a>> {
    let text = |text| AnthropicBlock::Text { text, cache_control: None };
    let mut blocks: Vec<AnthropicBlock<'_>> = result
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            ResultPartKind::Text(it) => (!it.is_blank()).then(|| text(Cow::Borrowed(it))),
            ResultPartKind::Media(it) => Some(media_block(it, media)),
        })
        .collect();
    if blocks.is_empty() {
        blocks.push(text(ours(NO_OUTPUT)));
    }
    blocks
}

/// One event of a stream.
#[derive(Deserialize)]
pub(super) struct AnthropicEvent<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A whole answer, or the beginning of one.
#[derive(Default, Deserialize)]
pub(super) struct AnthropicAnswer<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Vec<ContentBlock<'a>>>,
    pub(super) stop_reason: Option<String>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A block of an answer.
#[derive(Deserialize)]
pub(super) struct ContentBlock<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<TextPiece>,
    pub(super) thinking: Option<TextPiece>,
    pub(super) signature: Option<String>,
    pub(super) data: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// A piece of a block, or of the message.
#[derive(Deserialize)]
pub(super) struct ContentDelta {
    pub(super) text: Option<TextPiece>,
    pub(super) thinking: Option<TextPiece>,
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<TextPiece>,
    pub(super) stop_reason: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct AnthropicTokens {
    #[serde(rename = "input_tokens")]
    pub(super) input: Option<u64>,
    #[serde(rename = "output_tokens")]
    pub(super) output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    pub(super) cache_write: Option<u64>,
}

impl<'a> AnthropicEvent<'a> {
    pub(super) fn message(&self) -> Option<AnthropicAnswer<'a>> {
        read_member(self.message)
    }

    pub(super) fn content_block(&self) -> Option<ContentBlock<'a>> {
        read_member(self.content_block)
    }

    pub(super) fn delta(&self) -> Option<ContentDelta> {
        read_member(self.delta)
    }

    /// Usage is worth having, but never worth an answer: odd counts are passed over.
    pub(super) fn usage(&self) -> Option<AnthropicTokens> {
        read_member(self.usage)
    }

    pub(super) fn error(&self) -> VendorError {
        VendorError::of_member(self.error).unwrap_or_default()
    }
}

impl AnthropicAnswer<'_> {
    pub(super) fn usage(&self) -> Option<AnthropicTokens> {
        read_member(self.usage)
    }

    pub(super) fn error(&self) -> Option<VendorError> {
        VendorError::of_member(self.error)
    }
}
