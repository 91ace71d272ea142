//! The state of a session, folded from its events.
//!
//! [`State::fold`] takes one event at a time and keeps what the next decision and the next request
//! need. It never fails: an event that makes no sense here changes nothing. What was primed or
//! cloned joins the conversation and obliges to nothing.

pub mod calls;
pub mod compaction;
pub mod conversation;
pub(crate) mod elements;
pub mod ended_turn;
pub mod knowledge;
pub mod refused_media;
mod repeats;
pub mod requests;
mod tail;
pub mod tree;
pub mod turn;
pub mod turn_clock;

use std::sync::Arc;

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::control::{EndReason, Queue, QueueItem, SkillEntry, TitleSource};
use kith_vocab::event::messages::Trust;
use kith_vocab::event::models::Purpose;
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::ids::EventId;
use kith_vocab::queue_hold::QueueHold;
use kith_vocab::snapshot::{InstructionSnapshot, ToolsetSnapshot};
use kith_vocab::text::Text;
use serde::{Deserialize, Serialize};

use compaction::Compaction;
use conversation::Conversation;
use ended_turn::EndedTurn;
use refused_media::RefusedMedia;
use requests::ContextSize;
use tree::{Move, Tree};
use turn::Turn;

/// Changes with every change of what `fold` makes of a log: stored states of another version are
/// not used.
pub const FOLD_VERSION: u32 = 15;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub snapshot: Option<Arc<InstructionSnapshot>>,
    pub toolset: Option<Arc<ToolsetSnapshot>>,
    /// The skill index on record, deltas applied.
    pub skills: Option<Vec<SkillEntry>>,
    pub tree: Tree,
    pub conversation: Conversation,
    pub turn: Option<Turn>,
    /// How the last turn ended.
    pub last_end: Option<EndReason>,
    pub queue_hold: QueueHold,
    /// The last turn of the path, if it has ended and can be retried.
    pub last_turn: Option<EndedTurn>,
    /// The message of the model's last failure, until it answers again.
    pub last_failure: Option<Text>,
    pub follow_ups: Vec<QueueItem>,
    pub steers: Vec<QueueItem>,
    pub compaction: Compaction,
    pub context_size: ContextSize,
    pub refused_media: RefusedMedia,
    /// The context window of the last turn's model, in tokens; 0 if it is unknown.
    pub context_window: u64,
    pub title: Option<(String, TitleSource)>,
    pub n_events: u64,
    pub last_ts: u64,
    /// How the first message begins: a title until there is a better one.
    pub first_words: Option<String>,
    /// The conversation moved to where this state cannot follow: the log must be read again.
    pub needs_full_read: bool,
}

const FIRST_WORDS_CHARS_MAX: usize = 60;

impl State {
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> State {
        let mut state = State::default();
        for event in events {
            state.fold(event);
        }
        state
    }

    /// Folds an event, and drops what is not needed any more after a compaction: so the state of a
    /// long log fits into the memory that its context needs.
    pub fn fold_trimming(&mut self, event: &Event) {
        self.fold(event);
        if matches!(event.body, Body::Compact(_)) {
            self.trim();
        }
    }

    /// Drops events that neither the next decision nor the next request needs.
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

    /// Whether the last turn can be retried.
    pub fn can_retry(&self) -> bool {
        let ended_badly = !matches!(self.last_end, None | Some(EndReason::Done));
        self.turn.is_none() && self.last_turn.is_some() && ended_badly
    }

    /// The last turn, if it can be retried and, with a key, began with that message.
    pub fn retried_by(&self, key: Option<&str>) -> Option<&EndedTurn> {
        let ended = self.last_turn.as_ref().filter(|_| self.can_retry())?;
        (key.is_none() || key == ended.message_key.as_deref()).then_some(ended)
    }

    /// The tag of the language in which people are told of the turn that is open, or was the last.
    pub fn language(&self) -> &str {
        let ended = self.last_turn.as_ref().map_or("", |turn| &turn.language);
        self.turn.as_ref().map_or(ended, |turn| &turn.language)
    }

    /// The inbox row of the message whose turn is open, or was the last.
    pub fn message_key(&self) -> Option<&str> {
        match (&self.turn, &self.last_turn) {
            (Some(turn), _) => turn.message_key.as_deref(),
            (None, Some(ended)) => ended.message_key.as_deref(),
            (None, None) => None,
        }
    }

