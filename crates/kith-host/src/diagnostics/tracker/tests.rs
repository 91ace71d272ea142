//! What is told of a turn, from its records.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kith_sessions::diagnostic_log::{LogName, LogWriter};
use kith_vocab::event::models::{FailureKind, Wire};

use super::*;
use crate::diagnostics::metrics::HouseMetrics;

fn session() -> SessionId {
    "0198a0b1-c2d3-7e4f-8a5b-000000000001".parse().unwrap()
}

fn event_id(n: u8) -> EventId {
    format!("0198a0b1-c2d3-7e4f-8a5b-0000000000{n:02x}").parse().unwrap()
}

fn requested(n: u8) -> EventFact {
    EventFact::Requested(RequestFact {
        request_id: event_id(n),
        purpose: Purpose::Turn,
        provider: "openai".to_owned(),
        wire: Wire::OpenaiChat,
        model: "gpt".to_owned(),
        bytes: 900,
    })
}

fn answered(n: u8, stop: StopReason, calls: usize) -> EventFact {
    let usage = Some(Usage { input: 10, output: 5, cache_read: 4, ..Usage::default() });
    EventFact::Answered { request_id: Some(event_id(n)), stop, calls, usage }
}

/// The lines of the facts, at one time each, 100 ms apart; without what every line has.
fn lines(kith_dir: &Path, facts: Vec<EventFact>) -> (String, Arc<HouseMetrics>) {
    let metrics = Arc::new(HouseMetrics::default());
    let writer = LogWriter::in_folder(kith_dir);
    let mut sinks = DiagnosticSinks::new(Arc::clone(&metrics), Some(writer), None);
    let mut tracker = SessionTracker::default();
    let times = (0..).map(|n| 1_794_744_000_000 + 100 * n);
    let events = facts.into_iter().zip(times);
    let events: Vec<LoggedEvent> =
        events.map(|(fact, ts)| LoggedEvent { ts, id: event_id(0xf0), fact }).collect();
    let n_events = events.len();
    let record = SessionRecord::Appended { agent_id: Some("main".to_owned()), n_events, events };
    tracker.take(0, session(), record, &mut sinks);
    sinks.write();
    let text = fs::read_to_string(LogName::Session(session()).path(kith_dir)).unwrap();
    let short = |line: &str| {
        let (_, rest) = line.split_once(" level=").unwrap();
        rest.replace("0198a0b1-c2d3-7e4f-8a5b-0000000000", "#").replace("session=#01 ", "")
    };
    (text.lines().map(short).collect::<Vec<_>>().join("\n"), metrics)
}

