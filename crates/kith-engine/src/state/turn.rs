//! The open turn: what is running, what is owed, and what it has used.

use kith_vocab::block::{Block, ToolCall};
use kith_vocab::event::control::Limits;
use kith_vocab::event::messages::{AssistantMessage, HarnessKind, StopReason};
use kith_vocab::event::models::Purpose;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use serde::{Deserialize, Serialize};

use super::calls::Calls;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The message that began it.
    pub began_with: EventId,
    pub limits: Limits,
    pub attended: bool,
    /// A request that has neither answer nor failure.
    pub open_request: Option<EventId>,
    pub calls: Calls,
    pub owes_reply: bool,
    pub cancelled: bool,
    pub failure: Option<Failure>,
    /// How often the session was left and worked on again.
    pub n_resumed: u32,
    pub n_steps: u32,
    /// Answers in which a call was cut off by the limit on tokens.
    pub n_cut_calls: u32,
    pub tokens: u64,
    pub cost_micros: u64,
    /// Time that counts against the limit began here: waiting for a person moves it on.
    pub clock_start: u64,
    waiting_since: Option<u64>,
    repeated: Option<Repeated>,
}

/// The model could not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub attempt: u32,
    pub retry_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Repeated {
    tool: String,
    input: String,
    times: u32,
}

impl Turn {
    pub(super) fn begun_by(event: &Event) -> Turn {
        Turn {
            began_with: event.id,
            limits: Limits::default(),
            attended: true,
            open_request: None,
            calls: Calls::default(),
            owes_reply: false,
            cancelled: false,
            failure: None,
            n_resumed: 0,
            n_steps: 0,
            n_cut_calls: 0,
            tokens: 0,
            cost_micros: 0,
            clock_start: event.ts,
            waiting_since: None,
            repeated: None,
        }
    }

    /// How often the last call stood in a row.
    pub fn n_repeats(&self) -> u32 {
        self.repeated.as_ref().map_or(0, |it| it.times)
    }

    pub(super) fn fold(&mut self, event: &Event) {
        match &event.body {
            Body::TurnStarted(it) => {
                self.limits = it.limits;
                self.attended = it.attended;
            }
            Body::ModelRequested(it) => {
                self.open_request = Some(it.request_id);
                self.failure = self.failure.map(|it| Failure { retry_at: Some(0), ..it });
                self.n_steps += u32::from(it.purpose == Purpose::Turn);
            }
            Body::AssistantMessage(it) => self.answered(it),
            Body::ModelFailed(it) => {
                self.open_request = None;
                self.failure = Some(Failure { attempt: it.attempt, retry_at: it.retry_at });
            }
            Body::Compact(_) => self.open_request = None,
            Body::HarnessItem(it) if it.item.kind == HarnessKind::Steer => self.owes_reply = true,
            Body::ToolResult(_) => {
                self.owes_reply = true;
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
            }
            _ => (),
        }
        self.keep_time(event.ts);
    }

    fn answered(&mut self, answer: &AssistantMessage) {
        self.open_request = None;
        self.failure = None;
        if let Some(usage) = &answer.usage {
            let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
            self.tokens = tokens.into_iter().fold(self.tokens, u64::saturating_add);
            self.cost_micros = self.cost_micros.saturating_add(usage.cost_micros.unwrap_or(0));
        }
        let calls: Vec<ToolCall> = answer
            .message
            .content
            .iter()
            .filter_map(|block| match block {
                Block::ToolCall(call) => Some(call.clone()),
                _ => None,
            })
            .collect();
        self.owes_reply = !calls.is_empty();
        self.n_cut_calls +=
            u32::from(!calls.is_empty() && answer.stop_reason == StopReason::MaxTokens);
        for call in &calls {
            self.count_repeat(call);
        }
        self.calls = Calls::of(calls.into_iter());
    }

    fn count_repeat(&mut self, call: &ToolCall) {
        let input = call.raw_input.as_deref().unwrap_or(call.input.as_str());
        match &mut self.repeated {
            Some(it) if it.tool == call.tool && it.input == input => it.times += 1,
            _ => {
                let (tool, input) = (call.tool.clone(), input.to_owned());
                self.repeated = Some(Repeated { tool, input, times: 1 });
            }
        }
    }

    fn keep_time(&mut self, ts: u64) {
        match (self.waiting_since, self.calls.any_asked()) {
            (None, true) => self.waiting_since = Some(ts),
            (Some(since), false) => {
                self.clock_start = self.clock_start.saturating_add(ts.saturating_sub(since));
                self.waiting_since = None;
            }
            _ => (),
        }
    }
}
