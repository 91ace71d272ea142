//! The journal in memory, for `session replay` and tests.
//!
//! Events are judged and hashed as if they were written to a file, so what this journal takes or
//! refuses is what the one in files does.

mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_vocab::blocking::blocking;
use kith_vocab::clock::Clock;
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};

use super::{
    Batch, Cursor, EachEvent, Journal, OpenedSession, RemovedSession, RepairedSession, fenced,
    in_use, not_found, not_open,
};
use crate::catalog::LogStamp;
use crate::damage::Damage;
use crate::line::LogHead;
use crate::read::IntactLine;
use crate::read::{Reading, Tail};
use crate::storage::{StorageError, StorageErrorKind, StorageFuture};
use crate::store::repair::{CopiedPart, ReadablePart};
use crate::texts::LongText;
use session::MemorySession;

const CURSOR_BYTES: &[u8] = b"memory";

/// A handle on a journal in memory; clones are the same journal.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    sessions: BTreeMap<SessionId, MemorySession>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl Contents {
    fn session(&self, id: SessionId) -> Result<&MemorySession, StorageError> {
        self.sessions.get(&id).ok_or_else(|| not_found(id))
    }

    fn check_absent(&self, id: SessionId) -> Result<(), StorageError> {
        if self.sessions.contains_key(&id) {
            let message = format!("session `{id}` already exists");
            return Err(StorageError::new(StorageErrorKind::Exists, message));
        }
        Ok(())
    }

    fn put_blobs(&mut self, texts: Vec<LongText>, new_blobs: Vec<(String, Vec<u8>)>) {
        let texts = texts.into_iter().map(|it| (it.sha256, it.text.into_bytes()));
        self.blobs.extend(texts.chain(new_blobs));
    }

    fn belongings(&self, id: SessionId) -> Result<RemovedSession, StorageError> {
        let session = self.session(id)?;
        let others = self.sessions.iter().filter(|(other, _)| **other != id);
        let others: BTreeSet<&String> = others.flat_map(|(_, other)| other.named()).collect();
        let own = session.named().iter().filter(|hash| !others.contains(hash));
        let mut removed =
            RemovedSession { parts: vec![format!("sessions/{id}.jsonl")], bytes: session.bytes() };
        for (hash, bytes) in own.filter_map(|hash| Some((hash, self.blobs.get(hash)?))) {
            removed.parts.push(format!("blobs/{hash}"));
            removed.bytes += bytes.len() as u64;
        }
        Ok(removed)
    }
}

impl MemoryJournal {
    pub(crate) fn stamp(&self, id: SessionId) -> Result<LogStamp, StorageError> {
        Ok(LogStamp { bytes: self.contents().session(id)?.bytes(), modified_ns: 0 })
    }

    pub(crate) fn stamps(&self) -> Vec<(SessionId, LogStamp)> {
        let contents = self.contents();
        let stamp = |session: &MemorySession| LogStamp { bytes: session.bytes(), modified_ns: 0 };
        contents.sessions.iter().map(|(id, session)| (*id, stamp(session))).collect()
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        // Sessions and blobs are put and taken whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create_now(
        &self,
        header: &SessionHeader,
        batches: Vec<Batch>,
    ) -> Result<Option<LogHead>, StorageError> {
        let id = header.session_id;
        self.contents().check_absent(id)?;
        let mut session = MemorySession::new(header.clone())?;
        let mut put = Vec::new();
        for batch in batches {
            put.push(session.append(batch)?);
        }
        session.is_open = true;
        let head = session.head();
        // All at once: what a session names must not be removed before the session is there.
        let mut contents = self.contents();
        contents.check_absent(id)?;
        for (texts, new_blobs) in put {
            contents.put_blobs(texts, new_blobs);
        }
        contents.sessions.insert(id, session);
        Ok(head)
    }

