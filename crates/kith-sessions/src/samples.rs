//! Sessions for tests: small ones, and one that holds every type of event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::event::messages::{Author, IngressRef, Trust};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};
use uuid::Uuid;

use crate::line::{LineHash, encode_batch, encode_header};
use crate::texts::INLINE_TEXT_BYTES_MAX;

pub(crate) const NOW: u64 = 1_763_251_200_000;

const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(crate) fn event_id(n: u64) -> EventId {
    format!("019a8a00-0000-7000-8000-{n:012x}").parse().unwrap()
}

pub(crate) fn session_id(n: u64) -> SessionId {
    format!("019a8a00-0000-7000-9000-{n:012x}").parse().unwrap()
}

pub(crate) fn header(n: u64) -> SessionHeader {
    SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id: session_id(n),
        agent_id: "ada".to_owned(),
        device_id: "019a8a00-0000-7000-a000-000000000001".to_owned(),
        created_at: NOW,
        thread_id: "cli:room:main".parse().unwrap(),
        audience: Audience::Owner,
        cwd: "/home/ada/notes".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    }
}

/// An event of the given body; ids are the numbers, control events have no parent.
pub(crate) fn event(seq: u64, parent: Option<u64>, body: &str) -> Event {
    let body: Body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{body}: {error}"));
    Event {
        seq,
        id: event_id(seq),
        ts: NOW + seq,
        client_id: "cli".to_owned(),
        ingress_key: None,
        parent_id: parent.filter(|_| body.is_tree()).map(event_id),
        source_tag: None,
        body,
    }
}

