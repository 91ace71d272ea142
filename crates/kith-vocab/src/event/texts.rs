//! The texts of an event that may be long, so that a reader of a log can share equal ones.
//!
//! The match names every type of event: whether a new one has such texts is decided here. The table
//! of the log's fields in `kith-sessions/src/texts.rs` lists the same places (a test compares them)
//! and those of the instruction snapshot, which are not shared: a session has only one.

use super::Body;
use crate::block::Block;
use crate::json::Json;
use crate::text::Text;

/// A text in an event.
#[derive(Debug)]
pub enum TextPlace<'a> {
    Text(&'a mut Text),
    /// The arguments of a call.
    Json(&'a mut Json),
}

impl Body {
    /// Calls `each` with every text that may be long.
    pub fn each_text(&mut self, each: &mut dyn FnMut(TextPlace<'_>)) {
        match self {
            Body::UserMessage(it) => each_of(&mut it.message.content, each),
            Body::AssistantMessage(it) => each_of(&mut it.message.content, each),
            Body::ToolResult(it) => each_of(&mut it.content, each),
            Body::QueueUpdate(it) => {
                it.items.iter_mut().for_each(|item| each_of(&mut item.content, each));
            }
            Body::HarnessItem(it) => each(TextPlace::Text(&mut it.item.content)),
            Body::Compact(it) => each(TextPlace::Text(&mut it.summary)),
            Body::ModelFailed(it) => each(TextPlace::Text(&mut it.message)),
            Body::CallJudged(it) => each(TextPlace::Text(&mut it.reason)),
            Body::ApprovalRequested(it) => {
                each(TextPlace::Text(&mut it.summary));
                it.command.iter_mut().for_each(|it| each(TextPlace::Text(it)));
                each(TextPlace::Text(&mut it.risk));
            }
            Body::ApprovalReplied(it) => each(TextPlace::Text(&mut it.text)),
            Body::ApprovalDecided(it) => {
                it.reason.iter_mut().for_each(|it| each(TextPlace::Text(it)));
            }
            Body::Notice(it) => each(TextPlace::Text(&mut it.text)),
            Body::InstructionSnapshot(_)
            | Body::ToolsetSnapshot(_)
            | Body::TurnStarted(_)
            | Body::PrimedRecord(_)
            | Body::SkillIndexSnapshot(_)
            | Body::SkillIndexDelta(_)
            | Body::LeafMoved(_)
            | Body::SessionTitleUpdated(_)
            | Body::ModelRequested(_)
            | Body::CompactRequested(_)
            | Body::ToolStarted(_)
            | Body::Delegated(_)
            | Body::CancelRequested(_)
            | Body::Resumed(_)
            | Body::TurnEnded(_)
            | Body::EgressIntended(_)
            | Body::EgressSettled(_)
            | Body::LogRepaired(_) => (),
        }
    }
}

fn each_of(blocks: &mut [Block], each: &mut dyn FnMut(TextPlace<'_>)) {
    for block in blocks {
        match block {
            Block::Text(it) => each(TextPlace::Text(&mut it.text)),
            Block::Thinking(it) => {
                each(TextPlace::Text(&mut it.text));
                let marks = it.signature.iter_mut().chain(&mut it.redacted);
                marks.for_each(|it| each(TextPlace::Text(it)));
            }
            Block::ToolCall(it) => {
                each(TextPlace::Json(&mut it.input));
                it.raw_input.iter_mut().for_each(|it| each(TextPlace::Text(it)));
            }
            Block::Image(_) | Block::Audio(_) | Block::File(_) => (),
        }
    }
}