    fn open_now(
        &self,
        id: SessionId,
        head: Option<LogHead>,
        cursor: Option<&Cursor>,
        each: EachEvent<'_>,
    ) -> Result<Option<OpenedSession>, StorageError> {
        let (events, opened) = {
            let mut contents = self.contents();
            let session = contents.sessions.get_mut(&id).ok_or_else(|| not_found(id))?;
            session.is_open = false;
            let after_seq = match cursor {
                None => 0,
                Some(cursor) if cursor.bytes == CURSOR_BYTES && session.fits(cursor, head) => {
                    cursor.head.seq
                }
                Some(_) => return Ok(None),
            };
            let damage = session.damage(head.filter(|head| head.seq > after_seq));
            let (reading, events) = session.readable(damage.as_ref(), after_seq);
            let opened = match damage {
                Some(damage) => Err(damaged(id, damage)),
                None => Ok(OpenedSession {
                    header: reading.header,
                    head: reading.head,
                    bytes: reading.good_len,
                }),
            };
            (events, opened)
        };
        // The lock is released first: `each` may call the journal.
        events.into_iter().for_each(each);
        if opened.is_ok()
            && let Some(session) = self.contents().sessions.get_mut(&id)
        {
            session.is_open = true;
        }
        opened.map(Some)
    }

    fn append_now(
        &self,
        id: SessionId,
        expected_head: Option<LogHead>,
        batch: Batch,
    ) -> Result<Option<LogHead>, StorageError> {
        let mut contents = self.contents();
        let session = contents.sessions.get_mut(&id).filter(|it| it.is_open);
        let Some(session) = session else { return Err(not_open(id)) };
        if session.head() != expected_head {
            return Err(fenced(id, expected_head, session.head()));
        }
        match session.append(batch) {
            Ok((texts, new_blobs)) => {
                let head = session.head();
                contents.put_blobs(texts, new_blobs);
                Ok(head)
            }
            Err(error) => {
                session.is_open = false;
                Err(error)
            }
        }
    }

    fn read_now(
        &self,
        id: SessionId,
        head: Option<LogHead>,
        after_seq: u64,
        each: EachEvent<'_>,
    ) -> Result<Reading, StorageError> {
        let (reading, events) = {
            let contents = self.contents();
            let session = contents.session(id)?;
            session.readable(session.damage(head).as_ref(), after_seq)
        };
        events.into_iter().for_each(each);
        Ok(reading)
    }

