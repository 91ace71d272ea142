//! Follows turns, requests and calls through their records, and makes lines, counts and spans of them.
//!
//! Durations are differences of event times: nothing is measured in the loop. A read is not announced
//! by an event of its own, so its time begins when it was judged.

use std::collections::BTreeMap;

use kith_vocab::event::calls::Verdict;
use kith_vocab::event::control::{Bound, EndReason};
use kith_vocab::event::messages::{Outcome, StopReason, Usage};
use kith_vocab::event::models::Purpose;
use kith_vocab::ids::{CallId, EventId, SessionId};

use super::line::{LogLevel, LogLine, word};
use super::metrics::MetricName;
use super::record::{EventFact, LoggedEvent, ModelFailureFact, RequestFact, SessionRecord};
use super::sinks::DiagnosticSinks;
use super::span::{
    SpanKind, SpanValue, TraceSpan, call_span_id, conversation, error_attribute, finish_reason,
    provider_name, short_name, span_id, trace_id, usage_attributes,
};

/// Sessions whose open turns are known; beyond that, those without one are forgotten.
const TRACKED_SESSIONS_MAX: usize = 1024;
/// Calls of a session that are known at once.
const TRACKED_CALLS_MAX: usize = 256;

#[derive(Default)]
pub(super) struct SessionTracker {
    sessions: BTreeMap<SessionId, TrackedSession>,
}

#[derive(Default)]
struct TrackedSession {
    agent_id: String,
    turn: Option<TrackedTurn>,
    request: Option<TrackedRequest>,
    calls: BTreeMap<CallId, TrackedCall>,
}

struct TrackedTurn {
    id: EventId,
    since: u64,
    model: String,
    usage: Usage,
}

struct TrackedRequest {
    since: u64,
    fact: RequestFact,
}

struct TrackedCall {
    tool: &'static str,
    since: u64,
}

/// How a request ended.
struct RequestEnd {
    time: u64,
    outcome: String,
    stop: Option<StopReason>,
    usage: Option<Usage>,
    level: LogLevel,
    n_calls: Option<usize>,
}

/// Who a fact is about, and where it is told.
struct SessionScope<'a> {
    id: SessionId,
    session: &'a mut TrackedSession,
    sinks: &'a mut DiagnosticSinks,
}

impl SessionTracker {
    /// Takes a record that came at this time.
    pub(super) fn take(
        &mut self,
        now: u64,
        id: SessionId,
        record: SessionRecord,
        sinks: &mut DiagnosticSinks,
    ) {
        let line = |level, event| LogLine::new(now, level, event).with("session", id);
        match record {
            SessionRecord::Appended { agent_id, n_events, events } => {
                sinks.metrics.add(MetricName::LogAppends, &[], 1);
                sinks.metrics.add(MetricName::LogEvents, &[], n_events as u64);
                self.take_events(id, agent_id, events, sinks);
            }
            SessionRecord::Accepted { bytes, attachments } => {
                sinks.metrics.add(MetricName::Messages, &[], 1);
                let line = line(LogLevel::Info, "message_accepted");
                sinks.tell(id, &line.with("bytes", bytes).with("attachments", attachments));
            }
            SessionRecord::Opened { events, torn_bytes } => {
                sinks.tell(id, &line(LogLevel::Info, "session_opened").with("events", events));
                if let Some(bytes) = torn_bytes {
                    let line = line(LogLevel::Warn, "session_repaired");
                    sinks.tell(id, &line.with("torn_bytes", bytes));
                }
            }
            SessionRecord::Failed { kind } => {
                sinks.metrics.add(MetricName::SessionFailures, &[("kind", kind)], 1);
                sinks.tell(id, &line(LogLevel::Error, "session_failed").with("error", kind));
            }
            SessionRecord::MovedTo(copy) => {
                sinks.tell(id, &line(LogLevel::Warn, "session_repaired").with("copy", copy));
            }
            SessionRecord::Closed => {
                self.sessions.remove(&id);
                sinks.tell(id, &line(LogLevel::Info, "session_closed"));
            }
            SessionRecord::Removed => {
                self.sessions.remove(&id);
                sinks.remove(id);
            }
        }
    }

