//! Turns as streams: which chunks, in which order, with and without deltas.

use std::collections::BTreeSet;

use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::transcript::{Transcript, transcript};
use kith_vocab::block::Block;
use proptest::prelude::any;
use proptest::proptest;
use serde_json::Value;

use super::super::{FinishReason, project};
use super::*;
use crate::feed::RunningPart;
use crate::fixture;

fn stream() -> ChunkStream {
    let header = fixture::header(session_id());
    ChunkStream::new(&header.agent_id, &header.thread_id, header.session_id)
}

fn session_id() -> SessionId {
    SessionId::from_uuid(kith_testkit::clock::numbered_id(1, 1))
}

const DONE: StreamEnd = StreamEnd::Finish(FinishReason::Stop);

fn values(chunks: Vec<UiChunk>) -> Vec<Value> {
    chunks.into_iter().map(|chunk| serde_json::to_value(chunk).unwrap()).collect()
}

/// A chunk in a few words: its type and what it says.
fn in_words(chunk: &Value) -> String {
    let text = |key: &str| chunk.get(key).and_then(Value::as_str);
    let kind = text("type").unwrap();
    let said = ["delta", "inputTextDelta", "toolName", "errorText", "output", "finishReason"];
    let said = said.iter().find_map(|key| text(key)).or_else(|| chunk["data"]["text"].as_str());
    said.map_or_else(|| kind.to_owned(), |said| format!("{kind} {said}"))
}

fn outline(chunks: &[Value]) -> String {
    chunks.iter().map(in_words).collect::<Vec<_>>().join(" | ")
}

/// All chunks of a turn that is told by its events alone.
fn told(events: &[Event], end: StreamEnd) -> Vec<Value> {
    let mut stream = stream();
    let mut chunks: Vec<UiChunk> = events.iter().flat_map(|it| stream.event(it)).collect();
    chunks.extend(stream.end(end));
    values(chunks)
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let chunks = told(&transcript(line).events, DONE);
    check_order(&chunks);
    let outline = outline(&chunks);
    assert_eq!(outline.replace(" | message-metadata | finish stop", ""), expected);
}

#[test]
fn a_turn_without_deltas_is_told_by_its_events() {
    check(
        "user: hi | asked model | model: hello | ended done",
        "start | start-step | text-start | text-delta hello | text-end | finish-step",
    );
    check(
        "user: look | model: ok, read_file=c1 | free c1 | done c1 text | model: done | ended done",
        "start | start-step | text-start | text-delta ok | text-end | tool-input-available read_file \
         | tool-output-available text | finish-step | start-step | text-start | text-delta done \
         | text-end | finish-step",
    );
}

#[test]
fn an_approval_is_asked_denied_or_followed_by_its_output() {
    let asked = "user: go | model: ok, write_file=c1 | hold c1 | asked c1";
    let until_asked = "start | start-step | text-start | text-delta ok | text-end \
                       | tool-input-available write_file | tool-approval-request | data-approval";
    check(asked, &format!("{until_asked} | finish-step"));
    check(
        &format!("{asked} | deny c1 | refused c1 no"),
        &format!("{until_asked} | tool-output-denied | finish-step"),
    );
    check(
        &format!("{asked} | allow c1 | start c1 | fail c1 x"),
        &format!("{until_asked} | tool-output-error x | finish-step"),
    );
}

#[test]
fn failures_notices_and_reminders_are_data() {
    check(
        "user: hi | note be brief | asked model | failed network | notice gone | ended failed",
        "start | data-reminder be brief | data-error the model failed: network | data-notice gone \
         | data-turn-ended",
    );
    check(
        "user: hi | asked model | model: a, read_file=c1 | free c1 | done c1 x | steer left | ended cancelled",
        "start | start-step | text-start | text-delta a | text-end | tool-input-available read_file \
         | tool-output-available x | data-reminder left | data-turn-ended | finish-step",
    );
}

#[test]
fn after_an_answer_to_a_question_the_same_message_goes_on() {
    let script = transcript(
        "user: go | model: ok, write_file=c1 | hold c1 | asked c1 | allow c1 | start c1 | done c1 ok \
         | model: fine | ended done",
    );
    let whole = told(&script.events, DONE);
    let mut stream = stream();
    let n_known = script.events.iter().position(|it| it.body.type_name() == "approval_requested");
    let (known, rest) = script.events.split_at(n_known.unwrap() + 1);
    for event in known {
        stream.skip(event);
    }
    let mut chunks = stream.resume(known.last().unwrap());
    chunks.extend(rest.iter().flat_map(|it| stream.event(it)));
    chunks.extend(stream.end(DONE));
    let chunks = values(chunks);
    assert_eq!(chunks[0]["messageId"], whole[0]["messageId"]);
    assert_eq!(
        outline(&chunks),
        "start | tool-output-available ok | start-step | text-start | text-delta fine | text-end \
         | finish-step | message-metadata | finish stop"
    );
}