#[test]
fn a_turn_is_told_with_its_requests_calls_and_times() {
    let dir = tempfile::tempdir().unwrap();
    let call_id = event_id(1).call(0);
    let (told, metrics) = lines(
        dir.path(),
        vec![
            EventFact::TurnStarted { model: "gpt".to_owned(), attended: true },
            requested(1),
            answered(1, StopReason::ToolCall, 1),
            EventFact::Judged {
                call_id,
                tool: "exec_shell",
                effect: kith_vocab::event::calls::Effect::Exec,
                verdict: Verdict::Allow,
            },
            EventFact::ToolStarted { call_id },
            EventFact::ToolEnded {
                call_id,
                tool: "exec_shell",
                outcome: Outcome::Failed,
                bytes: 7,
            },
            requested(2),
            EventFact::ModelFailed(ModelFailureFact {
                request_id: Some(event_id(2)),
                kind: FailureKind::Timeout,
                attempt: 1,
                retry_at: Some(1_794_744_001_200),
                falls_back: false,
                usage: None,
            }),
            requested(3),
            EventFact::TurnEnded { end: EndReason::Cancelled, bound: None, steps: 3, usage: None },
        ],
    );
    check_lines(
        &told,
        &[
            "info event=turn_started turn=#f0 agent=main model=gpt attended=true",
            "info event=model_asked request=#01 provider=openai model=gpt purpose=turn bytes=900",
            "info event=model_ended request=#01 model=gpt ms=100 outcome=done stop=tool_call calls=1 \
         input=10 output=5 cache_read=4 cache_write=0",
            "info event=call_judged call=0198a0b1c2d37e4f8a5b000000000001_0 tool=exec_shell effect=exec \
         verdict=allow",
            "info event=tool_started call=0198a0b1c2d37e4f8a5b000000000001_0 tool=exec_shell",
            "warn event=tool_ended call=0198a0b1c2d37e4f8a5b000000000001_0 tool=exec_shell ms=100 \
         outcome=failed bytes=7",
            "info event=model_asked request=#02 provider=openai model=gpt purpose=turn bytes=900",
            "warn event=model_ended request=#02 model=gpt ms=100 outcome=timeout",
            "warn event=model_failed request=#02 error=timeout attempt=1 retry_in_ms=500 \
         falls_back=false",
            "info event=model_asked request=#03 provider=openai model=gpt purpose=turn bytes=900",
            "info event=model_ended request=#03 model=gpt ms=100 outcome=cancelled",
            "info event=turn_ended turn=#f0 outcome=cancelled steps=3 ms=900",
        ],
    );
    let host = fs::read_to_string(LogName::Host.path(dir.path())).unwrap();
    assert_eq!(host.lines().count(), 3, "warnings stand in the host's log too:\n{host}");
    let samples = crate::diagnostics::metrics::tests::samples(&metrics.text());
    let is = |series: &str, n: &str| {
        assert_eq!(samples.get(series).map(String::as_str), Some(n), "{series}");
    };
    is("kith_turns_started_total", "1");
    is("kith_turns_ended_total{end=\"cancelled\"}", "1");
    is("kith_model_requests_total{model=\"gpt\",outcome=\"done\"}", "1");
    is("kith_model_requests_total{model=\"gpt\",outcome=\"timeout\"}", "1");
    is("kith_model_requests_total{model=\"gpt\",outcome=\"cancelled\"}", "1");
    is("kith_model_tokens_total{model=\"gpt\",kind=\"cache_read\"}", "4");
    is("kith_tool_calls_total{tool=\"exec_shell\",outcome=\"failed\"}", "1");
    is("kith_log_events_total", "10");
    is("kith_turn_seconds_sum", "0.900");
}

#[track_caller]
fn check_lines(told: &str, expected: &[&str]) {
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_removed_session_leaves_neither_log_nor_waiting_lines() {
    let dir = tempfile::tempdir().unwrap();
    let writer = LogWriter::in_folder(dir.path());
    let mut sinks = DiagnosticSinks::new(Arc::default(), Some(writer), None);
    let mut tracker = SessionTracker::default();
    let opened = || SessionRecord::Opened { events: 1, torn_bytes: None };
    tracker.take(0, session(), opened(), &mut sinks);
    sinks.write();
    assert!(LogName::Session(session()).path(dir.path()).exists());
    tracker.take(0, session(), opened(), &mut sinks);
    tracker.take(0, session(), SessionRecord::Removed, &mut sinks);
    sinks.write();
    assert!(!LogName::Session(session()).path(dir.path()).exists());
    assert!(!LogName::Host.path(dir.path()).exists(), "nor a word of it elsewhere");
}

#[test]
fn sessions_and_calls_are_known_within_bounds() {
    let mut sinks = DiagnosticSinks::new(Arc::default(), None, None);
    let mut tracker = SessionTracker::default();
    for n in 0..TRACKED_SESSIONS_MAX + 10 {
        let id: SessionId = format!("0198a0b1-c2d3-7e4f-8a5b-{n:012x}").parse().unwrap();
        let fact = EventFact::TurnStarted { model: "m".to_owned(), attended: false };
        let events = vec![LoggedEvent { ts: 1, id: event_id(1), fact }];
        let record = SessionRecord::Appended { agent_id: None, n_events: 1, events };
        tracker.take(0, id, record, &mut sinks);
    }
    assert_eq!(tracker.sessions.len(), TRACKED_SESSIONS_MAX);
    let judged = |n| EventFact::Judged {
        call_id: event_id(1).call(n),
        tool: "skill",
        effect: kith_vocab::event::calls::Effect::Read,
        verdict: Verdict::Allow,
    };
    let events = (0..300).map(|n| LoggedEvent { ts: 1, id: event_id(1), fact: judged(n) });
    let record =
        SessionRecord::Appended { agent_id: None, n_events: 300, events: events.collect() };
    tracker.take(0, session(), record, &mut sinks);
    assert_eq!(tracker.sessions[&session()].calls.len(), TRACKED_CALLS_MAX);
}
