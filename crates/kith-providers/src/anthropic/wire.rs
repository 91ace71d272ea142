//! The JSON of Anthropic Messages.
//!
//! It is written straight into the body from borrowed parts; only the blocks of one message exist
//! at a time.

use std::borrow::Cow;
use std::io;

use kith_vocab::block::Thinking;
use kith_vocab::conversation::{
    CallResult, Element, ElementKind, Message, ModelRequest, ResultPartKind, Role,
};
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::text::FramedText;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::parameters::Parameters;
use crate::render::{MediaNote, NO_OUTPUT, NO_TEXT, RenderError, listed_tool_name};
use crate::tool_name;

pub(super) const RESERVED_KEYS: [&str; 5] = ["model", "system", "tools", "messages", "stream"];

const MAX_TOKENS: &str = "max_tokens";

/// The vendor wants a limit in every request; this one is for those who named none.
const MAX_TOKENS_DEFAULT: u32 = 8192;

pub(super) fn render(
    request: &ModelRequest<'_>,
    parameters: &Parameters<'_>,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    let tools = request.tools.iter().map(|tool| {
        let name = listed_tool_name(&tool.name)?;
        Ok(AnthropicTool { name, description: &tool.description, input_schema: &tool.input_schema })
    });
    let tools = tools.collect::<Result<Vec<_>, _>>()?;
    let whole = AnthropicBody { request, parameters, tools };
    serde_json::to_writer(writer, &whole).map_err(RenderError::Write)
}

struct AnthropicBody<'a> {
    request: &'a ModelRequest<'a>,
    parameters: &'a Parameters<'a>,
    tools: Vec<AnthropicTool<'a>>,
}

impl Serialize for AnthropicBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AnthropicBody { request, parameters, tools } = self;
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
        map.serialize_entry("messages", &AnthropicMessages(request))?;
        map.serialize_entry("stream", &true)?;
        for (key, value) in parameters.iter().filter(|(key, _)| *key != MAX_TOKENS) {
            map.serialize_entry(key, value)?;
        }
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
}

/// Asks the vendor to keep everything up to here.
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

const MARKER: CacheControl = CacheControl { kind: "ephemeral" };

struct AnthropicMessages<'a>(&'a ModelRequest<'a>);

impl Serialize for AnthropicMessages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let messages = &self.0.messages;
        let last_of_user = messages.iter().rposition(|message| message.role == Role::User);
        let mut seq = serializer.serialize_seq(Some(messages.len()))?;
        for (index, message) in messages.iter().enumerate() {
            let mut content = blocks(self.0, message);
            if content.is_empty() {
                content.push(AnthropicBlock::Text { text: ours(NO_TEXT), cache_control: None });
            }
            if Some(index) == last_of_user {
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
        content: Vec<AnthropicText<'a>>,
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
struct AnthropicText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: Cow<'a, FramedText>,
}

fn blocks<'a>(request: &ModelRequest<'_>, message: &'a Message) -> Vec<AnthropicBlock<'a>> {
    let is_result = |element: &&Element| matches!(element.kind, ElementKind::Result(_));
    let results = message.elements.iter().filter(is_result);
    let others = message.elements.iter().filter(|element| !is_result(element));
    results.chain(others).filter_map(|element| block(request, &element.kind)).collect()
}

/// `None` for what may not or cannot be shown.
fn block<'a>(request: &ModelRequest<'_>, element: &'a ElementKind) -> Option<AnthropicBlock<'a>> {
    match element {
        // The vendor refuses a text of nothing but spaces.
        ElementKind::Text(text) | ElementKind::Meta(text) => (!text.is_blank())
            .then_some(AnthropicBlock::Text { text: Cow::Borrowed(text), cache_control: None }),
        ElementKind::Media(media) => Some(AnthropicBlock::Text {
            text: ours(MediaNote(media).to_string()),
            cache_control: None,
        }),
        ElementKind::Thinking { thinking, provider, model } => {
            let is_its_own = provider == request.provider && model == request.model;
            if is_its_own { thought(thinking) } else { None }
        }
        ElementKind::Call(call) => Some(AnthropicBlock::ToolUse {
            id: call.call_id,
            name: tool_name::escape_called(&call.tool),
            input: &call.input,
        }),
        ElementKind::Result(result) => Some(AnthropicBlock::ToolResult {
            tool_use_id: result.call_id,
            content: result_texts(result),
            is_error: result.failed.then_some(true),
            cache_control: None,
        }),
    }
}

/// Thinking without the vendor's proof is refused by it, so it is left out.
fn thought(thinking: &Thinking) -> Option<AnthropicBlock<'_>> {
    if let Some(data) = &thinking.redacted {
        return Some(AnthropicBlock::RedactedThinking { data });
    }
    let signature = thinking.signature.as_ref()?;
    Some(AnthropicBlock::Thinking { thinking: &thinking.text, signature })
}

fn ours<'a>(text: impl Into<FramedText>) -> Cow<'a, FramedText> {
    Cow::Owned(text.into())
}

fn result_texts(result: &CallResult) -> Vec<AnthropicText<'_>> {
    let text = |text| AnthropicText { kind: "text", text };
    let mut texts: Vec<AnthropicText<'_>> = result
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            ResultPartKind::Text(it) => (!it.is_blank()).then(|| text(Cow::Borrowed(it))),
            ResultPartKind::Media(media) => Some(text(ours(MediaNote(media).to_string()))),
        })
        .collect();
    if texts.is_empty() {
        texts.push(text(ours(NO_OUTPUT)));
    }
    texts
}
