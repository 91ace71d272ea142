//! What the events so far amount to.
//!
//! [`State::fold`] takes one event at a time and keeps what the next decision and the next request
//! need. It never fails: an event that makes no sense here changes nothing. What was primed or
//! cloned joins the conversation and obliges to nothing.

pub mod calls;
pub mod conversation;
mod elements;
mod tail;
pub mod told;
pub mod tree;
pub mod turn;

use std::collections::VecDeque;
use std::sync::Arc;

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::control::{EndReason, Queue, QueueItem, SkillEntry, TitleSource};
use kith_vocab::event::messages::Trust;
use kith_vocab::event::models::Purpose;
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::ids::EventId;
use kith_vocab::snapshot::{InstructionSnapshot, ToolsetSnapshot};
use serde::{Deserialize, Serialize};

use conversation::Conversation;
use tree::{Move, Tree};
use turn::Turn;

/// Changes with every change of what `fold` makes of a log: stored states of another version are
/// not used.
pub const FOLD_VERSION: u32 = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub snapshot: Option<Arc<InstructionSnapshot>>,
    pub toolset: Option<Arc<ToolsetSnapshot>>,
    /// The skill index on record, deltas applied.
    pub skills: Option<Vec<SkillEntry>>,
    pub tree: Tree,
    pub conversation: Conversation,
    pub turn: Option<Turn>,
    /// How the last turn ended; after anything but `Done` a person must act first.
    pub last_end: Option<EndReason>,
    /// What the model's last failure was, in words, until it answers again.
    pub last_failure: Option<String>,
    pub follow_ups: Vec<QueueItem>,
    pub steers: Vec<QueueItem>,
    pub compact_requested: bool,
    pub title: Option<(String, TitleSource)>,
    pub n_events: u64,
    pub last_ts: u64,
    /// How the first message begins: a title until there is a better one.
    pub first_words: Option<String>,
    /// The inbox rows of the last messages: whether a row that is not closed was said already.
    pub recent_keys: VecDeque<String>,
    /// The conversation moved to where this state cannot follow: the log must be read again.
    pub lost_track: bool,
}

/// More rows than can be open at once.
const RECENT_KEYS_MAX: usize = 64;
const FIRST_WORDS_CHARS_MAX: usize = 60;

impl State {
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> State {
        let mut state = State::default();
        for event in events {
            state.fold(event);
        }
        state
    }

    /// Lets go of what neither the next decision nor the next request needs.
    pub fn trim(&mut self) {
        self.tree.trim();
    }

    pub fn leaf(&self) -> Option<EventId> {
        self.tree.leaf()
    }

    /// The lowest trust of anything on the path, also of what a summary was made from.
    pub fn lowest_trust(&self) -> Trust {
        self.tree.lowest_trust()
    }

    /// Whether anything on the path comes from below the people the owner knows.
    pub fn is_tainted(&self) -> bool {
        self.lowest_trust() > Trust::Paired
    }

    /// The tool result that a reminder written now would join.
    pub fn merge_target(&self) -> Option<EventId> {
        self.conversation.merge_target()
    }

    pub fn fold(&mut self, event: &Event) {
        self.n_events += 1;
        self.last_ts = event.ts;
        if event.is_tree() && !self.grow(event) {
            return;
        }
        if let Some(key) = &event.ingress_key {
            if self.recent_keys.len() == RECENT_KEYS_MAX {
                self.recent_keys.pop_front();
            }
            self.recent_keys.push_back(key.clone());
        }
        // What a script says was said by nobody, and may be hidden.
        if let Body::UserMessage(it) = &event.body
            && event.source_tag != Some(SourceTag::PrimingScript)
            && self.first_words.is_none()
        {
            self.first_words = first_words(&it.message.content);
        }
        match &event.body {
            Body::InstructionSnapshot(it) => {
                self.snapshot.get_or_insert_with(|| Arc::new(it.snapshot.clone()));
            }
            Body::ToolsetSnapshot(it) => {
                self.toolset.get_or_insert_with(|| Arc::new(it.clone()));
            }
            Body::SkillIndexSnapshot(it) => self.skills = Some(it.entries.clone()),
            Body::SkillIndexDelta(it) => self.index_skills(it),
            _ if !event.is_lived() => (),
            Body::UserMessage(_) => {
                let turn = self.turn.get_or_insert_with(|| Turn::begun_by(event));
                turn.owes_reply = true;
            }
            Body::QueueUpdate(it) => match it.queue {
                Queue::FollowUp => self.follow_ups.clone_from(&it.items),
                Queue::Steer => self.steers.clone_from(&it.items),
            },
            Body::LeafMoved(it) => self.move_leaf(it.to),
            Body::SessionTitleUpdated(it) => self.retitle(&it.title, it.source),
            Body::CompactRequested(_) => self.compact_requested = true,
            Body::TurnEnded(it) => {
                if self.turn.take().is_some() {
                    self.last_end = Some(it.reason);
                }
            }
            _ => self.fold_turn(event),
        }
    }

    /// What concerns the turn, if one is open.
    fn fold_turn(&mut self, event: &Event) {
        match &event.body {
            Body::ModelRequested(it) if it.purpose == Purpose::Turn => self.conversation.seal(),
            Body::AssistantMessage(_) => self.last_failure = None,
            Body::ModelFailed(it) => self.last_failure = Some(it.message.clone()),
            Body::Compact(_) => self.compact_requested = false,
            _ => (),
        }
        if let Some(turn) = &mut self.turn {
            turn.fold(event);
        }
    }

    /// Adds the event to the tree and the conversation. False if it cannot be part of it.
    fn grow(&mut self, event: &Event) -> bool {
        let extends_the_leaf = event.parent_id == self.tree.leaf();
        match self.tree.add(event) {
            Move::Done => (),
            Move::Nowhere => return false,
            Move::Unknown => {
                self.lost_track = true;
                return false;
            }
        }
        if extends_the_leaf && !matches!(event.body, Body::Compact(_)) {
            let admission = self.conversation.admit(event);
            self.tree.settle_leaf(admission);
        } else {
            self.conversation = Conversation::along(&self.tree);
        }
        true
    }

    fn move_leaf(&mut self, to: Option<EventId>) {
        match self.tree.move_leaf(to) {
            Move::Done => {
                self.conversation = Conversation::along(&self.tree);
                // What was owed was owed on the other path.
                self.turn = None;
            }
            Move::Nowhere => (),
            Move::Unknown => self.lost_track = true,
        }
    }

    fn retitle(&mut self, title: &str, source: TitleSource) {
        let given_by_hand = matches!(self.title, Some((_, TitleSource::User)));
        if source == TitleSource::User || !given_by_hand {
            self.title = Some((title.to_owned(), source));
        }
    }
}

fn first_words(content: &[Block]) -> Option<String> {
    let text = plain_text(content);
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let words: String = line.chars().take(FIRST_WORDS_CHARS_MAX).collect();
    Some(if words.len() < line.len() { format!("{words}…") } else { words })
}

#[cfg(test)]
mod tests;