pub(crate) fn notice(seq: u64, text: &str) -> Event {
    event(seq, None, &format!(r#"{{"type":"notice","text":"{text}","level":"info"}}"#))
}

pub(crate) fn user(seq: u64, parent: Option<u64>, text: &str) -> Event {
    let body = format!(
        r#"{{"type":"user_message","message":{{"content":[{{"type":"text","text":"{text}"}}]}},"author":{{"userId":"u1","displayName":"Ada"}},"trust":"owner"}}"#
    );
    event(seq, parent, &body)
}

/// A message for the inbox.
pub(crate) fn said(key: &str, text: &str) -> IngressEvent {
    IngressEvent {
        key: key.to_owned(),
        agent_id: "ada".to_owned(),
        thread_id: "telegram:group:42".parse().unwrap(),
        audience: Audience::Shared,
        client_id: "telegram".to_owned(),
        author: Author { user_id: "u1".to_owned(), display_name: "Ada".to_owned() },
        trust: Trust::Owner,
        ingress: IngressRef {
            platform: "telegram".to_owned(),
            account: "bot".to_owned(),
            message_id: key.to_owned(),
            correlation_id: "c-1".to_owned(),
        },
        ts: NOW,
        cwd: "/home/ada".to_owned(),
        expected_leaf: None,
        running_behavior: RunningBehavior::FollowUp,
        models: Vec::new(),
        attended: true,
        language: None,
        content: IngressContent::Text { text: text.to_owned() },
    }
}

/// A text that does not fit into a line, of one letter that tells it from others.
pub(crate) fn long(letter: char) -> String {
    letter.to_string().repeat(INLINE_TEXT_BYTES_MAX + 1)
}

/// Four batches of 1, 3, 1 and 2 events.
pub(crate) fn small_session() -> Vec<Vec<Event>> {
    vec![
        vec![notice(1, "begins")],
        vec![user(2, None, "你好"), notice(3, "a"), user(4, Some(2), "again")],
        vec![notice(5, "between")],
        vec![notice(6, "last but one"), user(7, Some(4), "last")],
    ]
}

/// The bytes of a session of these batches, and where header and batches end.
pub(crate) fn file_of(batches: &[Vec<Event>]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut hash) = encode_header(&header(1)).unwrap();
    let mut ends = vec![bytes.len()];
    for batch in batches {
        let encoded = encode_batch(batch, hash).unwrap();
        bytes.extend_from_slice(&encoded.bytes);
        ends.push(bytes.len());
        hash = encoded.hash;
    }
    (bytes, ends)
}

/// A line with any JSON in it, chained and summed as if we had written it.
pub(crate) fn forged_line(json: &str, prev: LineHash) -> Vec<u8> {
    let mut line = format!("{},\"prev\":\"{prev}\"", json.strip_suffix('}').unwrap()).into_bytes();
    let crc = crc32c::crc32c(&line);
    line.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
    line
}

/// One event of every type, in an order that a session may have.
pub(crate) fn every_type() -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for (seq, body) in (1..).zip(every_body()) {
        let parent = events.iter().rev().find(|it| it.is_tree()).map(|it| it.seq);
        let mut event = event(seq, parent, &body);
        if event.body.type_name() == "user_message" {
            event.ingress_key = Some("cli:main:m-1".to_owned());
        }
        events.push(event);
    }
    events
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn every_body() -> Vec<String> {
    let answer = 7;
    let call = event_id(answer).call(0);
    let sections: Vec<String> =
        ["baseline", "agents", "memory", "workspace", "environment", "time"]
            .iter()
            .map(|kind| {
                format!(r#"{{"kind":"{kind}","frozenAt":{NOW},"renderedBlock":"About {kind}."}}"#)
            })
            .collect();
    let author = r#"{"userId":"u1","displayName":"Ada"}"#;
    let ingress = r#"{"platform":"cli","account":"main","messageId":"m-1","correlationId":"c-1"}"#;
    let usage = r#"{"input":1200,"output":40,"cacheRead":1000,"cacheWrite":0,"costMicros":215}"#;
    let skill = format!(
        r#"{{"name":"tidy","displayName":"Tidy","description":"Sorts notes.","path":"skills/tidy/SKILL.md","scope":"home","sha256":"{HASH}"}}"#
    );
    let model = r#"{"name":"large","provider":"lab","wire":"anthropic","model":"m-large","endpoint":"0123456789abcdef"}"#;
    let (user, request) = (event_id(3), event_id(answer));
    let session = session_id(9);
    vec![
        format!(
            r#"{{"type":"instruction_snapshot","snapshot":{{"version":1,"cwd":"/home/ada/notes","sections":[{}]}}}}"#,
            sections.join(",")
        ),
        format!(
            r#"{{"type":"toolset_snapshot","tools":[{{"name":"read_file","description":"Reads a file.","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string"}}}}}}}}],"sha256":"{HASH}"}}"#
        ),
        format!(
            r#"{{"type":"user_message","message":{{"content":[{{"type":"text","text":"看看 notes.md"}},{{"type":"image","mediaType":"image/png","blob":"{HASH}","bytes":3}}]}},"author":{author},"trust":"owner","ingress":{ingress}}}"#
        ),
        r#"{"type":"turn_started","limits":{"steps":50,"repeats":5,"wallMs":3600000},"contextWindow":200000,"model":"m-large","language":"zh","attended":true,"models":[{"name":"large","provider":"lab","wire":"anthropic","model":"m-large","endpoint":"0123456789abcdef"}]}"#.to_owned(),
        r#"{"type":"harness_item","item":{"kind":"date_change","origin":"system","content":"Today is 2025-11-16.","visibility":"compact","data":{"date":"2025-11-16"}},"trust":"owner"}"#.to_owned(),
        format!(
            r#"{{"type":"model_requested","requestId":"{request}","purpose":"turn","provider":"lab","wire":"anthropic","model":"m-large","parameters":{{"max_tokens":4096,"temperature":1.0}},"rendererVersion":1,"bodySha256":"{HASH}","bodyBytes":5120,"reserved":{{"tokens":6000}}}}"#
        ),
        format!(
            r#"{{"type":"assistant_message","requestId":"{request}","message":{{"content":[{{"type":"thinking","text":"It wants a file.","signature":"c2ln"}},{{"type":"text","text":"I look."}},{{"type":"tool_call","callId":"{call}","providerCallId":"toolu_1","tool":"read_file","input":{{"path":"notes.md"}}}}]}},"provider":"lab","model":"m-large","usage":{usage},"stopReason":"tool_call"}}"#
        ),
        format!(
            r#"{{"type":"call_judged","callId":"{call}","tool":"read_file","effect":"read","verdict":"ask","reason":"outside the folder","sandbox":"none","digest":"{HASH}","facts":{{"path":"notes.md"}}}}"#
        ),
        format!(
            r#"{{"type":"approval_requested","approvalId":"a-1","callId":"{call}","threadId":"cli:room:main","code":"K7","summary":"read notes.md","paths":["notes.md"],"digest":"{HASH}","risk":"reads a file","approvers":["u1"],"expiresAt":{}}}"#,
            NOW + 60_000
        ),
        format!(
            r#"{{"type":"approval_replied","text":"可以","author":{author},"ingress":{ingress},"verdict":"allow","approvals":["a-1"]}}"#
        ),
        r#"{"type":"approval_decided","approvalId":"a-1","decision":"allow","by":"u1","via":"words"}"#.to_owned(),
        format!(r#"{{"type":"tool_started","callId":"{call}","digest":"{HASH}"}}"#),
        format!(r#"{{"type":"delegated","callId":"{call}","sessionId":"{session}"}}"#),
        format!(
            r##"{{"type":"tool_result","callId":"{call}","tool":"read_file","content":[{{"type":"text","text":"# Notes\n"}}],"outcome":"done","trust":"untrusted","fullOutput":"{HASH}"}}"##
        ),
        r#"{"type":"model_failed","kind":"network","message":"`lab` could not be reached","attempt":1}"#.to_owned(),
        r#"{"type":"compact_requested","by":"u1"}"#.to_owned(),
        format!(
            r#"{{"type":"compact","requestId":"{request}","model":"m-large","usage":{usage},"summary":"Ada asked for notes.md.","ledger":{{"identifiers":["a-1"],"paths":["notes.md"],"openTasks":[]}},"firstKeptEventId":"{user}","tokensBefore":9000,"tokensAfter":700}}"#
        ),
        r#"{"type":"primed_record","record":{"role":"narrator","text":"It rains."}}"#.to_owned(),
        format!(r#"{{"type":"skill_index_snapshot","entries":[{skill}]}}"#),
        format!(r#"{{"type":"skill_index_delta","added":[],"changed":[{skill}],"removed":["old"]}}"#),
        format!(
            r#"{{"type":"queue_update","queue":"follow_up","items":[{{"id":"q-1","content":[{{"type":"text","text":"then sort them"}}],"createdAt":{NOW},"updatedAt":{NOW},"clientId":"cli","author":{author},"trust":"owner","ingress":{ingress},"ingressKey":"cli:main:m-2","models":[{model}]}}]}}"#
        ),
        format!(r#"{{"type":"leaf_moved","to":"{user}","reason":"branch"}}"#),
        r#"{"type":"session_title_updated","title":"Notes","source":"generated"}"#.to_owned(),
        r#"{"type":"cancel_requested","by":"u1"}"#.to_owned(),
        format!(r#"{{"type":"resumed","openCalls":["{call}"]}}"#),
        r#"{"type":"notice","text":"waiting for approval","level":"info","about":"a-1"}"#.to_owned(),
        r#"{"type":"turn_ended","reason":"cancelled","steps":1}"#.to_owned(),
        format!(
            r#"{{"type":"egress_intended","egressId":"e-1","of":"{request}","threadId":"cli:room:main","parts":[{{"text":"I look."}}]}}"#
        ),
        r#"{"type":"egress_settled","egressId":"e-1","outcome":"sent","platformMessageId":"m-2"}"#.to_owned(),
        r#"{"type":"log_repaired","tornBytes":17,"tornFile":"x.jsonl.torn-1"}"#.to_owned(),
    ]
}

/// A clock that stands still and counts its ids.
#[derive(Clone, Default)]
pub(crate) struct StillClock(Arc<AtomicU64>);

impl Clock for StillClock {
    fn now(&self) -> u64 {
        NOW + 1_000
    }

    fn new_id(&self) -> Uuid {
        event_id(0xf000 + self.0.fetch_add(1, Ordering::Relaxed)).as_uuid()
    }

    fn monotonic(&self) -> u64 {
        0
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}
