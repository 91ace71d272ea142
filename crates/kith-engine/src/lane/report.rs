//! What came of a message, read off the log.

use kith_vocab::block::plain_text;
use kith_vocab::event::control::EndReason;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;

use super::{Engine, EngineError};
use crate::session::{Session, SessionError};

const ELSEWHERE: &str = "the message stands in a part of the thread that can only be read, or that \
                         was left behind; say it again if it still matters";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    /// The last event of the turn.
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
    /// Where the conversation ended when the message was to be said. It was meant for elsewhere,
    /// so it was not said.
    pub conflict: Option<LeafId>,
}

impl Report {
    fn empty(session_id: SessionId, thread_id: &ThreadId) -> Report {
        Report {
            session_id,
            thread_id: thread_id.clone(),
            leaf: None,
            text: String::new(),
            usage: Usage::default(),
            stop_reason: None,
            end: None,
            failure: None,
            conflict: None,
        }
    }

    /// The turn that the inbox row `key` began; `None` if the path does not hold it.
    pub(super) fn of(session: &Session, key: &str) -> Option<Report> {
        let (state, header) = (session.state(), session.header());
        let mut report = Report::empty(header.session_id, &header.thread_id);
        report.leaf = state.leaf();
        report.end = state.last_end;
        // From the leaf back: the cost is that of the turn, not of the session.
        let mut turn: Vec<&Event> = Vec::new();
        let mut is_there = false;
        for event in state.tree.from_leaf() {
            let begins_a_turn = matches!(event.body, Body::UserMessage(_)) && event.is_lived();
            turn.push(event);
            if event.ingress_key.as_deref() == Some(key) {
                is_there = true;
                break;
            }
            if begins_a_turn {
                // It belongs to a later message, and so does all that followed it.
                turn.clear();
                report.end = None;
            }
        }
        if !is_there {
            return None;
        }
        for event in turn.into_iter().rev() {
            report.add(event);
        }
        if report.end != Some(EndReason::Done) {
            report.failure.clone_from(&state.last_failure);
        }
        Some(report)
    }

    fn add(&mut self, event: &Event) {
        self.leaf = Some(event.id);
        let Body::AssistantMessage(answer) = &event.body else { return };
        let text = plain_text(&answer.message.content);
        if !text.trim().is_empty() {
            self.text = text;
        }
        self.stop_reason = Some(answer.stop_reason);
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

/// Looks through a whole log for what came of a message, whichever way the conversation went since.
#[derive(Debug)]
pub struct Inquiry {
    key: String,
    report: Report,
    is_open: bool,
}

impl Inquiry {
    pub fn new(session_id: SessionId, thread_id: &ThreadId, key: &str) -> Inquiry {
        let report = Report::empty(session_id, thread_id);
        Inquiry { key: key.to_owned(), report, is_open: false }
    }

    pub fn read(&mut self, event: &Event) {
        if event.ingress_key.as_deref() == Some(&self.key) {
            match &event.body {
                // What is told about a row in place of its message says why that was not said.
                Body::Notice(it) => {
                    let leaf = it.about.as_ref().and_then(|about| about.parse().ok());
                    self.report.conflict = Some(leaf.unwrap_or(LeafId::Start));
                }
                _ => self.is_open = true,
            }
        }
        if !self.is_open {
            return;
        }
        match &event.body {
            Body::TurnEnded(it) => {
                self.report.end = Some(it.reason);
                self.is_open = false;
            }
            Body::ModelFailed(it) => self.report.failure = Some(it.message.clone()),
            _ if event.is_tree() => self.report.add(event),
            _ => (),
        }
    }

    pub fn into_report(self) -> Report {
        let mut report = self.report;
        match report.end {
            None if report.conflict.is_none() => {
                report.end = Some(EndReason::Failed);
                report.failure = Some(ELSEWHERE.to_owned());
            }
            Some(EndReason::Done) => report.failure = None,
            _ => (),
        }
        report
    }
}

impl Engine {
    /// What came of a message whose turn has ended, however the session is now.
    pub(super) fn report_again(
        &self,
        id: SessionId,
        event: &IngressEvent,
    ) -> Result<Report, EngineError> {
        let mut inquiry = Inquiry::new(id, &event.thread_id, &event.key);
        let read = self.store.read(id, None, &mut |event| inquiry.read(&event));
        read.map_err(SessionError::from)?;
        Ok(inquiry.into_report())
    }
}
