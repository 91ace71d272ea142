//! The blob of a session, cut, flipped, zeroed: the session must say so and never read another text.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use kith_sessions::read::Tail;
use kith_sessions::store::SessionStore;
use kith_testkit::files::MemoryFiles;
use kith_vocab::block::Block;
use kith_vocab::event::messages::{MessageContent, Trust, UserMessage};
use kith_vocab::event::{Body, Event};

use super::house::{self, owner};
use super::specimen::{DIR, Found, notice, session_id};
use super::tally::{Tally, each};

/// Just above what a line may hold by itself.
const TEXT_BYTES: usize = 65 * 1024;
const PAGE_BYTES: usize = 4096;

/// A session of three events, the second of which has its text in a blob.
pub(crate) struct BlobSpecimen {
    events: Vec<Event>,
    session: (PathBuf, Vec<u8>),
    blob: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl BlobSpecimen {
    pub(crate) fn new() -> BlobSpecimen {
        let files = MemoryFiles::new();
        let store = SessionStore::new(Arc::new(files.clone()), DIR.as_ref());
        let events = vec![notice(1, "begins"), long_message(2), notice(3, "ends")];
        let header = house::header(session_id(), "cli:room:torture");
        let mut log = store.create(&header, &events[..1]).expect("a session can be made");
        log.append(&events[1..2]).expect("a long text is taken");
        log.append(&events[2..]).expect("a batch is taken");
        let path = store.path(session_id());
        let session = files.contents(&path).expect("the session is there");
        let is_blob = |path: &PathBuf| path.parent().is_some_and(|it| it.ends_with("blobs"));
        let blob = files.paths().into_iter().find(is_blob).expect("the text is in a blob");
        let bytes = files.contents(&blob).expect("the blob is there");
        BlobSpecimen { events, session: (path, session), blob, bytes }
    }

    pub(crate) fn flips(&self) -> Tally {
        each(self.bytes.len(), |at, tally| {
            let mut bytes = self.bytes.clone();
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                tally.add(self.read(Some(&bytes)), || format!("bit {bit} of byte {at}"));
                bytes[at] ^= 1 << bit;
            }
        })
    }

    pub(crate) fn cuts(&self) -> Tally {
        let mut tally = each(self.bytes.len(), |len, tally| {
            tally.add(self.read(Some(&self.bytes[..len])), || format!("cut at {len}"));
        });
        tally.add(self.read(None), || "missing".to_owned());
        for from in (0..self.bytes.len()).step_by(PAGE_BYTES) {
            let mut bytes = self.bytes.clone();
            bytes[from..].iter_mut().take(PAGE_BYTES).for_each(|byte| *byte = 0);
            tally.add(self.read(Some(&bytes)), || format!("zeros from {from}"));
        }
        tally
    }

    /// Reads the session with these bytes in place of its blob.
    fn read(&self, blob: Option<&[u8]>) -> Found {
        catch_unwind(AssertUnwindSafe(|| self.judge(blob))).unwrap_or(Found::Panicked)
    }

    fn judge(&self, blob: Option<&[u8]>) -> Found {
        let files = MemoryFiles::new();
        let store = SessionStore::new(Arc::new(files.clone()), DIR.as_ref());
        files.write_raw(&self.session.0, &self.session.1);
        if let Some(bytes) = blob {
            files.write_raw(&self.blob, bytes);
        }
        let (mut n_found, mut n_wrong) = (0, 0);
        let reading = store.read(session_id(), None, &mut |event| {
            n_wrong += usize::from(self.events.get(n_found) != Some(&event));
            n_found += 1;
        });
        match reading.map(|it| it.tail) {
            _ if n_wrong > 0 => Found::Altered(format!("{n_wrong} events differ")),
            Ok(Tail::Damaged(damage)) => Found::Named(damage.code),
            Ok(Tail::Clean) if n_found == self.events.len() => Found::Whole,
            Ok(tail) => Found::Altered(format!("{n_found} events and {tail:?}")),
            Err(error) => Found::Altered(error.to_string()),
        }
    }
}

/// A message that no line holds. Each has a text of its own.
pub(crate) fn long_message(seq: u64) -> Event {
    let first = usize::try_from(seq).unwrap_or_default();
    let words: Vec<String> = (first..first + TEXT_BYTES / 8).map(|n| format!("{n:07}")).collect();
    let message = UserMessage {
        message: MessageContent { content: vec![Block::text(words.join(" "))], meta: None },
        author: owner(),
        trust: Trust::Owner,
        ingress: None,
        queue_item_id: None,
        primed: None,
    };
    Event { body: Body::UserMessage(message), ..notice(seq, "") }
}