fn delta(script: &Transcript, answer: &str, block: u32, kind: DeltaKind, text: &str) -> FeedDelta {
    let request_id = script.event(answer);
    let is_call = matches!(kind, DeltaKind::ToolName | DeltaKind::ToolInput);
    FeedDelta {
        stream_seq: 1,
        request_id,
        block,
        call_id: is_call.then(|| request_id.call(0)),
        kind,
        text: text.to_owned(),
    }
}

#[test]
fn deltas_come_first_and_the_event_adds_what_they_left_out() {
    let script = transcript("user: hi | model#m1: hello world, read_file=c1 | free c1 | done c1 x");
    let say = |block, kind, text| delta(&script, "m1", block, kind, text);
    let mut stream = stream();
    let mut chunks = stream.event(&script.events[0]);
    chunks.extend(stream.delta(&say(0, DeltaKind::Text, "hel")));
    chunks.extend(stream.delta(&say(0, DeltaKind::Text, "lo")));
    chunks.extend(stream.delta(&say(1, DeltaKind::ToolName, "read_file")));
    chunks.extend(stream.delta(&say(1, DeltaKind::ToolInput, "{\"pa")));
    chunks.extend(script.events[1..].iter().flat_map(|it| stream.event(it)));
    // Late: the answer is there.
    chunks.extend(stream.delta(&say(0, DeltaKind::Text, "more")));
    chunks.extend(stream.end(DONE));
    let chunks = values(chunks);
    check_order(&chunks);
    assert_eq!(
        outline(&chunks),
        "start | start-step | text-start | text-delta hel | text-delta lo | text-end \
         | tool-input-start read_file | tool-input-delta {\"pa | text-start | text-delta  world \
         | text-end | tool-input-available read_file | tool-output-available x | finish-step \
         | message-metadata | finish stop"
    );
}

#[test]
fn a_client_that_comes_late_gets_what_was_said_so_far_once() {
    let script = transcript("user: hi | model#m1: hello world");
    let mut stream = stream();
    let mut chunks = stream.event(&script.events[0]);
    chunks.extend(stream.delta(&delta(&script, "m1", 0, DeltaKind::Text, "hel")));
    let (request_id, text) = (script.event("m1"), "hello".to_owned());
    let parts = vec![RunningPart { block: 0, call_id: None, kind: DeltaKind::Text, text }];
    let running = RunningAnswer { request_id, stream_seq: 5, parts, is_cut: false };
    chunks.extend(stream.running(&running));
    chunks.extend(stream.running(&running));
    chunks.extend(stream.event(&script.events[1]));
    assert_eq!(
        outline(&values(chunks)),
        "start | start-step | text-start | text-delta hel | text-delta lo | text-delta  world | text-end"
    );
}

#[test]
fn what_a_failed_request_had_said_is_closed() {
    let script = transcript(
        "user: hi | asked model | failed cut retry | asked model | model#m1: hello | ended done",
    );
    let failed = script.events.iter().position(|it| it.body.type_name() == "model_failed").unwrap();
    let Body::ModelFailed(failure) = &script.events[failed].body else { panic!() };
    let request_id = failure.request_id.unwrap();
    let piece = |block, kind, text: &str| FeedDelta {
        stream_seq: 1,
        request_id,
        block,
        call_id: (kind != DeltaKind::Text).then(|| request_id.call(0)),
        kind,
        text: text.to_owned(),
    };
    let mut stream = stream();
    let mut chunks: Vec<UiChunk> =
        script.events[..failed].iter().flat_map(|it| stream.event(it)).collect();
    chunks.extend(stream.delta(&piece(0, DeltaKind::Text, "he")));
    chunks.extend(stream.delta(&piece(1, DeltaKind::ToolName, "read_file")));
    chunks.extend(script.events[failed..].iter().flat_map(|it| stream.event(it)));
    chunks.extend(stream.delta(&piece(0, DeltaKind::Text, "late")));
    chunks.extend(stream.end(DONE));
    let chunks = values(chunks);
    check_order(&chunks);
    assert_eq!(
        outline(&chunks),
        "start | start-step | text-start | text-delta he | text-end | tool-input-start read_file \
         | tool-input-error read_file | data-error the model failed: cut | finish-step | start-step \
         | text-start | text-delta hello | text-end | finish-step | message-metadata | finish stop"
    );
}

