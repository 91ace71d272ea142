//! A session file to be hurt, and what must be found of it afterwards.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kith_sessions::damage::DamageCode;
use kith_sessions::line::LogHead;
use kith_sessions::read::{ReadError, Tail, read_events};
use kith_sessions::store::SessionStore;
use kith_testkit::clock::{START, numbered_id};
use kith_testkit::files::MemoryFiles;
use kith_testkit::samples::sample_events;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};

use super::house;

pub(crate) const DIR: &str = "/house/.kith";

pub(crate) struct Specimen {
    pub(crate) header: SessionHeader,
    pub(crate) bytes: Vec<u8>,
    pub(crate) events: Vec<Event>,
    /// Where each batch ends, in bytes; first comes the end of the header.
    pub(crate) ends: Vec<usize>,
    /// How many events there are up to the end of each.
    pub(crate) n_events: Vec<usize>,
    /// What the desk would know at the end of each; nothing after the header.
    pub(crate) heads: Vec<Option<LogHead>>,
}

/// What reading a hurt file came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// All of it, as it was.
    Whole,
    /// All but the last batch, and the rest named a torn tail.
    Torn,
    Named(DamageCode),
    /// A history that did not happen, taken for a good one.
    Altered(String),
    Panicked,
}

pub(crate) fn session_id() -> SessionId {
    SessionId::from_uuid(numbered_id(START, 1 << 50))
}

pub(crate) fn notice(seq: u64, text: &str) -> Event {
    let notice = Notice { text: text.into(), level: Level::Info, about: None };
    Event {
        seq,
        id: EventId::from_uuid(numbered_id(START, (1 << 51) + seq)),
        ts: START + seq,
        client_id: "torture".to_owned(),
        ingress_key: None,
        parent_id: None,
        source_tag: None,
        body: Body::Notice(notice),
    }
}

/// Every type of event that a session may hold, in batches of different sizes; then so many
/// batches of notices; and a last batch of several pages.
pub(crate) fn specimen(n_more_batches: u64) -> Specimen {
    let mut events = all_types();
    let mut batches: Vec<Vec<Event>> = Vec::new();
    for size in [2, 1, 5, 3, 1, 7].into_iter().cycle() {
        let rest = events.split_off(size.min(events.len()));
        batches.push(std::mem::replace(&mut events, rest));
        if events.is_empty() {
            break;
        }
    }
    let mut seq = batches.iter().flatten().count() as u64;
    let mut next = |text: &str| {
        seq += 1;
        notice(seq, text)
    };
    for n in 0..n_more_batches {
        batches.push(vec![next(&format!("batch {n} ").repeat(20)), next("and its end")]);
    }
    batches.push(vec![next("last but one"), next("of three"), next("你好")]);
    batches.push((0..6).map(|n| next(&format!("page {n} ").repeat(300))).collect());
    written(&batches)
}

fn written(batches: &[Vec<Event>]) -> Specimen {
    let files = MemoryFiles::new();
    let store = SessionStore::new(Arc::new(files.clone()), DIR.as_ref());
    let mut header = house::header(session_id(), "cli:room:torture");
    header.created_at = START;
    let mut log = store.create(&header, &batches[0]).expect("a session can be made");
    let whole = files.contents(log.path()).expect("the file is there");
    let end_of_header = whole.iter().position(|&byte| byte == b'\n').expect("a header ends") + 1;
    let mut ends = vec![end_of_header, whole.len()];
    let mut heads = vec![None, log.head()];
    let mut n_events = vec![0, batches[0].len()];
    for batch in &batches[1..] {
        log.append(batch).expect("a good batch is taken");
        ends.push(usize::try_from(log.byte_len()).expect("the file is small"));
        heads.push(log.head());
        n_events.push(n_events.last().copied().unwrap_or_default() + batch.len());
    }
    let bytes = files.contents(log.path()).expect("the file is there");
    Specimen { header, bytes, events: batches.concat(), ends, n_events, heads }
}

/// A session has one snapshot of each kind, before it asks a model.
fn all_types() -> Vec<Event> {
    let mut seen = (false, false);
    let mut events = sample_events();
    events.retain(|event| match &event.body {
        Body::InstructionSnapshot(_) => !std::mem::replace(&mut seen.0, true),
        Body::ToolsetSnapshot(_) => !std::mem::replace(&mut seen.1, true),
        _ => true,
    });
    for (seq, event) in (1..).zip(&mut events) {
        event.seq = seq;
    }
    events
}

impl Specimen {
    pub(crate) fn n_batches(&self) -> usize {
        self.ends.len() - 1
    }

    pub(crate) fn last_head(&self) -> Option<&LogHead> {
        self.heads.last().and_then(Option::as_ref)
    }

    /// Reads the bytes in place of the file, as a host would that knows `head`.
    pub(crate) fn read(&self, bytes: &[u8], head: Option<&LogHead>) -> Found {
        let bytes = bytes.to_vec();
        catch_unwind(AssertUnwindSafe(|| self.judge(bytes, head))).unwrap_or(Found::Panicked)
    }

    fn judge(&self, bytes: Vec<u8>, head: Option<&LogHead>) -> Found {
        let (mut n_found, mut n_wrong) = (0, 0);
        let reading = read_events(Box::new(Cursor::new(bytes)), head, &mut |event| {
            n_wrong += usize::from(self.events.get(n_found) != Some(&event));
            n_found += 1;
        });
        let reading = match reading {
            Ok(reading) => reading,
            Err(ReadError::Damaged(damage)) => return Found::Named(damage.code),
            Err(ReadError::Io(error)) => return Found::Altered(error.to_string()),
        };
        if n_wrong > 0 || reading.header != self.header {
            return Found::Altered(format!("{n_wrong} events differ"));
        }
        let last = self.n_batches();
        match reading.tail {
            Tail::Damaged(damage) => Found::Named(damage.code),
            Tail::Clean if n_found == self.events.len() => Found::Whole,
            Tail::Torn { .. } if n_found == self.n_events[last - 1] && head != self.last_head() => {
                Found::Torn
            }
            tail => Found::Altered(format!("{n_found} events and {tail:?}")),
        }
    }
}
