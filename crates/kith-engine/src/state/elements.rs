//! From the blocks of an event to the elements of a request.

use kith_vocab::block::{Block, Media, Thinking};
use kith_vocab::conversation::{CallResult, Element, ElementKind, ResultPart, ResultPartKind};
use kith_vocab::event::messages::{AssistantMessage, Outcome, ToolResult, UserMessage};
use kith_vocab::ids::EventId;

use crate::context::escaped::EscapedTexts;
use crate::context::untrusted::{self, TextOrigin};
use crate::context::words;

/// Where a message came from that names no platform.
const NO_PLATFORM: &str = "message";

/// The images and files in an element.
pub(crate) fn media_of_element(element: &Element) -> impl Iterator<Item = &Media> {
    let (own, result) = match &element.kind {
        ElementKind::Media(media) => (Some(media), None),
        ElementKind::Result(result) => (None, Some(result)),
        _ => (None, None),
    };
    own.into_iter().chain(result.into_iter().flat_map(media_of_result))
}

pub(super) fn media_of_result(result: &CallResult) -> impl Iterator<Item = &Media> {
    result.parts.iter().filter_map(|part| match &part.kind {
        ResultPartKind::Media(media) => Some(media),
        ResultPartKind::Text(_) => None,
    })
}

pub(super) fn of_user(
    id: EventId,
    message: &UserMessage,
    escaped: &mut EscapedTexts,
) -> Vec<Element> {
    let is_meta = message.message.meta == Some(true);
    let source = message.ingress.as_ref().map_or(NO_PLATFORM, |it| it.platform.as_str());
    let origin =
        TextOrigin { event: id, trust: message.trust, source, author: Some(&message.author) };
    let mut element = |block: &Block| {
        let kind = match block {
            Block::Text(it) if is_blank(&it.text) => return None,
            Block::Text(it) if is_meta => {
                ElementKind::Meta(untrusted::quoted(&origin, &it.text, escaped))
            }
            Block::Text(it) => ElementKind::Text(untrusted::quoted(&origin, &it.text, escaped)),
            Block::Image(it) | Block::Audio(it) | Block::File(it) => ElementKind::Media(it.clone()),
            Block::Thinking(_) | Block::ToolCall(_) => return None,
        };
        Some(Element { from: Some(id), kind })
    };
    message.message.content.iter().filter_map(&mut element).collect()
}

pub(super) fn of_answer(
    id: EventId,
    answer: &AssistantMessage,
    escaped: &mut EscapedTexts,
) -> Vec<Element> {
    let mut element = |block: &Block| {
        let kind = match block {
            Block::Text(it) if is_blank(&it.text) => return None,
            Block::Text(it) => ElementKind::Text(it.text.clone().into()),
            // Primed thinking has no vendor's signature, so it can only be sent as text.
            Block::Thinking(it) if answer.primed.is_some() && !is_blank(&it.text) => {
                ElementKind::Text(words::thought(&it.text, escaped))
            }
            Block::Thinking(it) if !is_proven(it) => return None,
            Block::Thinking(it) => ElementKind::Thinking {
                thinking: it.clone(),
                provider: answer.provider.clone().unwrap_or_default(),
                model: answer.model.clone().unwrap_or_default(),
            },
            Block::Image(it) | Block::Audio(it) | Block::File(it) => ElementKind::Media(it.clone()),
            Block::ToolCall(it) => ElementKind::Call(it.clone()),
        };
        Some(Element { from: Some(id), kind })
    };
    let mut elements: Vec<Element> =
        answer.message.content.iter().filter_map(&mut element).collect();
    // Thinking that led to nothing is refused by the vendor that wrote it.
    while elements.last().is_some_and(|it| matches!(it.kind, ElementKind::Thinking { .. })) {
        elements.pop();
    }
    elements
}

pub(super) fn of_result(
    id: EventId,
    tool: &str,
    result: &ToolResult,
    escaped: &mut EscapedTexts,
) -> CallResult {
    let origin = TextOrigin { event: id, trust: result.trust, source: tool, author: None };
    let mut part = |block: &Block| {
        let kind = match block {
            Block::Text(it) if is_blank(&it.text) => return None,
            Block::Text(it) => {
                ResultPartKind::Text(untrusted::quoted_result(&origin, &it.text, escaped))
            }
            Block::Image(it) | Block::Audio(it) | Block::File(it) => {
                ResultPartKind::Media(it.clone())
            }
            Block::Thinking(_) | Block::ToolCall(_) => return None,
        };
        Some(ResultPart { from: Some(id), kind })
    };
    let mut parts: Vec<ResultPart> = result.content.iter().filter_map(&mut part).collect();
    if parts.is_empty() {
        let kind = ResultPartKind::Text(words::NO_OUTPUT.into());
        parts.push(ResultPart { from: Some(id), kind });
    }
    let failed = result.outcome != Outcome::Done;
    CallResult { call_id: result.call_id, tool: tool.to_owned(), failed, parts }
}

/// A vendor takes back only thinking that carries its own mark.
fn is_proven(thinking: &Thinking) -> bool {
    let mark = thinking.redacted.as_ref().or(thinking.signature.as_ref());
    mark.is_some_and(|mark| !mark.is_empty())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