    /// Whether the open turn answers the inbox row, or a queue holds it.
    pub fn holds_row(&self, key: &str) -> bool {
        let in_turn = self.turn.iter().flat_map(|turn| &turn.keys).any(|it| it == key);
        let mut queued = self.steers.iter().chain(&self.follow_ups);
        in_turn || queued.any(|item| item.ingress_key.as_deref() == Some(key))
    }

    /// The tool result that a reminder written now would join.
    pub fn merge_target(&self) -> Option<EventId> {
        self.conversation.merge_target()
    }

    pub fn fold(&mut self, event: &Event) {
        self.n_events += 1;
        let last_ts = std::mem::replace(&mut self.last_ts, event.ts);
        if event.is_tree() && !self.grow(event) {
            return;
        }
        // Primed messages come from a script, not from a person, and may be hidden.
        if let Body::UserMessage(it) = &event.body
            && event.source_tag != Some(SourceTag::PrimingScript)
            && self.first_words.is_none()
        {
            self.first_words = first_words(&it.message.content);
        }
        self.context_size.fold(&event.body);
        if event.is_lived() {
            self.queue_hold.read(event);
            self.refused_media.fold(&event.body, &self.conversation);
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
            Body::UserMessage(it) => {
                let turn = self.turn.get_or_insert_with(|| Turn::begun_by(event, it));
                turn.owes_reply = true;
                turn.keys.extend(event.ingress_key.clone());
            }
            Body::TurnStarted(it) => {
                self.context_window = it.context_window;
                if self.turn.is_none() {
                    self.reopen_turn(event);
                } else {
                    self.fold_turn(event, last_ts);
                }
            }
            Body::QueueUpdate(it) => match it.queue {
                Queue::FollowUp => self.follow_ups.clone_from(&it.items),
                Queue::Steer => self.steers.clone_from(&it.items),
            },
            Body::LeafMoved(it) => self.move_leaf(it.to),
            Body::SessionTitleUpdated(it) => self.retitle(&it.title, it.source),
            Body::TurnEnded(it) => {
                if let Some(turn) = self.turn.take() {
                    self.last_end = Some(it.reason);
                    self.last_turn = Some(turn.into_ended());
                    self.compaction.end_turn(it.reason);
                }
            }
            _ => self.fold_turn(event, last_ts),
        }
    }

    /// Folds an event into the open turn, if there is one.
    fn fold_turn(&mut self, event: &Event, last_ts: u64) {
        if let (Body::ModelFailed(it), Some(turn)) = (&event.body, &mut self.turn) {
            // Also where it was asked for a summary.
            it.usage.iter().for_each(|usage| turn.usage.add(usage));
        }
        if self.compaction.fold(&event.body, self.turn.is_some()) {
            return;
        }
        match &event.body {
            Body::ModelRequested(it) if it.purpose == Purpose::Turn => self.conversation.seal(),
            Body::AssistantMessage(_) => self.last_failure = None,
            Body::ModelFailed(it) => self.last_failure = Some(it.message.clone()),
            _ => (),
        }
        if let Some(turn) = &mut self.turn {
            turn.fold(event, last_ts);
        }
    }

    /// A `turn_started` without a new message retries the turn that ended before it.
    fn reopen_turn(&mut self, event: &Event) {
        if !self.can_retry() {
            return;
        }
        let Some(ended) = self.last_turn.take() else { return };
        let mut turn = Turn::reopened(ended, event.ts);
        turn.fold(event, event.ts);
        self.turn = Some(turn);
        self.last_failure = None;
        self.refused_media.forget();
    }

    /// Adds the event to the tree and the conversation. False if it cannot be part of it.
    fn grow(&mut self, event: &Event) -> bool {
        let extends_the_leaf = event.parent_id == self.tree.leaf();
        match self.tree.add(event) {
            Move::Done => (),
            Move::Nowhere => return false,
            Move::Unknown => {
                self.needs_full_read = true;
                return false;
            }
        }
        if extends_the_leaf && !matches!(event.body, Body::Compact(_)) {
            let admission = self.conversation.admit(event);
            self.tree.set_leaf_admission(admission);
        } else {
            self.conversation = Conversation::along(&self.tree);
        }
        true
    }

    fn move_leaf(&mut self, to: Option<EventId>) {
        match self.tree.move_leaf(to) {
            Move::Done => {
                self.conversation = Conversation::along(&self.tree);
                // A reply was owed on the other path only.
                self.turn = None;
                self.last_turn = None;
                self.compaction = Compaction::Idle;
            }
            Move::Nowhere => (),
            Move::Unknown => self.needs_full_read = true,
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
