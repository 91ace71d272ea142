//! The context of a request for a summary: the conversation, or its first part, and the instruction.
//!
//! It is one more request of the same conversation, so a vendor's cache holds for it, and it is
//! rebuilt from the log like any other.

use std::borrow::Cow;

use kith_vocab::block::Media;
use kith_vocab::conversation::{CallResult, Element, ElementKind, Message, ResultPartKind, Role};
use kith_vocab::event::Body;
use kith_vocab::event::messages::HarnessKind;
use kith_vocab::event::models::SummaryScope;
use kith_vocab::ids::EventId;

use super::{Context, words};
use crate::ledger::LedgerText;
use crate::state::State;
use crate::state::elements::media_of_element;

/// Each result of a call, where results are cut.
const RESULT_BYTES_MAX: usize = 2 * 1024;
/// The tokens that an image or a page of a PDF file counts for. The largest images cost about 4,800 tokens
/// at Anthropic and 10,600 at OpenAI; a page is its image and up to 3,000 tokens of text.
const PAGE_TOKENS_MAX: u64 = 12_000;
/// The smallest size that a page of a PDF file usually has.
const PDF_PAGE_BYTES_MIN: u64 = 4 * 1024;
/// Vendors take no more pages in a request.
const PDF_PAGES_MAX: u64 = 100;

pub(crate) fn context<'a>(state: &'a State, scope: Option<&SummaryScope>) -> Context<'a> {
    let mut messages = messages_before(state, scope.and_then(|it| it.before));
    if scope.is_some_and(|it| it.cut_results) {
        cut_results(&mut messages);
    }
    if let Some(bytes_max) = scope.and_then(|it| it.text_bytes_max) {
        cut_texts(state, &mut messages, usize::try_from(bytes_max).unwrap_or(usize::MAX));
    }
    let instruction = Element { from: None, kind: ElementKind::Meta(words::SUMMARISE.into()) };
    let mut tail = match messages.pop() {
        Some(last) if last.role == Role::User => last,
        last => {
            messages.extend(last);
            Message { role: Role::User, elements: Vec::new() }
        }
    };
    tail.elements.push(instruction);
    Context { finished: Cow::Owned(messages), tail, ..super::context(state) }
}

/// The places before which a summary may end: the messages of people, oldest first. The first of
/// them has nothing before it.
pub(crate) fn boundaries(state: &State) -> Vec<EventId> {
    let mut found = Vec::new();
    for message in state.conversation.messages() {
        for element in message.elements {
            let begins = |id: &EventId| {
                let event = state.tree.get(*id);
                event.is_some_and(|it| matches!(it.body, Body::UserMessage(_)))
            };
            if let Some(id) = element.from.filter(begins)
                && found.last() != Some(&id)
            {
                found.push(id);
            }
        }
    }
    found.into_iter().skip(1).collect()
}

/// The message that the open turn answers, if another message stands before it that no summary has
/// replaced.
pub(crate) fn asked_after_another(state: &State) -> Option<EventId> {
    let asked = state.turn.as_ref()?.began_with;
    let messages = state.conversation.messages();
    let sources: Vec<_> = messages.iter().flat_map(|it| &it.elements).map(|it| it.from).collect();
    let place = sources.iter().position(|from| *from == Some(asked))?;
    let is_message = |id: &EventId| {
        let event = state.tree.get(*id);
        event.is_some_and(|it| matches!(it.body, Body::UserMessage(_)))
    };
    let is_after_another = sources[..place].iter().flatten().any(is_message);
    is_after_another.then_some(asked)
}

/// The event at which the kept part begins: the longest end of the conversation that has at most
/// so many bytes and begins with a message or an answer. `None` if there is none.
pub(crate) fn first_kept(state: &State, bytes_max: u64) -> Option<EventId> {
    let (mut n_bytes, mut first) = (0, None);
    for message in state.conversation.messages().iter().rev() {
        for element in message.elements.iter().rev() {
            n_bytes += element_bytes(element);
            if n_bytes > bytes_max {
                return first;
            }
            let event = element.from.and_then(|id| state.tree.get(id));
            let is_message = event.is_some_and(|it| matches!(it.body, Body::UserMessage(_)));
            if is_message && message.role == Role::User {
                first = element.from;
            }
        }
        if message.role == Role::Assistant {
            first = message.elements.first().and_then(|it| it.from).or(first);
        }
    }
    first
}

pub(crate) fn conversation_bytes(state: &State) -> u64 {
    let messages = state.conversation.messages();
    messages.iter().flat_map(|it| &it.elements).map(element_bytes).sum()
}

/// The bytes, in base64, of images and files of which no vendor has said what they cost.
pub(crate) fn new_media_bytes(state: &State) -> u64 {
    if state.context_size.is_counted() {
        sum_of(state.conversation.tail_media()).1
    } else {
        media(state).1
    }
}

/// What images and files in the conversation may cost in tokens, and their bytes in base64.
pub(crate) fn media(state: &State) -> (u64, u64) {
    // Asked before each request, so nothing is copied.
    let elements = state.conversation.finished().iter().flat_map(|it| &it.elements);
    sum_of(elements.flat_map(media_of_element).chain(state.conversation.tail_media()))
}

