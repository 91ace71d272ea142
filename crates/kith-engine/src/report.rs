//! The outcome of a message, read from the log.
//!
//! There is one reading, whether the log is read from its beginning or followed as it grows.

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::calls::{ApprovalRequested, ReplyVerdict};
use kith_vocab::event::control::{Bound, EndReason, Queue};
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};
use kith_vocab::queue_hold::QueueHold;

use crate::state::calls::TurnCalls;
use crate::turn_tracker::{TurnChange, TurnTracker};

/// How a message ended, or why its author need not wait any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEnd {
    Done,
    Cancelled,
    Failed,
    Bound(Option<Bound>),
    /// The turn waits for a person.
    Waiting,
    /// It is queued, and the queue is held: the turn before it did not end well.
    Held,
    /// It was withdrawn before its turn.
    Removed,
    /// It was meant for another place of the conversation, so it was not said; the conversation
    /// ended here then.
    Declined(LeafId),
    /// The log does not hold it, or not where it can go on from.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnReport {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    /// The last event of the turn.
    pub leaf: Option<EventId>,
    /// The last text of the model.
    pub text: String,
    /// The sum over all requests of the turn.
    pub usage: Usage,
    pub stop_reason: Option<StopReason>,
    pub end: MessageEnd,
    /// Why the model could not answer.
    pub failure: Option<String>,
    /// The last notice of this turn.
    pub notice: Option<String>,
    /// The tag of the language in which people are asked, if the turn waits for them.
    pub language: String,
    /// The questions for which the turn waits.
    pub pending_approvals: Vec<ApprovalRequested>,
}

/// How far the message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageState {
    NotSeen,
    Queued(Queue),
    InTurn,
    /// It is a reply that is asked back; the notice that follows says so.
    AskedBack,
    Settled,
}

/// Follows one message through a log.
#[derive(Clone, Debug)]
pub struct RowReader {
    key: String,
    report: TurnReport,
    whereabouts: MessageState,
    turns: TurnTracker,
    hold: QueueHold,
    /// The queue is held, and no turn has begun since.
    is_held: bool,
    /// The last turn was the one that answers the message, so a retry takes it up.
    is_last_turn_ours: bool,
    /// The calls of the last answer in the session.
    calls: TurnCalls,
    /// The approvals that the message answers.
    answered: Vec<String>,
    /// Of the last turn in the session.
    language: String,
    last_seq: u64,
}

impl RowReader {
    pub fn new(session_id: SessionId, thread_id: &ThreadId, key: &str) -> RowReader {
        let report = TurnReport {
            session_id,
            thread_id: thread_id.clone(),
            leaf: None,
            text: String::new(),
            usage: Usage::default(),
            stop_reason: None,
            end: MessageEnd::Unknown,
            failure: None,
            notice: None,
            language: String::new(),
            pending_approvals: Vec::new(),
        };
        RowReader {
            key: key.to_owned(),
            report,
            whereabouts: MessageState::NotSeen,
            turns: TurnTracker::default(),
            hold: QueueHold::default(),
            is_held: false,
            is_last_turn_ours: false,
            calls: TurnCalls::default(),
            answered: Vec::new(),
            language: String::new(),
            last_seq: 0,
        }
    }

