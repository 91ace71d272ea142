//! The texts of an event that may be long: where they stand in its JSON, and a visit to each.
//!
//! Both come from one list that names every type of event, so a new type does not compile until it
//! says which of its texts may be long. Names, ids, hashes and JSON that the log does not look into
//! are not among them.

use super::Body;
use super::control::QueueItem;
use super::messages::{AnswerContent, HarnessItem, MessageContent};
use crate::block::Block;
use crate::json::Json;
use crate::snapshot::{InstructionSnapshot, Section, Source};
use crate::text::Text;

/// A text in an event.
#[derive(Debug)]
pub enum TextPlace<'a> {
    Text(&'a mut Text),
    /// The arguments of a call.
    Json(&'a mut Json),
}

/// Where long texts may stand in a JSON value.
#[derive(Debug)]
pub enum TextShape {
    Text,
    /// The arguments of a call.
    Input,
    Each(&'static TextShape),
    Fields(&'static [(&'static str, TextShape)]),
}

/// Called with each text.
type EachText<'a> = &'a mut dyn FnMut(TextPlace<'_>);

trait LongTexts {
    const SHAPE: TextShape;

    fn each_text(&mut self, each: EachText<'_>);
}

macro_rules! event_texts {
    ($($variant:ident = $tag:literal { $($field:ident: $type:ty),* })+) => {
        impl Body {
            /// Calls `each` with every text that may be long, but for those of the instruction
            /// snapshot: a session has only one, so nothing can share them.
            pub fn each_text(&mut self, each: EachText<'_>) {
                match self {
                    $(Body::$variant(_it) => { $(<$type>::each_text(&mut _it.$field, each);)* })+
                }
            }
        }

        impl TextShape {
            /// Where long texts may stand in an event of this type; `None` if it has none.
            pub fn of_event(type_name: &str) -> Option<TextShape> {
                let fields: &[(&str, TextShape)] = match type_name {
                    $($tag => const { &[$((stringify!($field), <$type>::SHAPE)),*] },)+
                    _ => &[],
                };
                (!fields.is_empty()).then_some(TextShape::Fields(fields))
            }
        }
    };
}

event_texts! {
    InstructionSnapshot = "instruction_snapshot" { snapshot: InstructionSnapshot }
    ToolsetSnapshot = "toolset_snapshot" {}
    UserMessage = "user_message" { message: MessageContent }
    TurnStarted = "turn_started" {}
    AssistantMessage = "assistant_message" { message: AnswerContent }
    ToolResult = "tool_result" { content: Vec<Block> }
    HarnessItem = "harness_item" { item: HarnessItem }
    Compact = "compact" { summary: Text }
    PrimedRecord = "primed_record" {}
    SkillIndexSnapshot = "skill_index_snapshot" {}
    SkillIndexDelta = "skill_index_delta" {}
    QueueUpdate = "queue_update" { items: Vec<QueueItem> }
    LeafMoved = "leaf_moved" {}
    SessionTitleUpdated = "session_title_updated" {}
    ModelRequested = "model_requested" {}
    ModelFailed = "model_failed" { message: Text }
    CompactRequested = "compact_requested" {}
    CallJudged = "call_judged" { reason: Text }
    ApprovalRequested = "approval_requested" { summary: Text, command: Option<Text>, risk: Text }
    ApprovalReplied = "approval_replied" { text: Text }
    ApprovalDecided = "approval_decided" { reason: Option<Text> }
    ToolStarted = "tool_started" {}
    Delegated = "delegated" {}
    CancelRequested = "cancel_requested" {}
    Resumed = "resumed" {}
    Notice = "notice" { text: Text }
    TurnEnded = "turn_ended" {}
    EgressIntended = "egress_intended" {}
    EgressSettled = "egress_settled" {}
    LogRepaired = "log_repaired" {}
}

macro_rules! part_texts {
    ($($part:ident { $($field:ident = $key:literal: $type:ty),+ })+) => {
        $(impl LongTexts for $part {
            const SHAPE: TextShape = TextShape::Fields(&[$(($key, <$type>::SHAPE)),+]);

            fn each_text(&mut self, each: EachText<'_>) {
                $(<$type>::each_text(&mut self.$field, each);)+
            }
        })+
    };
}

part_texts! {
    MessageContent { content = "content": Vec<Block> }
    AnswerContent { content = "content": Vec<Block> }
    QueueItem { content = "content": Vec<Block> }
    HarnessItem { content = "content": Text }
    InstructionSnapshot { sections = "sections": Vec<Section> }
    Section { sources = "sources": Option<Vec<Source>>, rendered_block = "renderedBlock": String }
    Source { content = "content": Option<String> }
}

impl LongTexts for Text {
    const SHAPE: TextShape = TextShape::Text;

    fn each_text(&mut self, each: EachText<'_>) {
        each(TextPlace::Text(self));
    }
}

/// Only the instruction snapshot has these.
impl LongTexts for String {
    const SHAPE: TextShape = TextShape::Text;

    fn each_text(&mut self, _each: EachText<'_>) {}
}

impl<T: LongTexts> LongTexts for Option<T> {
    const SHAPE: TextShape = T::SHAPE;

    fn each_text(&mut self, each: EachText<'_>) {
        if let Some(it) = self {
            it.each_text(each);
        }
    }
}

impl<T: LongTexts> LongTexts for Vec<T> {
    const SHAPE: TextShape = TextShape::Each(&T::SHAPE);

    fn each_text(&mut self, each: EachText<'_>) {
        for it in self {
            it.each_text(each);
        }
    }
}

impl LongTexts for Block {
    const SHAPE: TextShape = TextShape::Fields(&[
        ("text", TextShape::Text),
        ("signature", TextShape::Text),
        ("redacted", TextShape::Text),
        ("input", TextShape::Input),
        ("rawInput", TextShape::Text),
    ]);

    fn each_text(&mut self, each: EachText<'_>) {
        match self {
            Block::Text(it) => it.text.each_text(each),
            Block::Thinking(it) => {
                it.text.each_text(each);
                it.signature.each_text(each);
                it.redacted.each_text(each);
            }
            Block::ToolCall(it) => {
                each(TextPlace::Json(&mut it.input));
                it.raw_input.each_text(each);
            }
            Block::Image(_) | Block::Audio(_) | Block::File(_) => (),
        }
    }
}
