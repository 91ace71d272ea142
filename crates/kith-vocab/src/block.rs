//! The blocks of a message.

use serde::{Deserialize, Serialize};

use crate::ids::CallId;
use crate::json::Json;
use crate::tagged_enum;
use crate::text::Text;
use crate::tool::USE_TOOL;

tagged_enum! {
    /// One piece of a message's content.
    pub enum Block {
        Text(TextBlock) = "text",
        Thinking(Thinking) = "thinking",
        Image(Media) = "image",
        Audio(Media) = "audio",
        File(Media) = "file",
        ToolCall(ToolCall) = "tool_call",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextBlock {
    pub text: Text,
}

/// A model's reasoning before its answer. It is sent back only to the model that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Thinking {
    pub text: Text,
    /// The vendor's proof that the text is its own; on OpenAI Responses the item's id, which the
    /// encrypted content is bound to and which may be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<Text>,
    /// Thinking the vendor hides from us, in its own encoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Text>,
}

/// An image, a sound or a file, by the hash of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Media {
    pub media_type: String,
    pub blob: String,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCall {
    pub call_id: CallId,
    /// The id the vendor gave; kept for people who compare logs, used nowhere.
    pub provider_call_id: String,
    pub tool: String,
    /// An object; empty when the arguments were not JSON.
    pub input: Json,
    /// The arguments as they came, when they are not a JSON object. Such a call never runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Text>,
}

/// A longer name is none of a tool.
const TOOL_NAME_BYTES_MAX: usize = 64;

impl ToolCall {
    /// The tool that the call is about, with its input: the inner one of a call through
    /// [`USE_TOOL`].
    pub fn meant(&self) -> (String, Json) {
        #[derive(Deserialize)]
        struct InnerCall {
            name: String,
            // Without it the inner tool is only described.
            input: Json,
        }
        let is_name = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !name.is_empty() && name.len() <= TOOL_NAME_BYTES_MAX && name.bytes().all(is_plain)
        };
        let inner = || self.input.read::<InnerCall>().ok().filter(|it| is_name(&it.name));
        match (self.tool == USE_TOOL).then(inner).flatten() {
            Some(InnerCall { name, input }) => (name, input),
            None => (self.tool.clone(), self.input.clone()),
        }
    }

    pub fn tool_meant(&self) -> String {
        self.meant().0
    }
}

impl Block {
    pub fn text(text: impl Into<Text>) -> Block {
        Block::Text(TextBlock { text: text.into() })
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

/// The text blocks, joined by nothing: vendors split one text where they like.
pub fn plain_text(blocks: &[Block]) -> Text {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text(it) => Some(&it.text),
        _ => None,
    });
    match (texts.next(), texts.clone().next()) {
        (None, _) => Text::default(),
        (Some(only), None) => only.clone(),
        (Some(first), Some(_)) => [first].into_iter().chain(texts).map(Text::as_str).collect(),
    }
}

#[cfg(test)]
mod tests;