/// What clients demand of the order: they give up the stream for one chunk out of place.
fn check_order(chunks: &[Value]) {
    let (mut open, mut calls, mut is_in_step) = (BTreeSet::new(), BTreeSet::new(), false);
    for (place, chunk) in chunks.iter().enumerate() {
        let kind = chunk["type"].as_str().unwrap();
        let id = chunk.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let call = chunk.get("toolCallId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_last = place + 1 == chunks.len();
        assert!(!chunk.as_object().unwrap().values().any(Value::is_null), "{chunk}");
        assert_eq!(kind == "start", place == 0 && kind == "start", "{chunk}");
        assert_eq!(matches!(kind, "finish" | "abort" | "error"), is_last, "{chunk}");
        match kind {
            "start-step" => assert!(!std::mem::replace(&mut is_in_step, true)),
            "finish-step" => {
                assert!(std::mem::take(&mut is_in_step) && open.is_empty(), "{chunk}");
            }
            "text-start" | "reasoning-start" => assert!(open.insert(id), "{chunk}"),
            "text-delta" | "reasoning-delta" => assert!(open.contains(&id), "{chunk}"),
            "text-end" | "reasoning-end" => assert!(open.remove(&id), "{chunk}"),
            "tool-input-start" | "tool-input-available" => drop(calls.insert(call)),
            _ if !call.is_empty() => assert!(calls.contains(&call), "{chunk}"),
            _ => (),
        }
    }
    assert!(open.is_empty() && !is_in_step);
}

/// The events of a log from its first lived message on.
fn from_first_message(log: &[Event]) -> &[Event] {
    let is_message = |it: &Event| it.is_lived() && matches!(it.body, Body::UserMessage(_));
    log.iter().position(is_message).map_or(&[], |place| &log[place..])
}

/// Pieces of an answer as a model would have sent them, some of them lost.
fn deltas_of(event: &Event, lost: u8) -> Vec<FeedDelta> {
    let Body::AssistantMessage(answer) = &event.body else { return Vec::new() };
    let mut deltas = Vec::new();
    for (block, it) in (0..).zip(&answer.message.content) {
        let (kind, call_id, text) = match it {
            Block::Text(it) => (DeltaKind::Text, None, it.text.to_string()),
            Block::Thinking(it) => (DeltaKind::Thinking, None, it.text.to_string()),
            Block::ToolCall(it) => (DeltaKind::ToolName, Some(it.call_id), it.tool.clone()),
            _ => continue,
        };
        let half = text.chars().take(text.chars().count() / 2).collect::<String>();
        let text = if kind == DeltaKind::ToolName { text } else { half };
        if block % 3 != u32::from(lost % 4) {
            deltas.push(FeedDelta {
                stream_seq: 1,
                request_id: event.id,
                block,
                call_id,
                kind,
                text,
            });
        }
    }
    deltas
}

proptest! {
    #![proptest_config(fixed_cases(300))]

    #[test]
    fn any_prefix_of_any_log_is_a_stream_that_clients_accept(
        log in any_event_log(60),
        n_events in 0_usize..60,
        lost in any::<u8>(),
    ) {
        let events = from_first_message(&log);
        let mut stream = stream();
        let mut chunks = Vec::new();
        for event in &events[..n_events.min(events.len())] {
            for delta in deltas_of(event, lost) {
                chunks.extend(stream.delta(&delta));
            }
            chunks.extend(stream.event(event));
        }
        // Cut off between the pieces of an answer, too.
        if let Some(next) = events.get(n_events) {
            chunks.extend(deltas_of(next, lost).iter().flat_map(|it| stream.delta(it)));
        }
        chunks.extend(stream.end(StreamEnd::Abort));
        check_order(&values(chunks));
    }

    #[test]
    fn what_a_stream_tells_is_what_the_log_shows(log in any_event_log(60)) {
        let events = from_first_message(&log);
        let header = fixture::header(session_id());
        let mut projection = Projection::new(&header);
        for event in events {
            projection.take(event);
        }
        if projection.needs_full_read() {
            return Ok(());
        }
        let messages = project(&header, events.iter().cloned());
        let chunks = told(events, DONE);
        let Some(id) = chunks[0].get("messageId") else { return Ok(()) };
        let reply = messages.iter().find(|it| serde_json::json!(it.id) == *id);
        let parts = reply.map(|it| it.parts.clone()).unwrap_or_default();
        let data = |part: &&MessagePart| {
            serde_json::to_value(part).unwrap()["type"].as_str().unwrap().starts_with("data-")
        };
        let shown: Vec<Value> =
            parts.iter().filter(data).map(|it| serde_json::to_value(it).unwrap()).collect();
        let is_data = |it: &&Value| it["type"].as_str().unwrap().starts_with("data-");
        let sent: Vec<Value> = chunks.iter().filter(is_data).cloned().collect();
        assert_eq!(sent, shown);
        let texts = |kind: &str| -> String {
            let told = chunks.iter().filter(|it| it["type"] == kind);
            told.filter_map(|it| it["delta"].as_str()).collect()
        };
        let shown: String = parts.iter().filter_map(|it| match it {
            MessagePart::Text { text } => Some(text.to_string()),
            _ => None,
        }).collect();
        assert_eq!(texts("text-delta"), shown);
    }
}
