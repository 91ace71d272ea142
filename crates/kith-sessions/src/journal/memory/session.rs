//! One session of a journal in memory.

use std::collections::BTreeSet;
use std::fs;

use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::tool::SpillFile;

use crate::blob::BLOB_BYTES_MAX;
use crate::damage::{Damage, DamageCode, Flaw};
use crate::journal::{Batch, Cursor, NewBlob};
use crate::line::{EncodedBatch, LineHash, LogHead, encode_batch, encode_header};
use crate::read::{Reading, Tail};
use crate::storage::{StorageError, StorageErrorKind, kind_of_io, words_of};
use crate::store::remove::each_hash;
use crate::texts::LongText;
use crate::validator::{EventValidator, OlderIds};

#[derive(Debug)]
pub(super) struct MemorySession {
    header: SessionHeader,
    header_bytes: u64,
    events: Vec<Event>,
    /// Of each event's line.
    hashes: Vec<LineHash>,
    batches: Vec<BatchEnd>,
    validator: EventValidator,
    older_ids: OlderIds,
    /// Everything in its lines that has the form of a blob's name.
    named: BTreeSet<String>,
    pub(super) is_open: bool,
}

#[derive(Clone, Copy, Debug)]
struct BatchEnd {
    seq: u64,
    /// The length of the log up to here.
    len: u64,
}

/// The texts and outputs that a batch put into blobs.
pub(super) type BatchBlobs = (Vec<LongText>, Vec<(String, Vec<u8>)>);

impl MemorySession {
    pub(super) fn new(header: SessionHeader) -> Result<MemorySession, StorageError> {
        let (bytes, hash) =
            encode_header(&header).map_err(|flaw| refused_header(header.session_id, &flaw))?;
        Ok(MemorySession {
            header,
            header_bytes: bytes.len() as u64,
            events: Vec::new(),
            hashes: Vec::new(),
            batches: Vec::new(),
            validator: EventValidator::after_header(hash),
            older_ids: OlderIds::new(),
            named: BTreeSet::new(),
            is_open: false,
        })
    }

    pub(super) fn header(&self) -> &SessionHeader {
        &self.header
    }

    pub(super) fn head(&self) -> Option<LogHead> {
        self.validator.head()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.batches.last().map_or(self.header_bytes, |it| it.len)
    }

    pub(super) fn named(&self) -> &BTreeSet<String> {
        &self.named
    }

    pub(super) fn find(&self, id: EventId) -> Option<Event> {
        self.events.iter().find(|event| event.id == id).cloned()
    }

    /// Takes the batch in, or leaves everything as it was.
    pub(super) fn append(&mut self, batch: Batch) -> Result<BatchBlobs, StorageError> {
        let Batch { events, blobs } = batch;
        if events.is_empty() {
            return Ok(BatchBlobs::default());
        }
        let id = self.header.session_id;
        let before = self.validator.marks();
        self.validator
            .admit_all(&events, &self.older_ids)
            .map_err(|refused| refused_event(id, refused))?;
        let encoded = encode_batch(&events, before.last_hash())
            .map_err(|refused| refused_event(id, refused))
            .and_then(|encoded| {
                let new_blobs = blobs.iter().map(bytes_of).collect::<Result<Vec<_>, _>>()?;
                Ok((encoded, new_blobs))
            });
        let (EncodedBatch { bytes, hash, long_texts, .. }, new_blobs) = match encoded {
            Ok(encoded) => encoded,
            Err(error) => {
                self.validator.forget(before, events.len());
                return Err(error);
            }
        };
        for new_blob in &blobs {
            if let NewBlob::File(spill) = new_blob {
                // What is left lies in a folder for temporary files and harms nothing.
                fs::remove_file(&spill.path).ok();
            }
        }
        self.validator.set_last_hash(hash);
        let older_ids = &mut self.older_ids;
        self.validator.evict(&mut |id, kind| {
            older_ids.insert(id, kind);
        });
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        self.hashes.extend(lines.map(LineHash::of));
        // Reading from memory does not fail.
        each_hash(&mut &bytes[..], &mut |hash| {
            self.named.insert(hash.to_owned());
        })
        .unwrap_or_default();
        let len = self.bytes() + bytes.len() as u64;
        self.events.extend(events);
        self.batches.push(BatchEnd { seq: self.events.len() as u64, len });
        Ok((long_texts, new_blobs))
    }

