//! The whole tree of a session, with the messages of every branch.

use std::collections::HashSet;
use std::sync::Arc;

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use kith_vocab::text::Text;

use super::sessions::WITHOUT_DESK;
use super::{FoldedSession, ReadSide};
use crate::call::{Reply, Response};
use crate::calls::tree::{ShowTree, TreeNode, TreeView};
use crate::words::{outcome_in_words, rfc3339, tail_in_words};

/// Maximum length of a node's text: enough to recognise it.
const WORDS_CHARS_MAX: usize = 120;

pub async fn show_tree(side: Arc<ReadSide>, call: ShowTree) -> Reply<TreeView> {
    let id = side.resolve(&call.session).await?;
    let FoldedSession { reading, state } = side.read(id).await?;
    let path: HashSet<EventId> = state.tree.from_leaf().map(|event| event.id).collect();
    let node = |event: &Event| TreeNode {
        event_id: event.id,
        parent_id: event.parent_id,
        kind: event.body.type_name().to_owned(),
        text: words_of(&event.body),
        ts: rfc3339(event.ts),
        on_path: path.contains(&event.id),
    };
    let nodes = state.tree.events().map(node).collect();
    let view = TreeView { session_id: id, leaf: state.leaf(), nodes };
    let tail = tail_in_words(&reading.tail);
    Ok(Response::new(view).with_notes(tail).with_notes(side.desk_note(WITHOUT_DESK)))
}

fn words_of(body: &Body) -> String {
    let text = match body {
        Body::UserMessage(it) => plain_text(&it.message.content),
        Body::AssistantMessage(it) => {
            let text = plain_text(&it.message.content);
            let calls = it.message.content.iter().filter_map(|block| match block {
                Block::ToolCall(call) => Some(format!("({})", call.tool_meant())),
                _ => None,
            });
            match text.trim() {
                "" => calls.collect::<Vec<_>>().join(" ").into(),
                _ => text,
            }
        }
        Body::ToolResult(it) => format!("{} {}", it.tool, outcome_in_words(it.outcome)).into(),
        Body::HarnessItem(it) => it.item.content.clone(),
        Body::Compact(it) => it.summary.clone(),
        _ => Text::default(),
    };
    // One line, whatever was said.
    let words: String = text.chars().take(WORDS_CHARS_MAX).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
