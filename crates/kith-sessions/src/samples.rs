//! Sessions for tests: small ones, and one that holds every type of event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kith_testkit::samples::sample_events;
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
        content: IngressContent::text(text),
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

/// One event of every type with everything it may hold, in an order that a session may have.
pub(crate) fn every_type() -> Vec<Event> {
    sample_events().into_iter().take(Body::TYPES.len()).collect()
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