    /// The damage if the desk knows this head and the log lacks it. No other damage is possible.
    pub(super) fn damage(&self, head: Option<LogHead>) -> Option<Damage> {
        let LogHead { seq, hash } = head?;
        let n_events = self.events.len();
        let place = usize::try_from(seq).unwrap_or(usize::MAX);
        match self.hashes.get(place.checked_sub(1)?) {
            Some(found) if *found == hash => None,
            Some(found) => {
                let detail = format!("its hash is {found}, expected {hash}");
                Some(Damage { line: place + 1, code: DamageCode::BrokenChain, detail })
            }
            None => {
                let detail = format!(
                    "events up to {seq} were acknowledged, but only {n_events} can be read"
                );
                Some(Damage { line: n_events + 2, code: DamageCode::LostTail, detail })
            }
        }
    }

    /// Whether the cursor is a place between two batches of this log, and none that the desk denies.
    pub(super) fn fits(&self, cursor: &Cursor, head: Option<LogHead>) -> bool {
        let LogHead { seq, hash } = cursor.head;
        let place = usize::try_from(seq).ok().and_then(|it| it.checked_sub(1));
        let is_denied = head.is_some_and(|it| it.seq == seq && it.hash != hash);
        self.batches.iter().any(|it| it.seq == seq)
            && place.and_then(|place| self.hashes.get(place)) == Some(&hash)
            && !is_denied
    }

    /// The events after `after_seq` that stand before the damage.
    pub(super) fn readable(
        &self,
        damage: Option<&Damage>,
        after_seq: u64,
    ) -> (Reading, Vec<Event>) {
        // A line that is not what was acknowledged takes its whole batch with it.
        let is_good = |it: &&BatchEnd| match damage {
            Some(Damage { line, code: DamageCode::BrokenChain, .. }) => it.seq + 1 < *line as u64,
            _ => true,
        };
        let end = self.batches.iter().take_while(is_good).last();
        let last_seq = end.map_or(0, |it| it.seq);
        let good = usize::try_from(last_seq).unwrap_or(usize::MAX);
        let hash = good.checked_sub(1).and_then(|place| self.hashes.get(place));
        let events: Vec<Event> =
            self.events.iter().take(good).filter(|it| it.seq > after_seq).cloned().collect();
        let reading = Reading {
            header: self.header.clone(),
            events: events.len() as u64,
            head: hash.map(|&hash| LogHead { seq: last_seq, hash }),
            good_len: end.map_or(self.header_bytes, |it| it.len),
            newline_missing: false,
            tail: damage.map_or(Tail::Clean, |damage| Tail::Damaged(damage.clone())),
        };
        (reading, events)
    }
}

/// The bytes of a new blob under their hash.
fn bytes_of(new_blob: &NewBlob) -> Result<(String, Vec<u8>), StorageError> {
    let bytes = match new_blob {
        NewBlob::Bytes(bytes) => {
            check_size(bytes.len() as u64)?;
            bytes.clone()
        }
        NewBlob::File(SpillFile { path, sha256, bytes }) => {
            check_size(*bytes)?;
            let failed = |error: &std::io::Error| words_of(kind_of_io(error), error);
            let found = fs::read(path).map_err(|error| failed(&error))?;
            if found.len() as u64 != *bytes || sha256_hex(&found) != *sha256 {
                let message =
                    format!("cannot store `{}` as a blob: it is not as announced", path.display());
                return Err(StorageError::new(StorageErrorKind::Refused, message));
            }
            found
        }
    };
    Ok((sha256_hex(&bytes), bytes))
}

fn check_size(bytes: u64) -> Result<(), StorageError> {
    if bytes <= BLOB_BYTES_MAX {
        return Ok(());
    }
    let message = format!("a blob would have {bytes} bytes, and the maximum is {BLOB_BYTES_MAX}");
    Err(StorageError::new(StorageErrorKind::LimitReached, message))
}

pub(super) fn refused_header(id: SessionId, flaw: &Flaw) -> StorageError {
    let message = format!("session `{id}` cannot have this header: {flaw}");
    StorageError::new(StorageErrorKind::Refused, message)
}

fn refused_event(id: SessionId, (seq, flaw): (u64, Flaw)) -> StorageError {
    let message = format!("cannot write event {seq} to session `{id}`: {flaw}");
    StorageError::new(StorageErrorKind::Refused, message)
}
