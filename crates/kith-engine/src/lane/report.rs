//! What came of a message, read off the log.

use kith_vocab::block::plain_text;
use kith_vocab::event::control::EndReason;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, SessionId, ThreadId};

use crate::session::Session;
use crate::state::State;

const ELSEWHERE: &str = "the message stands in a part of the thread that can only be read, or that \
                         was left behind; say it again if it still matters";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    pub leaf: Option<EventId>,
    /// What the model said last.
    pub text: String,
    /// Of all requests of the turn.
    pub usage: Usage,
    pub stop_reason: Option<StopReason>,
    /// Of the newest turn, if that is the one reported on.
    pub end: Option<EndReason>,
    /// Why the model could not answer.
    pub failure: Option<String>,
}

impl Report {
    pub(super) fn of(session: &Session, key: &str) -> Report {
        let header = session.header();
        Report::from_state(session.state(), header.session_id, &header.thread_id, key)
    }

    /// The turn that the inbox row `key` began, if the path holds it.
    pub fn from_state(
        state: &State,
        session_id: SessionId,
        thread_id: &ThreadId,
        key: &str,
    ) -> Report {
        let mut report = Report {
            session_id,
            thread_id: thread_id.clone(),
            leaf: state.leaf(),
            text: String::new(),
            usage: Usage::default(),
            stop_reason: None,
            end: state.last_end,
            failure: None,
        };
        // From the leaf back: the cost is that of the turn, not of the session.
        let mut turn: Vec<&Event> = Vec::new();
        let mut is_there = false;
        for event in state.tree.from_leaf() {
            let begins_a_turn = matches!(event.body, Body::UserMessage(_)) && event.is_lived();
            if event.ingress_key.as_deref() == Some(key) {
                is_there = true;
                break;
            }
            turn.push(event);
            if begins_a_turn {
                // It belongs to a later message, and so does all that followed it.
                turn.clear();
                report.end = None;
            }
        }
        if !is_there {
            report.end = Some(EndReason::Failed);
            report.failure = Some(ELSEWHERE.to_owned());
            return report;
        }
        for event in turn.into_iter().rev() {
            report.add(event);
        }
        if report.end != Some(EndReason::Done) {
            report.failure.clone_from(&state.last_failure);
        }
        report
    }

    fn add(&mut self, event: &Event) {
        let Body::AssistantMessage(answer) = &event.body else { return };
        let text = plain_text(&answer.message.content);
        if !text.trim().is_empty() {
            self.text = text;
        }
        self.stop_reason = Some(answer.stop_reason);
        self.leaf = Some(event.id);
        let usage = answer.usage.unwrap_or_default();
        self.usage.input += usage.input;
        self.usage.output += usage.output;
        self.usage.cache_read += usage.cache_read;
        self.usage.cache_write += usage.cache_write;
        if let Some(cost) = usage.cost_micros {
            *self.usage.cost_micros.get_or_insert(0) += cost;
        }
    }
}