fn sum_of<'a>(media: impl Iterator<Item = &'a Media>) -> (u64, u64) {
    media.fold((0, 0), |(tokens, bytes), media| {
        (tokens + media_tokens(media), bytes + media.bytes / 3 * 4)
    })
}

/// The most that vendors take an image or a PDF file for, whatever the size of its bytes.
fn media_tokens(media: &Media) -> u64 {
    let n_pages = match media.media_type.as_str() {
        "application/pdf" => (media.bytes / PDF_PAGE_BYTES_MIN + 1).min(PDF_PAGES_MAX),
        _ => 1,
    };
    n_pages * PAGE_TOKENS_MAX
}

/// The bytes of the conversation from this event on.
pub(crate) fn bytes_from(state: &State, first: EventId) -> u64 {
    let messages = state.conversation.messages();
    let elements = messages.iter().flat_map(|it| &it.elements);
    elements.skip_while(|it| it.from != Some(first)).map(element_bytes).sum()
}

/// Calls `each` with what is summarised.
pub(crate) fn each_text(
    state: &State,
    before: Option<EventId>,
    each: &mut dyn FnMut(LedgerText<'_>),
) {
    for message in messages_before(state, before) {
        for element in &message.elements {
            match &element.kind {
                ElementKind::Text(text) => each(LedgerText::Said(text.text())),
                ElementKind::Meta(text) if is_steer(state, element) => {
                    each(LedgerText::Said(text.text()));
                }
                ElementKind::Result(result) => {
                    for part in &result.parts {
                        if let ResultPartKind::Text(text) = &part.kind {
                            each(LedgerText::Result(text.text()));
                        }
                    }
                }
                ElementKind::Meta(_)
                | ElementKind::Media(_)
                | ElementKind::Thinking { .. }
                | ElementKind::Call(_) => (),
            }
        }
    }
}

fn is_steer(state: &State, element: &Element) -> bool {
    let event = element.from.and_then(|id| state.tree.get(id));
    event.is_some_and(|it| match &it.body {
        Body::HarnessItem(it) => it.item.kind == HarnessKind::Steer,
        _ => false,
    })
}

fn messages_before(state: &State, before: Option<EventId>) -> Vec<Message> {
    let mut messages = state.conversation.messages();
    let Some(before) = before else { return messages };
    let place = messages.iter().enumerate().find_map(|(place, message)| {
        let at = message.elements.iter().position(|it| it.from == Some(before))?;
        Some((place, at))
    });
    if let Some((place, at)) = place {
        messages.truncate(place + 1);
        if let Some(last) = messages.last_mut() {
            last.elements.truncate(at);
        }
        if at == 0 {
            messages.truncate(place);
        }
    }
    messages
}

fn cut_results(messages: &mut [Message]) {
    for element in messages.iter_mut().flat_map(|it| &mut it.elements) {
        if let ElementKind::Result(result) = &mut element.kind {
            cut_result(result);
        }
    }
}

/// Keeps the beginning and the end of each text.
fn cut_result(result: &mut CallResult) {
    for part in &mut result.parts {
        let ResultPartKind::Text(text) = &mut part.kind else { continue };
        let [before, middle, after] = text.pieces();
        let whole = format!("{before}{middle}{after}");
        if whole.len() > RESULT_BYTES_MAX {
            let (head, tail) = ends_of(&whole, RESULT_BYTES_MAX);
            *text = format!("{head}{}{tail}", words::RESULT_CUT).into();
        }
    }
}

/// Keeps the beginning and the end of each text of a message or an answer. A summary stays whole: it
/// stands for much more than its length.
fn cut_texts(state: &State, messages: &mut [Message], bytes_max: usize) {
    for element in messages.iter_mut().flat_map(|it| &mut it.elements) {
        let event = element.from.and_then(|id| state.tree.get(id));
        let is_summary = event.is_some_and(|it| matches!(it.body, Body::Compact(_)));
        if let ElementKind::Text(text) | ElementKind::Meta(text) = &mut element.kind
            && text.len() > bytes_max
            && !is_summary
        {
            let [before, middle, after] = text.pieces();
            let whole = format!("{before}{middle}{after}");
            let (head, tail) = ends_of(&whole, bytes_max);
            let n_left_out = whole.len() - head.len() - tail.len();
            *text = format!("{head}{}{tail}", words::left_out(n_left_out)).into();
        }
    }
}

/// The beginning and the end of a text, of half so many bytes each. The text is longer than that.
fn ends_of(text: &str, bytes_max: usize) -> (&str, &str) {
    let head = text.floor_char_boundary(bytes_max / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 2);
    (&text[..head], &text[tail..])
}

fn element_bytes(element: &Element) -> u64 {
    let n_bytes = match &element.kind {
        ElementKind::Text(text) | ElementKind::Meta(text) => text.len(),
        ElementKind::Thinking { thinking, .. } => thinking.text.len(),
        ElementKind::Call(call) => call.input.as_str().len(),
        ElementKind::Media(_) => 0,
        ElementKind::Result(result) => {
            let parts = result.parts.iter().map(|part| match &part.kind {
                ResultPartKind::Text(text) => text.len(),
                ResultPartKind::Media(_) => 0,
            });
            parts.sum()
        }
    };
    n_bytes as u64
}