    /// A reader for the same message in a copy of its session.
    #[must_use]
    pub fn in_copy(&self, to: SessionId) -> RowReader {
        RowReader::new(to, &self.report.thread_id, &self.key)
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn session_id(&self) -> SessionId {
        self.report.session_id
    }

    /// The newest event that was read.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Whether the turn that answers the message is open.
    pub fn is_in_turn(&self) -> bool {
        self.whereabouts == MessageState::InTurn
    }

    /// Whether the message is among the events read so far.
    pub fn has_seen(&self) -> bool {
        self.whereabouts != MessageState::NotSeen
    }

    /// Reads an event of a copy, which has no `turn_ended`: a finished answer counts as the end.
    pub fn read_copied(&mut self, event: &Event) {
        self.last_seq = event.seq;
        let change = self.turns.read(event);
        if event.source_tag != Some(SourceTag::Clone) || !event.is_tree() {
            return;
        }
        if event.ingress_key.as_deref() == Some(&self.key) {
            self.whereabouts = MessageState::InTurn;
        } else if self.whereabouts == MessageState::InTurn {
            match change {
                Some(TurnChange::Begun) => self.whereabouts = MessageState::NotSeen,
                _ => self.read_turn(event),
            }
            if self.report.stop_reason == Some(StopReason::EndTurn) {
                self.end_turn(EndReason::Done, None);
            }
        }
    }

    pub fn read(&mut self, event: &Event) {
        self.last_seq = event.seq;
        let change = self.turns.read(event);
        if !event.is_lived() {
            return;
        }
        self.hold.read(event);
        match &event.body {
            Body::AssistantMessage(it) => {
                let call = |block: &Block| match block {
                    Block::ToolCall(call) => Some(call.clone()),
                    _ => None,
                };
                self.calls = TurnCalls::of(it.message.content.iter().filter_map(call));
            }
            Body::TurnStarted(it) => self.language.clone_from(&it.language),
            _ => self.calls.fold(event),
        }
        match change {
            Some(TurnChange::Begun) => {
                self.is_held = false;
                self.is_last_turn_ours &= self.is_in_turn();
            }
            Some(TurnChange::Retried) => self.retry_turn(),
            Some(TurnChange::Ended { reason, bound }) => self.end_turn(reason, bound),
            Some(TurnChange::LeftBehind) if self.is_in_turn() => {
                self.end_turn(EndReason::Cancelled, None);
            }
            Some(TurnChange::Joined | TurnChange::LeftBehind) | None => (),
        }
        if event.ingress_key.as_deref() == Some(&self.key) {
            self.read_own(event);
        }
        match &event.body {
            // An item that becomes a message is written before its queue is, so it is not queued
            // any more then: one that is missing here was removed.
            Body::QueueUpdate(it) => {
                let is_there = it.items.iter().any(|it| it.ingress_key.as_ref() == Some(&self.key));
                if is_there {
                    self.whereabouts = MessageState::Queued(it.queue);
                } else if self.whereabouts == MessageState::Queued(it.queue) {
                    self.report.end = MessageEnd::Removed;
                    self.whereabouts = MessageState::Settled;
                }
            }
            Body::Notice(it) if self.whereabouts == MessageState::AskedBack => {
                self.report.notice = Some(it.text.to_string());
                self.report.end = MessageEnd::Waiting;
                self.whereabouts = MessageState::Settled;
            }
            _ if self.whereabouts == MessageState::InTurn => self.read_turn(event),
            _ => (),
        }
    }

    fn read_own(&mut self, event: &Event) {
        match &event.body {
            // A notice under the key of a row says why its message was declined.
            Body::Notice(it) => {
                let leaf = it.about.as_ref().and_then(|about| about.parse().ok());
                self.report.end = leaf.map_or(MessageEnd::Removed, MessageEnd::Declined);
                self.whereabouts = MessageState::Settled;
            }
            // Its author waits for the turn that it lets go on.
            Body::ApprovalReplied(it) if it.verdict != ReplyVerdict::AskBack => {
                self.answered.clone_from(&it.approvals);
                self.whereabouts = MessageState::InTurn;
            }
            Body::ApprovalReplied(_) => self.whereabouts = MessageState::AskedBack,
            _ if event.is_tree() => {
                self.whereabouts = MessageState::InTurn;
                self.is_last_turn_ours = true;
            }
            _ => (),
        }
    }

    fn retry_turn(&mut self) {
        self.is_held = false;
        if self.whereabouts == MessageState::Settled && self.is_last_turn_ours {
            self.whereabouts = MessageState::InTurn;
            (self.report.failure, self.report.notice) = (None, None);
        }
    }

    fn end_turn(&mut self, reason: EndReason, bound: Option<Bound>) {
        self.is_held = self.hold.is_held();
        self.calls = TurnCalls::default();
        if self.whereabouts != MessageState::InTurn {
            return;
        }
        self.whereabouts = MessageState::Settled;
        self.report.end = match reason {
            EndReason::Done => MessageEnd::Done,
            EndReason::Cancelled => MessageEnd::Cancelled,
            EndReason::Failed => MessageEnd::Failed,
            EndReason::Bound => MessageEnd::Bound(bound),
        };
        if reason == EndReason::Done {
            self.report.failure = None;
        }
    }

    fn read_turn(&mut self, event: &Event) {
        match &event.body {
            Body::ModelFailed(it) => self.report.failure = Some(it.message.to_string()),
            Body::Notice(it) => self.report.notice = Some(it.text.to_string()),
            _ => (),
        }
        if !event.is_tree() {
            return;
        }
        self.report.leaf = Some(event.id);
        let Body::AssistantMessage(answer) = &event.body else { return };
        let text = plain_text(&answer.message.content);
        if !text.trim().is_empty() {
            self.report.text = text.to_string();
        }
        self.report.stop_reason = Some(answer.stop_reason);
        let usage = answer.usage.unwrap_or_default();
        let sum = &mut self.report.usage;
        // Vendors send these numbers, and may send any.
        sum.input = sum.input.saturating_add(usage.input);
        sum.output = sum.output.saturating_add(usage.output);
        sum.cache_read = sum.cache_read.saturating_add(usage.cache_read);
        sum.cache_write = sum.cache_write.saturating_add(usage.cache_write);
        if let Some(cost) = usage.cost_micros {
            let known = sum.cost_micros.get_or_insert(0);
            *known = known.saturating_add(cost);
        }
    }

    /// Whether the turn waits for a person. The decisions of a reply follow it in the log.
    fn waits_for_person(&self) -> bool {
        let is_answered = |id: &String| self.answered.contains(id);
        self.calls.waits_for_person()
            && !self.calls.questions().any(|it| is_answered(&it.approval_id))
    }

    /// The report, if the message's author need wait no longer.
    pub fn settled(&self) -> Option<TurnReport> {
        let end = match self.whereabouts {
            MessageState::Settled => self.report.end,
            MessageState::Queued(_) if self.is_held => MessageEnd::Held,
            // Also behind a turn that waits: its author is the one who can let it go on.
            MessageState::InTurn | MessageState::Queued(_) if self.waits_for_person() => {
                MessageEnd::Waiting
            }
            MessageState::Queued(_)
            | MessageState::InTurn
            | MessageState::AskedBack
            | MessageState::NotSeen => return None,
        };
        let report = TurnReport { end, ..self.report.clone() };
        if end != MessageEnd::Waiting {
            return Some(report);
        }
        let pending_approvals = self.calls.questions().cloned().collect();
        Some(TurnReport { pending_approvals, language: self.language.clone(), ..report })
    }

    /// The report as far as it goes.
    pub fn into_report(self) -> TurnReport {
        self.settled().unwrap_or(self.report)
    }
}

#[cfg(test)]
mod tests;
