//! The path from root to leaf as the model sees it, kept up to date event by event.
//!
//! It is a run of finished messages that ends with the assistant (or is empty), and a tail. That
//! shape is valid whatever the log holds: a result finds its call or is left out, a call finds a
//! result or is said to have none.

use std::mem;

use kith_vocab::block::{Block, Media};
use kith_vocab::conversation::{Element, ElementKind, Message, Role};
use kith_vocab::event::messages::{AssistantMessage, Compact, HarnessItemEvent};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

use super::elements;
use super::knowledge::Reminders;
use super::tail::TailMessage;
use super::tree::{Admission, Tree};
use crate::context::escaped::EscapedTexts;
use crate::context::words;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    finished: Vec<Message>,
    tail: TailMessage,
    pub(super) reminders: Reminders,
    #[serde(skip)]
    escaped: EscapedTexts,
}

impl Conversation {
    /// The conversation along the tree's path, from its last compaction on.
    pub(super) fn along(tree: &Tree) -> Conversation {
        let mut conversation = Conversation::default();
        let path = tree.path();
        let compacted = path.iter().enumerate().rev().find_map(|(place, node)| {
            if let Body::Compact(it) = &node.event.body { Some((place, it)) } else { None }
        });
        let mut begin = 0;
        if let Some((place, compact)) = compacted {
            conversation.summarise(path[place].event.id, compact);
            let kept = path.iter().position(|node| node.event.id == compact.first_kept_event_id);
            begin = kept.unwrap_or(place).min(place);
        }
        for node in &path[begin..] {
            match (node.admission, &node.event.body) {
                (Admission::Late, _) => (),
                (Admission::Plain, Body::HarnessItem(it)) => conversation.remind(node.event.id, it),
                (Admission::Plain | Admission::Joined, _) => {
                    conversation.admit(&node.event);
                }
            }
        }
        conversation
    }

    pub(super) fn admit(&mut self, event: &Event) -> Admission {
        match &event.body {
            Body::UserMessage(it) => {
                self.tail.say(elements::of_user(event.id, it, &mut self.escaped));
            }
            Body::AssistantMessage(it) => self.answer(event.id, it),
            Body::ToolResult(it) if !self.tail.set_result(event.id, it, &mut self.escaped) => {
                return Admission::Late;
            }
            Body::HarnessItem(it) => {
                let reminder = words::reminder_of(event.id, it, &mut self.escaped);
                let joins = |target| self.tail.join(target, event.id, &reminder);
                if it.merged_into.is_some_and(joins) {
                    self.reminders.add(event.id, it);
                    return Admission::Joined;
                }
                self.remind(event.id, it);
            }
            // A compaction is read by `along`; a primed record is not for the model.
            _ => (),
        }
        Admission::Plain
    }

    /// A request carries everything up to here.
    pub(super) fn seal(&mut self) {
        self.tail.seal(self.finished.is_empty());
    }

    pub(super) fn merge_target(&self) -> Option<EventId> {
        self.tail.merge_target()
    }

    pub fn finished(&self) -> &[Message] {
        &self.finished
    }

    /// The last message of the next request.
    pub fn tail_message(&self) -> Message {
        self.tail.clone().into_message(self.finished.is_empty())
    }

    /// The images and files of the last message; nothing is copied.
    pub(crate) fn tail_media(&self) -> impl Iterator<Item = &Media> {
        self.tail.media()
    }

    /// All messages without the fixed line that stands for a missing last message.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut messages = self.finished.clone();
        if !self.tail.is_empty() {
            messages.push(self.tail_message());
        }
        messages
    }

    fn answer(&mut self, id: EventId, answer: &AssistantMessage) {
        let elements = elements::of_answer(id, answer, &mut self.escaped);
        if elements.is_empty() {
            return;
        }
        match self.finished.last_mut() {
            // Neighbouring answers (a primed history has them) are one message.
            Some(last) if self.tail.is_empty() => last.elements.extend(elements),
            _ => {
                let is_first = self.finished.is_empty();
                self.finished.push(mem::take(&mut self.tail).into_message(is_first));
                self.finished.push(Message { role: Role::Assistant, elements });
            }
        }
        self.tail =
            TailMessage::after(answer.message.content.iter().filter_map(|block| match block {
                Block::ToolCall(call) => Some((call.call_id, call.tool.clone())),
                _ => None,
            }));
    }

    fn remind(&mut self, id: EventId, item: &HarnessItemEvent) {
        let kind = ElementKind::Meta(words::reminder_of(id, item, &mut self.escaped));
        self.tail.say([Element { from: Some(id), kind }]);
        self.reminders.add(id, item);
    }

    fn summarise(&mut self, id: EventId, compact: &Compact) {
        let kind = ElementKind::Meta(words::summary(&compact.summary, &compact.ledger).into());
        self.tail.say([Element { from: Some(id), kind }]);
    }
}