    fn repair_now(
        &self,
        damaged: SessionId,
        head: Option<LogHead>,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<RepairedSession, StorageError> {
        let reading = self.read_now(damaged, head, 0, &mut |_| ())?;
        let Tail::Damaged(damage) = reading.tail else {
            let message = format!("session `{damaged}` is not damaged; it can be opened as it is");
            return Err(StorageError::new(StorageErrorKind::NotDamaged, message));
        };
        let mut readable = ReadablePart::default();
        // In memory every line is intact; only what the desk knows of may be missing.
        let mut events = Vec::new();
        self.read_now(damaged, None, 0, &mut |event| events.push(event))?;
        let lines: Vec<IntactLine> =
            events.into_iter().map(|event| IntactLine::Event(Box::new(event))).collect();
        for line in &lines {
            readable.take(line);
        }
        let session_id = header.session_id;
        let header = readable
            .header_of_repair(header, damaged, Some(&reading.header))
            .map_err(|flaw| session::refused_header(session_id, &flaw))?;
        let mut copied = CopiedPart::default();
        let mut written = Vec::new();
        for line in lines {
            for event in copied.next(line, clock) {
                copied.record_written(&event);
                written.push(event);
            }
        }
        for event in copied.end(head.as_ref(), clock) {
            copied.record_written(&event);
            written.push(event);
        }
        let batches = written.into_iter().zip(1..).map(|(mut event, seq)| {
            event.seq = seq;
            Batch { events: vec![event], blobs: Vec::new() }
        });
        let head = self.create_now(&header, batches.collect())?;
        self.close(session_id);
        let Damage { line: lost_from_line, code, .. } = damage;
        let (n_events, keys) = (copied.n_events(), readable.into_keys());
        Ok(RepairedSession { session_id, n_events, lost_from_line, code, head, keys })
    }
}

impl Journal for MemoryJournal {
    fn create<'a>(
        &'a self,
        header: &'a SessionHeader,
        batches: Vec<Batch>,
    ) -> StorageFuture<'a, Option<LogHead>> {
        Box::pin(async move { blocking(|| self.create_now(header, batches)) })
    }

    fn open<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        cursor: Option<&'a Cursor>,
        _clock: &'a dyn Clock,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Option<OpenedSession>> {
        Box::pin(async move { self.open_now(id, head, cursor, each) })
    }

    fn append(
        &self,
        id: SessionId,
        expected_head: Option<LogHead>,
        batch: Batch,
    ) -> StorageFuture<'_, Option<LogHead>> {
        Box::pin(async move { blocking(|| self.append_now(id, expected_head, batch)) })
    }

    fn cursor(&self, id: SessionId) -> Option<Cursor> {
        let contents = self.contents();
        let session = contents.sessions.get(&id).filter(|it| it.is_open)?;
        Some(Cursor { head: session.head()?, bytes: CURSOR_BYTES.to_vec() })
    }

    fn open_bytes(&self, id: SessionId) -> Option<u64> {
        let contents = self.contents();
        contents.sessions.get(&id).filter(|it| it.is_open).map(MemorySession::bytes)
    }

    fn close(&self, id: SessionId) {
        if let Some(session) = self.contents().sessions.get_mut(&id) {
            session.is_open = false;
        }
    }

    fn read<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        after_seq: u64,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Reading> {
        Box::pin(async move { self.read_now(id, head, after_seq, each) })
    }

    fn find(&self, id: SessionId, event_id: EventId) -> StorageFuture<'_, Option<Event>> {
        Box::pin(async move { Ok(self.contents().session(id)?.find(event_id)) })
    }

    fn newest_seq(&self, id: SessionId) -> StorageFuture<'_, Option<u64>> {
        Box::pin(async move { Ok(self.contents().session(id)?.head().map(|head| head.seq)) })
    }

    fn size(&self, id: SessionId) -> StorageFuture<'_, u64> {
        Box::pin(async move { Ok(self.contents().session(id)?.bytes()) })
    }

    fn header(&self, id: SessionId) -> StorageFuture<'_, SessionHeader> {
        Box::pin(async move { Ok(self.contents().session(id)?.header().clone()) })
    }

    fn exists(&self, id: SessionId) -> StorageFuture<'_, bool> {
        Box::pin(async move { Ok(self.contents().sessions.contains_key(&id)) })
    }

    fn list(&self) -> StorageFuture<'_, Vec<SessionId>> {
        Box::pin(async move { Ok(self.contents().sessions.keys().copied().collect()) })
    }

    fn repair<'a>(
        &'a self,
        damaged: SessionId,
        head: Option<LogHead>,
        header: SessionHeader,
        clock: &'a dyn Clock,
    ) -> StorageFuture<'a, RepairedSession> {
        Box::pin(async move { self.repair_now(damaged, head, header, clock) })
    }

    fn belongings(&self, id: SessionId) -> StorageFuture<'_, RemovedSession> {
        Box::pin(async move { self.contents().belongings(id) })
    }

    fn remove(&self, id: SessionId) -> StorageFuture<'_, RemovedSession> {
        let remove = move || {
            let mut contents = self.contents();
            let removed = contents.belongings(id)?;
            if contents.session(id)?.is_open {
                return Err(in_use(id));
            }
            contents.sessions.remove(&id);
            for hash in removed.parts.iter().filter_map(|part| part.strip_prefix("blobs/")) {
                contents.blobs.remove(hash);
            }
            Ok(removed)
        };
        Box::pin(async move { remove() })
    }

    fn read_blob<'a>(&'a self, sha256: &'a str) -> StorageFuture<'a, Vec<u8>> {
        let bytes = self.contents().blobs.get(sha256).cloned();
        let message = || format!("blob `{sha256}` does not exist");
        let missing = || StorageError::new(StorageErrorKind::NotFound, message());
        Box::pin(std::future::ready(bytes.ok_or_else(missing)))
    }

    fn has_blob(&self, sha256: &str) -> bool {
        self.contents().blobs.contains_key(sha256)
    }
}

fn damaged(id: SessionId, damage: Damage) -> StorageError {
    let message = format!("session `{id}` is damaged at {damage}");
    StorageError::new(StorageErrorKind::Damaged(damage), message)
}
