//! What happened, without a word of it.
//!
//! This is the one place where events become diagnostics. A record holds times, ids, sizes, counts,
//! words of our own enumerations and names that the owner chose; there is no field for a text, so none
//! can get into a log, a metric or a span. The name of a tool is the model's to write, so it must be
//! one of ours.

use kith_engine::failure::SessionFailure;
use kith_engine::observer::Observation;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_tools::TOOL_NAMES;
use kith_vocab::block::Block;
use kith_vocab::event::calls::{Decision, Effect, Verdict, Via};
use kith_vocab::event::control::{Bound, EndReason, Queue};
use kith_vocab::event::messages::{Outcome, StopReason, Usage};
use kith_vocab::event::models::{FailureKind, Purpose, Wire};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, EventId, SessionId};
use kith_vocab::ingress::IngressContent;

/// What a tool is called that is none of ours.
pub(super) const OTHER: &str = "other";

/// Something that happened to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionRecord {
    Accepted { bytes: u64, attachments: usize },
    Opened { events: u64, torn_bytes: Option<u64> },
    Appended { agent_id: Option<String>, n_events: usize, events: Vec<LoggedEvent> },
    Failed { kind: &'static str },
    MovedTo(SessionId),
    Closed,
    Removed,
}

/// An event that diagnostics tell of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedEvent {
    pub(super) ts: u64,
    pub(super) id: EventId,
    pub(super) fact: EventFact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventFact {
    TurnStarted { model: String, attended: bool },
    TurnEnded { end: EndReason, bound: Option<Bound>, steps: u32, usage: Option<Usage> },
    Requested(RequestFact),
    Answered { request_id: Option<EventId>, stop: StopReason, calls: usize, usage: Option<Usage> },
    ModelFailed(ModelFailureFact),
    Compacted { request_id: EventId, usage: Usage, before: u64, after: u64 },
    CompactionAsked,
    Judged { call_id: CallId, tool: &'static str, effect: Effect, verdict: Verdict },
    ApprovalAsked { call_id: CallId, expires_at: u64 },
    ApprovalDecided { decision: Decision, via: Via },
    ToolStarted { call_id: CallId },
    ToolEnded { call_id: CallId, tool: &'static str, outcome: Outcome, bytes: u64 },
    Resumed { had_request: bool, calls: usize },
    CancelAsked,
    QueueChanged { queue: Queue, items: usize },
    BranchMoved,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestFact {
    pub(super) request_id: EventId,
    pub(super) purpose: Purpose,
    pub(super) provider: String,
    pub(super) wire: Wire,
    pub(super) model: String,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelFailureFact {
    pub(super) request_id: Option<EventId>,
    pub(super) kind: FailureKind,
    pub(super) attempt: u32,
    pub(super) retry_at: Option<u64>,
    pub(super) falls_back: bool,
    pub(super) usage: Option<Usage>,
}

impl SessionRecord {
    pub(super) fn of(what: Observation<'_>) -> SessionRecord {
        match what {
            Observation::Accepted(event) => {
                let IngressContent::Text { text, attachments, .. } = &event.content;
                SessionRecord::Accepted { bytes: text.len() as u64, attachments: attachments.len() }
            }
            Observation::Opened { n_events, torn_bytes } => {
                SessionRecord::Opened { events: n_events, torn_bytes }
            }
            Observation::Published { thread, events } => SessionRecord::Appended {
                agent_id: thread.map(|it| it.agent_id.clone()),
                n_events: events.len(),
                events: events.iter().filter_map(logged).collect(),
            },
            Observation::Failed(failure) => SessionRecord::Failed { kind: failure_word(failure) },
            Observation::MovedTo(to) => SessionRecord::MovedTo(to),
            Observation::Closed => SessionRecord::Closed,
            Observation::Removed => SessionRecord::Removed,
        }
    }
}

/// The event without its texts; `None` if diagnostics do not tell of it. What was primed or cloned did
/// not happen here.
fn logged(event: &Event) -> Option<LoggedEvent> {
    let fact = fact_of(&event.body).filter(|_| event.is_lived())?;
    Some(LoggedEvent { ts: event.ts, id: event.id, fact })
}

/// What diagnostics tell of an event. Texts, snapshots, titles and notices are none of their business.
fn fact_of(body: &Body) -> Option<EventFact> {
    model_fact(body).or_else(|| call_fact(body)).or_else(|| turn_fact(body))
}

fn turn_fact(body: &Body) -> Option<EventFact> {
    Some(match body {
        Body::TurnStarted(it) => {
            EventFact::TurnStarted { model: it.model.clone(), attended: it.attended }
        }
        Body::TurnEnded(it) => EventFact::TurnEnded {
            end: it.reason,
            bound: it.bound,
            steps: it.steps,
            usage: it.usage,
        },
        Body::CompactRequested(_) => EventFact::CompactionAsked,
        Body::Resumed(it) => EventFact::Resumed {
            had_request: it.open_request.is_some(),
            calls: it.open_calls.len(),
        },
        Body::CancelRequested(_) => EventFact::CancelAsked,
        Body::QueueUpdate(it) => EventFact::QueueChanged { queue: it.queue, items: it.items.len() },
        Body::LeafMoved(_) => EventFact::BranchMoved,
        _ => return None,
    })
}

fn model_fact(body: &Body) -> Option<EventFact> {
    Some(match body {
        Body::ModelRequested(it) => EventFact::Requested(RequestFact {
            request_id: it.request_id,
            purpose: it.purpose,
            provider: it.provider.clone(),
            wire: it.wire,
            model: it.model.clone(),
            bytes: it.body_bytes,
        }),
        Body::AssistantMessage(it) => EventFact::Answered {
            request_id: it.request_id,
            stop: it.stop_reason,
            calls: it.message.content.iter().filter(|it| matches!(it, Block::ToolCall(_))).count(),
            usage: it.usage,
        },
        Body::ModelFailed(it) => EventFact::ModelFailed(ModelFailureFact {
            request_id: it.request_id,
            kind: it.kind,
            attempt: it.attempt,
            retry_at: it.retry_at,
            falls_back: it.fallback.is_some(),
            usage: it.usage,
        }),
        Body::Compact(it) => EventFact::Compacted {
            request_id: it.request_id,
            usage: it.usage,
            before: it.tokens_before,
            after: it.tokens_after,
        },
        _ => return None,
    })
}

fn call_fact(body: &Body) -> Option<EventFact> {
    Some(match body {
        Body::CallJudged(it) => EventFact::Judged {
            call_id: it.call_id,
            tool: tool_name(&it.tool),
            effect: it.effect,
            verdict: it.verdict,
        },
        Body::ApprovalRequested(it) => {
            EventFact::ApprovalAsked { call_id: it.call_id, expires_at: it.expires_at }
        }
        Body::ApprovalDecided(it) => {
            EventFact::ApprovalDecided { decision: it.decision, via: it.via }
        }
        Body::ToolStarted(it) => EventFact::ToolStarted { call_id: it.call_id },
        Body::ToolResult(it) => EventFact::ToolEnded {
            call_id: it.call_id,
            tool: tool_name(&it.tool),
            outcome: it.outcome,
            bytes: text_bytes(&it.content),
        },
        _ => return None,
    })
}

fn text_bytes(blocks: &[Block]) -> u64 {
    let texts = blocks.iter().map(|block| match block {
        Block::Text(it) => it.text.len(),
        _ => 0,
    });
    texts.sum::<usize>() as u64
}

/// The name if it is one of our tools: a model can call anything by any name.
fn tool_name(name: &str) -> &'static str {
    TOOL_NAMES.into_iter().find(|it| *it == name).unwrap_or(OTHER)
}

fn failure_word(failure: &SessionFailure) -> &'static str {
    match failure {
        SessionFailure::Storage(error) => storage_word(error),
        SessionFailure::Setup { .. } => "setup",
        SessionFailure::Render { .. } => "render",
        SessionFailure::ModelUnavailable { .. } => "model_unavailable",
        SessionFailure::NotBuilt { .. } => "not_built",
        SessionFailure::TooManySteps { .. } => "too_many_steps",
        SessionFailure::Panicked => "panicked",
    }
}

fn storage_word(error: &StorageError) -> &'static str {
    match error.kind {
        StorageErrorKind::NotFound => "not_found",
        StorageErrorKind::Damaged(_) | StorageErrorKind::DamagedDesk => "damaged",
        StorageErrorKind::Full => "disk_full",
        StorageErrorKind::ReadOnly => "read_only",
        StorageErrorKind::Fenced => "fenced",
        StorageErrorKind::NewerVersion => "newer_version",
        _ => "storage",
    }
}

#[cfg(test)]
mod tests;
