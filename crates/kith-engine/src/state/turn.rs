//! The open turn: what is running, what is owed, and what it has used.

use kith_vocab::block::{Block, ToolCall};
use kith_vocab::event::control::{Limits, QueueItem};
use kith_vocab::event::messages::{
    AssistantMessage, Author, HarnessKind, StopReason, Trust, UserMessage,
};
use kith_vocab::event::models::{FailureKind, ModelRef, Purpose};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

use super::calls::TurnCalls;
use super::ended_turn::EndedTurn;
use super::repeats::Repeats;
use super::requests::{ModelFailure, TurnUsage};
use super::turn_clock::TurnClock;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The message that began it, and its inbox row.
    pub began_with: EventId,
    pub message_key: Option<String>,
    /// The author of that message, and how far they are trusted.
    pub author: Author,
    pub trust: Trust,
    /// The open inbox rows of the messages and steers that the turn answers.
    pub keys: Vec<String>,
    pub limits: Limits,
    pub attended: bool,
    /// The tag of the language in which people are told of the turn.
    pub language: String,
    /// The models that may be asked, the chosen one first. Empty in logs of earlier versions.
    pub models: Vec<ModelRef>,
    /// How many of them failed for good, first to last.
    pub n_given_up: usize,
    /// A request that has neither answer nor failure.
    pub open_request: Option<EventId>,
    pub calls: TurnCalls,
    pub owes_reply: bool,
    pub cancelled: bool,
    pub failure: Option<ModelFailure>,
    /// How often in a row the session was left and worked on again without anything coming of it.
    pub n_resumed: u32,
    pub n_steps: u32,
    /// Why the last answer ended.
    pub last_stop: Option<StopReason>,
    /// Answers in which a call was cut off by the limit on tokens.
    pub n_cut_calls: u32,
    /// How often the vendor has refused the request as too long since the last answer.
    pub n_length_refusals: u32,
    pub usage: TurnUsage,
    pub clock: TurnClock,
    repeats: Repeats,
}

impl Turn {
    pub(super) fn begun_by(event: &Event, message: &UserMessage) -> Turn {
        Turn::new(EndedTurn::begun_by(event, message), event.ts)
    }

    /// Opens a turn again that has ended. Its messages stay in the conversation.
    pub(super) fn reopened(ended: EndedTurn, ts: u64) -> Turn {
        Turn { owes_reply: true, ..Turn::new(ended, ts) }
    }

    pub(super) fn into_ended(self) -> EndedTurn {
        let Turn { began_with, message_key, author, trust, models, language, .. } = self;
        EndedTurn { began_with, message_key, author, trust, models, language }
    }

    fn new(begun: EndedTurn, ts: u64) -> Turn {
        let EndedTurn { began_with, message_key, author, trust, models, language } = begun;
        Turn {
            began_with,
            message_key,
            author,
            trust,
            keys: Vec::new(),
            models,
            limits: Limits::default(),
            attended: true,
            language,
            open_request: None,
            calls: TurnCalls::default(),
            owes_reply: false,
            cancelled: false,
            failure: None,
            n_resumed: 0,
            n_steps: 0,
            last_stop: None,
            n_cut_calls: 0,
            n_length_refusals: 0,
            n_given_up: 0,
            usage: TurnUsage::default(),
            clock: TurnClock::starting_at(ts),
            repeats: Repeats::default(),
        }
    }

    /// Whether the models of the turn may be shown a steer: its author named them all. Earlier
    /// versions did not write down the models of an item.
    pub fn may_read(&self, steer: &QueueItem) -> bool {
        steer.models.is_empty() || self.models.iter().all(|it| steer.models.contains(it))
    }

    /// How often in a row the last call was made.
    pub fn n_repeats(&self) -> u32 {
        self.repeats.n_in_a_row()
    }

    /// Folds an event of the turn. `last_ts` is the time of the event before it.
    pub(super) fn fold(&mut self, event: &Event, last_ts: u64) {
        match &event.body {
            Body::TurnStarted(it) => {
                self.limits = it.limits;
                self.attended = it.attended;
                self.language.clone_from(&it.language);
                if !it.models.is_empty() {
                    self.models.clone_from(&it.models);
                }
            }
            Body::ModelRequested(it) if it.purpose == Purpose::Turn => {
                self.open_request = Some(it.request_id);
                self.failure = self.failure.map(|it| ModelFailure { retry_at: Some(0), ..it });
                // Waiting for a server that loads its model is not work.
                let is_loading = self.failure.is_some_and(|it| it.kind == FailureKind::Loading);
                self.n_steps += u32::from(!is_loading);
            }
            Body::AssistantMessage(it) => {
                self.n_resumed = 0;
                self.fold_answer(it);
            }
            Body::ModelFailed(it) => {
                self.open_request = None;
                self.n_length_refusals += u32::from(it.kind == FailureKind::ContextLength);
                self.failure = Some(ModelFailure::of(it));
                self.give_up_model(it.fallback.as_deref());
            }
            Body::Compact(it) => {
                self.n_resumed = 0;
                self.usage.add(&it.usage);
            }
            Body::HarnessItem(it) if it.item.kind == HarnessKind::Steer => {
                self.owes_reply = true;
                self.keys.extend(event.ingress_key.clone());
            }
            Body::ToolResult(_) => {
                self.owes_reply = true;
                self.n_resumed = 0;
                self.calls.fold(event);
            }
            Body::CallJudged(_)
            | Body::ApprovalRequested(_)
            | Body::ApprovalDecided(_)
            | Body::ToolStarted(_) => self.calls.fold(event),
            Body::CancelRequested(_) => self.cancelled = true,
            Body::Resumed(_) => {
                self.n_resumed += 1;
                self.open_request = None;
                self.calls.interrupt();
                self.clock.skip_from(last_ts, event.ts);
            }
            _ => (),
        }
        self.clock.note_waiting(self.calls.any_asked(), event.ts);
    }

    fn fold_answer(&mut self, answer: &AssistantMessage) {
        self.open_request = None;
        self.failure = None;
        self.n_length_refusals = 0;
        if let Some(usage) = &answer.usage {
            self.usage.add(usage);
        }
        let call_of = |block: &Block| match block {
            Block::ToolCall(call) => Some(call.clone()),
            _ => None,
        };
        let calls: Vec<ToolCall> = answer.message.content.iter().filter_map(call_of).collect();
        self.owes_reply = !calls.is_empty();
        self.last_stop = Some(answer.stop_reason);
        let is_cut_off = answer.stop_reason == StopReason::MaxTokens;
        self.n_cut_calls += u32::from(!calls.is_empty() && is_cut_off);
        for call in &calls {
            self.repeats.count(call);
        }
        self.calls = TurnCalls::of(calls.into_iter());
    }

    /// The models before this one are not asked again in the turn.
    fn give_up_model(&mut self, next: Option<&str>) {
        let next = next.and_then(|next| self.models.iter().position(|it| it.name == next));
        if let Some(next) = next {
            (self.n_given_up, self.n_length_refusals) = (next, 0);
        }
    }
}