    fn take_events(
        &mut self,
        id: SessionId,
        agent_id: Option<String>,
        events: Vec<LoggedEvent>,
        sinks: &mut DiagnosticSinks,
    ) {
        if events.is_empty() {
            return;
        }
        if self.sessions.len() >= TRACKED_SESSIONS_MAX {
            self.sessions.retain(|_, it| it.turn.is_some());
        }
        if self.sessions.len() >= TRACKED_SESSIONS_MAX {
            self.sessions.pop_first();
        }
        let session = self.sessions.entry(id).or_default();
        if let Some(agent_id) = agent_id {
            session.agent_id = agent_id;
        }
        for event in events {
            SessionScope { id, session: &mut *session, sinks: &mut *sinks }.take(event);
        }
    }
}

impl SessionScope<'_> {
    fn take(&mut self, event: LoggedEvent) {
        let LoggedEvent { ts, id, fact } = event;
        match fact {
            EventFact::TurnStarted { model, attended } => self.start_turn(ts, id, model, attended),
            EventFact::TurnEnded { end, bound, steps, usage } => {
                self.end_turn(ts, end, bound, steps, usage);
            }
            EventFact::Requested(fact) => self.ask_model(ts, fact),
            EventFact::Answered { request_id, stop, calls, usage } => {
                self.answer(ts, request_id, stop, calls, usage);
            }
            EventFact::ModelFailed(failure) => self.fail_request(ts, &failure),
            EventFact::Compacted { request_id, usage, before, after } => {
                self.sinks.metrics.add(MetricName::Compactions, &[], 1);
                let stop = None;
                let (outcome, usage) = ("done".to_owned(), Some(usage));
                let (level, n_calls) = (LogLevel::Info, None);
                let end = RequestEnd { time: ts, outcome, stop, usage, level, n_calls };
                self.end_request(Some(request_id), end);
                let line = self.line(ts, LogLevel::Info, "compacted");
                self.tell(&line.with("tokens_before", before).with("tokens_after", after));
            }
            EventFact::CompactionAsked => self.tell_plain(ts, "compaction_asked"),
            EventFact::Judged { call_id, tool, effect, verdict } => {
                self.session.calls.insert(call_id, TrackedCall { tool, since: ts });
                if self.session.calls.len() > TRACKED_CALLS_MAX {
                    self.session.calls.pop_first();
                }
                let line = self.line(ts, level_of(verdict), "call_judged").with("call", call_id);
                let line = line.with("tool", tool).with("effect", word(effect));
                self.tell(&line.with("verdict", word(verdict)));
            }
            EventFact::ApprovalAsked { call_id, expires_at } => {
                let tool = self.session.calls.get(&call_id).map(|it| it.tool);
                let line = self.line(ts, LogLevel::Info, "approval_asked").with("call", call_id);
                let wait = expires_at.saturating_sub(ts);
                self.tell(&line.with_some("tool", tool).with("expires_in_ms", wait));
            }
            EventFact::ApprovalDecided { decision, via } => {
                let (decision, via) = (word(decision), word(via));
                let labels = [("decision", decision.as_str()), ("via", via.as_str())];
                self.sinks.metrics.add(MetricName::Approvals, &labels, 1);
                let line = self.line(ts, LogLevel::Info, "approval_decided");
                self.tell(&line.with("decision", &decision).with("via", &via));
            }
            EventFact::ToolStarted { call_id } => {
                let call = self.session.calls.get_mut(&call_id);
                let tool = call.map(|call| {
                    call.since = ts;
                    call.tool
                });
                let line = self.line(ts, LogLevel::Info, "tool_started").with("call", call_id);
                self.tell(&line.with_some("tool", tool));
            }
            EventFact::ToolEnded { call_id, tool, outcome, bytes } => {
                self.end_call(ts, call_id, tool, outcome, bytes);
            }
            EventFact::Resumed { had_request, calls } => {
                let line = self.line(ts, LogLevel::Warn, "turn_resumed");
                self.tell(&line.with("open_request", had_request).with("open_calls", calls));
            }
            EventFact::CancelAsked => self.tell_plain(ts, "cancel_asked"),
            EventFact::QueueChanged { queue, items } => {
                let line = self.line(ts, LogLevel::Info, "queue_changed");
                self.tell(&line.with("queue", word(queue)).with("items", items));
            }
            EventFact::BranchMoved => self.tell_plain(ts, "branch_moved"),
        }
    }

    fn start_turn(&mut self, ts: u64, id: EventId, model: String, attended: bool) {
        self.sinks.metrics.add(MetricName::TurnsStarted, &[], 1);
        let line = self.line(ts, LogLevel::Info, "turn_started").with("turn", id);
        let line = line.with("agent", &self.session.agent_id).with("model", &model);
        self.tell(&line.with("attended", attended));
        self.session.calls.clear();
        self.session.turn = Some(TrackedTurn { id, since: ts, model, usage: Usage::default() });
    }

    fn end_turn(
        &mut self,
        ts: u64,
        end: EndReason,
        bound: Option<Bound>,
        steps: u32,
        usage: Option<Usage>,
    ) {
        // A request that was stopped with the turn has no event of its own.
        if let Some(request_id) = self.session.request.as_ref().map(|it| it.fact.request_id) {
            let (outcome, level) = ("cancelled".to_owned(), LogLevel::Info);
            let (stop, n_calls) = (None, None);
            let ended = RequestEnd { time: ts, outcome, stop, usage, level, n_calls };
            self.end_request(Some(request_id), ended);
        }
        let (reason, turn) = (word(end), self.session.turn.take());
        self.session.calls.clear();
        self.sinks.metrics.add(MetricName::TurnsEnded, &[("end", &reason)], 1);
        let ms = turn.as_ref().map(|it| ts.saturating_sub(it.since));
        if let Some(ms) = ms {
            self.sinks.metrics.take_time(MetricName::TurnSeconds, &[], ms);
        }
        let level = match end {
            EndReason::Done | EndReason::Cancelled => LogLevel::Info,
            EndReason::Failed | EndReason::Bound => LogLevel::Warn,
        };
        let bound = bound.map(word);
        let line =
            self.line(ts, level, "turn_ended").with_some("turn", turn.as_ref().map(|it| it.id));
        let line = line.with("outcome", &reason).with_some("bound", bound.as_ref());
        self.tell(&line.with("steps", steps).with_some("ms", ms));
        let Some(turn) = turn.filter(|_| self.sinks.has_spans()) else { return };
        let agent = short_name(&self.session.agent_id);
        let mut attributes = vec![
            ("gen_ai.operation.name", SpanValue::from("invoke_agent")),
            ("gen_ai.agent.id", SpanValue::Text(agent.clone())),
            ("gen_ai.agent.name", SpanValue::Text(agent.clone())),
            conversation(self.id),
            ("gen_ai.request.model", SpanValue::from(turn.model.as_str())),
        ];
        attributes.extend(usage_attributes(&turn.usage));
        let error = match end {
            EndReason::Done | EndReason::Cancelled => None,
            EndReason::Failed => Some(reason),
            EndReason::Bound => Some(bound.unwrap_or(reason)),
        };
        attributes.extend(error_attribute(error.as_ref()));
        self.sinks.span(TraceSpan {
            trace_id: trace_id(turn.id),
            span_id: span_id(turn.id),
            parent: None,
            name: format!("invoke_agent {agent}"),
            kind: SpanKind::Internal,
            start: turn.since,
            end: ts,
            attributes,
            error,
        });
    }

    fn ask_model(&mut self, ts: u64, fact: RequestFact) {
        let line = self.line(ts, LogLevel::Info, "model_asked").with("request", fact.request_id);
        let line = line.with("provider", &fact.provider).with("model", &fact.model);
        self.tell(&line.with("purpose", word(fact.purpose)).with("bytes", fact.bytes));
        self.session.request = Some(TrackedRequest { since: ts, fact });
    }

    fn answer(
        &mut self,
        ts: u64,
        request_id: Option<EventId>,
        stop: StopReason,
        n_calls: usize,
        usage: Option<Usage>,
    ) {
        let outcome = match stop {
            StopReason::EndTurn | StopReason::ToolCall => "done".to_owned(),
            other => word(other),
        };
        let (level, n_calls, stop) = (LogLevel::Info, Some(n_calls), Some(stop));
        self.end_request(request_id, RequestEnd { time: ts, outcome, stop, usage, level, n_calls });
    }

    fn fail_request(&mut self, ts: u64, failure: &ModelFailureFact) {
        let kind = word(failure.kind);
        if failure.request_id.is_some() {
            let (outcome, usage) = (kind.clone(), failure.usage);
            let (level, stop, n_calls) = (LogLevel::Warn, None, None);
            let end = RequestEnd { time: ts, outcome, stop, usage, level, n_calls };
            self.end_request(failure.request_id, end);
        }
        let retry = failure.retry_at.map(|it| it.saturating_sub(ts));
        let line = self.line(ts, LogLevel::Warn, "model_failed");
        let line = line.with_some("request", failure.request_id).with("error", kind);
        let line = line.with("attempt", failure.attempt).with_some("retry_in_ms", retry);
        self.tell(&line.with("falls_back", failure.falls_back));
    }

    fn end_request(&mut self, request_id: Option<EventId>, end: RequestEnd) {
        let is_meant = |it: &mut TrackedRequest| Some(it.fact.request_id) == request_id;
        let Some(request) = self.session.request.take_if(is_meant) else { return };
        let RequestEnd { time, outcome, stop, usage, level, n_calls } = end;
        let ms = time.saturating_sub(request.since);
        let metrics = &self.sinks.metrics;
        let model = metrics.model_label(&request.fact.model);
        let labels = [("model", model.as_str()), ("outcome", outcome.as_str())];
        metrics.add(MetricName::ModelRequests, &labels, 1);
        metrics.take_time(MetricName::ModelRequestSeconds, &labels[..1], ms);
        for (kind, n) in usage.iter().flat_map(kinds_of_tokens) {
            let labels = [("model", model.as_str()), ("kind", kind)];
            metrics.add(MetricName::ModelTokens, &labels, n);
        }
        let id = request.fact.request_id;
        let mut line = self.line(time, level, "model_ended").with("request", id);
        line = line.with("model", &request.fact.model).with("ms", ms).with("outcome", &outcome);
        line = line.with_some("stop", stop.map(word)).with_some("calls", n_calls);
        for (kind, n) in usage.iter().flat_map(kinds_of_tokens) {
            line = line.with(kind, n);
        }
        self.tell(&line);
        if let (Some(turn), Some(usage)) = (&mut self.session.turn, &usage)
            && request.fact.purpose == Purpose::Turn
        {
            turn.usage = sum(&turn.usage, usage);
        }
        let is_failed = level != LogLevel::Info;
        self.request_span(&request, time, stop, usage.as_ref(), is_failed.then_some(outcome));
    }

    fn request_span(
        &mut self,
        request: &TrackedRequest,
        end: u64,
        stop: Option<StopReason>,
        usage: Option<&Usage>,
        error: Option<String>,
    ) {
        if !self.sinks.has_spans() {
            return;
        }
        let RequestFact { request_id, provider, wire, model, .. } = &request.fact;
        let model = short_name(model);
        let mut attributes = vec![
            ("gen_ai.operation.name", SpanValue::from("chat")),
            ("gen_ai.provider.name", SpanValue::Text(provider_name(provider, *wire))),
            ("gen_ai.request.model", SpanValue::Text(model.clone())),
            conversation(self.id),
        ];
        attributes.extend(usage.into_iter().flat_map(usage_attributes));
        if let Some(stop) = stop {
            let reasons = SpanValue::Texts(vec![finish_reason(stop).to_owned()]);
            attributes.push(("gen_ai.response.finish_reasons", reasons));
        }
        attributes.extend(error_attribute(error.as_ref()));
        let (trace_id, parent) = self.trace(*request_id);
        self.sinks.span(TraceSpan {
            trace_id,
            span_id: span_id(*request_id),
            parent,
            name: format!("chat {model}"),
            kind: SpanKind::Client,
            start: request.since,
            end,
            attributes,
            error,
        });
    }

    fn end_call(
        &mut self,
        ts: u64,
        call_id: CallId,
        tool: &'static str,
        outcome: Outcome,
        bytes: u64,
    ) {
        let since = self.session.calls.remove(&call_id).map(|it| it.since);
        let ms = since.map(|since| ts.saturating_sub(since));
        let outcome_word = word(outcome);
        let labels = [("tool", tool), ("outcome", outcome_word.as_str())];
        self.sinks.metrics.add(MetricName::ToolCalls, &labels, 1);
        if let Some(ms) = ms {
            self.sinks.metrics.take_time(MetricName::ToolCallSeconds, &labels[..1], ms);
        }
        let is_fine = matches!(outcome, Outcome::Done | Outcome::Refused | Outcome::Cancelled);
        let level = if is_fine { LogLevel::Info } else { LogLevel::Warn };
        let line = self.line(ts, level, "tool_ended").with("call", call_id).with("tool", tool);
        let line = line.with_some("ms", ms).with("outcome", &outcome_word);
        self.tell(&line.with("bytes", bytes));
        if !self.sinks.has_spans() {
            return;
        }
        let error = (outcome != Outcome::Done).then_some(outcome_word);
        let mut attributes = vec![
            ("gen_ai.operation.name", SpanValue::from("execute_tool")),
            ("gen_ai.tool.name", SpanValue::from(tool)),
            ("gen_ai.tool.type", SpanValue::from("function")),
            ("gen_ai.tool.call.id", SpanValue::Text(call_id.to_string())),
            conversation(self.id),
        ];
        attributes.extend(error_attribute(error.as_ref()));
        let (trace_id, parent) = self.trace(call_id.answer);
        self.sinks.span(TraceSpan {
            trace_id,
            span_id: call_span_id(call_id),
            parent,
            name: format!("execute_tool {tool}"),
            kind: SpanKind::Internal,
            // A call that was refused before it was judged took no time.
            start: since.unwrap_or(ts),
            end: ts,
            attributes,
            error,
        });
    }

    /// The trace of the open turn; without one, of a request that stands alone.
    fn trace(&self, request_id: EventId) -> (u128, Option<u64>) {
        match &self.session.turn {
            Some(turn) => (trace_id(turn.id), Some(span_id(turn.id))),
            None => (trace_id(request_id), None),
        }
    }

    fn line(&self, ts: u64, level: LogLevel, event: &str) -> LogLine {
        LogLine::new(ts, level, event).with("session", self.id)
    }

    fn tell(&mut self, line: &LogLine) {
        self.sinks.tell(self.id, line);
    }

    fn tell_plain(&mut self, ts: u64, event: &str) {
        let line = self.line(ts, LogLevel::Info, event);
        self.tell(&line);
    }
}

fn level_of(verdict: Verdict) -> LogLevel {
    if verdict == Verdict::Deny { LogLevel::Warn } else { LogLevel::Info }
}

fn kinds_of_tokens(usage: &Usage) -> [(&'static str, u64); 4] {
    [
        ("input", usage.input),
        ("output", usage.output),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
    ]
}

fn sum(one: &Usage, other: &Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        cache_read: one.cache_read.saturating_add(other.cache_read),
        cache_write: one.cache_write.saturating_add(other.cache_write),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests;
