//! The searchable text of an event.

use kith_sessions::catalog::Passage;
use kith_vocab::block::Block;
use kith_vocab::event::{Body, Event};

/// Text of messages, answers, summaries and titles. Output of tools is not searched: it
/// would bury what people said.
pub fn passage(event: &Event) -> Option<Passage> {
    let text = match &event.body {
        Body::UserMessage(it) if it.message.meta != Some(true) => texts(&it.message.content),
        Body::AssistantMessage(it) => texts(&it.message.content),
        Body::Compact(it) => it.summary.to_string(),
        Body::SessionTitleUpdated(it) => it.title.clone(),
        _ => return None,
    };
    (!text.is_empty()).then_some(Passage { event_id: event.id, text })
}

fn texts(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(it) => Some(it.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
