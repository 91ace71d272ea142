//! The journal in files: one log per session, blobs beside them.
//!
//! It owns the logs that are open. Each has its own lock, so that sessions are written and synced
//! side by side, and only through here does an async task wait for the disk.

mod places;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_vocab::blocking::{blocking, briefly};
use kith_vocab::clock::Clock;
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};

use super::{
    Batch, BlobHold, Cursor, EachEvent, Journal, NewBlob, OpenedSession, RemovedSession,
    RepairedSession, fenced, in_use, not_open, reads_only,
};
use crate::checkpoint::CheckpointPlace;
use crate::line::LogHead;
use crate::log::{LogError, SessionLog};
use crate::read::Reading;
use crate::storage::{FilesAccess, StorageError, StorageFuture};
use crate::store::{Belongings, SessionStore};
use places::ReadPlaces;

pub struct FilesJournal {
    store: SessionStore,
    access: FilesAccess,
    slots: Mutex<BTreeMap<SessionId, Arc<SessionSlot>>>,
    /// How long the sessions were that were synced only to be read.
    synced: Mutex<BTreeMap<SessionId, u64>>,
    /// The names that earlier hosts gave are durable; those of this one always are.
    is_folder_synced: AtomicBool,
}

/// The place of one session that is open, or is being opened, made or removed.
#[derive(Default)]
struct SessionSlot {
    log: Mutex<Option<SessionLog>>,
    /// How much of the file is durable; 0 if the session is not open. A reader needs no lock for it.
    durable_len: AtomicU64,
    places: ReadPlaces,
}

impl FilesJournal {
    pub fn new(store: SessionStore) -> FilesJournal {
        FilesJournal::with(store, FilesAccess::Write)
    }

    /// A read-only journal, for a process that reads while another writes. It creates, changes and
    /// syncs nothing, and may show one batch that is not durable yet.
    pub fn reader(store: SessionStore) -> FilesJournal {
        FilesJournal::with(store, FilesAccess::Read)
    }

    fn with(store: SessionStore, access: FilesAccess) -> FilesJournal {
        FilesJournal {
            store,
            access,
            slots: Mutex::default(),
            synced: Mutex::default(),
            is_folder_synced: AtomicBool::new(false),
        }
    }

    fn require_write(&self) -> Result<(), StorageError> {
        match self.access {
            FilesAccess::Write => Ok(()),
            FilesAccess::Read => Err(reads_only()),
        }
    }

    /// The files beneath, for what is not asked of a journal.
    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<SessionSlot>>> {
        // Entries are put and taken whole.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the session's place for itself while it works.
    fn in_slot<T>(&self, id: SessionId, work: impl FnOnce(&mut Option<SessionLog>) -> T) -> T {
        let slot = Arc::clone(self.slots().entry(id).or_default());
        let outcome = slot.work(work);
        drop(slot);
        let mut slots = self.slots();
        // Handles are cloned under this lock only, so no other task waits for the slot.
        if slots.get(&id).is_some_and(|it| Arc::strong_count(it) == 1 && it.len().is_none()) {
            slots.remove(&id);
        }
        outcome
    }

    fn durable_len(&self, id: SessionId) -> Option<u64> {
        self.slots().get(&id)?.len()
    }

    fn open_now(
        &self,
        id: SessionId,
        head: Option<LogHead>,
        cursor: Option<&Cursor>,
        clock: &dyn Clock,
        each: EachEvent<'_>,
    ) -> Result<Option<OpenedSession>, StorageError> {
        self.require_write()?;
        // Closed first: `each` may ask the journal about this session and must not wait for us.
        self.in_slot(id, |slot| *slot = None);
        self.in_slot(id, |slot| {
            *slot = None;
            let head = head.as_ref();
            let log = match cursor {
                None => self.store.open(id, head, clock, each)?,
                Some(cursor) => {
                    let Some(place) = CheckpointPlace::of_cursor(cursor) else { return Ok(None) };
                    let opened = self.store.open_from(id, head, &place, clock, each)?;
                    let Some(log) = opened else { return Ok(None) };
                    log
                }
            };
            let (header, head, bytes) = (log.header().clone(), log.head(), log.byte_len());
            *slot = Some(log);
            Ok(Some(OpenedSession { header, head, bytes }))
        })
    }

    fn append_now(
        &self,
        id: SessionId,
        expected_head: Option<LogHead>,
        batch: &Batch,
    ) -> Result<Option<LogHead>, StorageError> {
        self.in_slot(id, |slot| {
            let Some(log) = slot else { return Err(not_open(id)) };
            if log.head() != expected_head {
                return Err(fenced(id, expected_head, log.head()));
            }
            match log.append_with(&batch.events, &batch.blobs) {
                Ok(()) => Ok(log.head()),
                Err(error) => {
                    *slot = None;
                    Err(error.into())
                }
            }
        })
    }

    fn read_now(
        &self,
        id: SessionId,
        head: Option<LogHead>,
        after_seq: u64,
        each: EachEvent<'_>,
    ) -> Result<Reading, StorageError> {
        let mut n_given = 0;
        let mut last_seq = after_seq;
        let each = &mut |event: Event| {
            // Also what a reading that had to be begun again gave already.
            if event.seq > last_seq {
                last_seq = event.seq;
                n_given += 1;
                each(event);
            }
        };
        let head = head.as_ref();
        let open = self.slots().get(&id).and_then(|slot| {
            let len = slot.len()?;
            Some((len, slot.places.before(after_seq)))
        });
        let reading = match open {
            None if self.access == FilesAccess::Read => self.store.read(id, head, each)?,
            None => self.store.read_up_to(id, head, self.make_durable(id)?, each)?,
            Some((len, place)) => {
                let near = match place {
                    Some(place) => self.store.read_from(id, head, &place, len, each)?,
                    None => None,
                };
                match near {
                    Some(reading) => reading,
                    None => self.store.read_up_to(id, head, len, each)?,
                }
            }
        };
        Ok(Reading { events: n_given, ..reading })
    }

    /// Syncs a session that is not open, and returns its length. Its last writer may have died
    /// before the sync, and events that were shown must survive a power cut.
    fn make_durable(&self, id: SessionId) -> Result<u64, LogError> {
        self.in_slot(id, |slot| match slot {
            Some(log) => Ok(log.byte_len()),
            None => self.sync_once(id),
        })
    }

    /// Syncs a session unless that was done since it grew.
    fn sync_once(&self, id: SessionId) -> Result<u64, LogError> {
        let synced = || self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        let before = synced().get(&id).copied();
        if let Some(len) = before
            && self.store.stat(id)?.bytes == len
        {
            return Ok(len);
        }
        let len = self.store.sync_file(id)?;
        if !self.is_folder_synced.load(Ordering::Acquire) {
            self.store.sync_folder()?;
            self.is_folder_synced.store(true, Ordering::Release);
        }
        synced().insert(id, len);
        Ok(len)
    }

    /// Makes a session. One that failed may have left a name that is not durable.
    fn unsynced_on_error<T>(
        &self,
        make: impl FnOnce() -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        make().inspect_err(|_| self.is_folder_synced.store(false, Ordering::Release))
    }

    fn newest_seq_now(&self, id: SessionId) -> Result<Option<u64>, LogError> {
        self.in_slot(id, |slot| {
            if let Some(log) = slot {
                return Ok(log.head().map(|head| head.seq));
            }
            if self.access == FilesAccess::Write {
                self.sync_once(id)?;
            }
            self.store.newest_seq(id)
        })
    }

    fn size_now(&self, id: SessionId) -> Result<u64, LogError> {
        match self.durable_len(id) {
            Some(len) => Ok(len),
            None => Ok(self.store.stat(id)?.bytes),
        }
    }

    fn removed(&self, belongings: &Belongings) -> RemovedSession {
        let parts = belongings.files.iter().map(|path| self.store.name_beneath(path)).collect();
        RemovedSession { parts, bytes: belongings.bytes }
    }
}

impl SessionSlot {
    fn work<T>(&self, work: impl FnOnce(&mut Option<SessionLog>) -> T) -> T {
        let mut log = self.log.lock().unwrap_or_else(|poisoned| {
            // A panic in the middle of a write: only opening the file again shows what it holds.
            self.log.clear_poison();
            let mut log = poisoned.into_inner();
            *log = None;
            log
        });
        let outcome = work(&mut log);
        match &*log {
            Some(log) => self.places.note(log),
            None => self.places.clear(),
        }
        let len = log.as_ref().map_or(0, SessionLog::byte_len);
        self.durable_len.store(len, Ordering::Release);
        outcome
    }

    fn len(&self) -> Option<u64> {
        Some(self.durable_len.load(Ordering::Acquire)).filter(|&len| len > 0)
    }
}

impl Journal for FilesJournal {
    fn create<'a>(
        &'a self,
        header: &'a SessionHeader,
        batches: Vec<Batch>,
    ) -> StorageFuture<'a, Option<LogHead>> {
        let make = move || {
            self.require_write()?;
            self.in_slot(header.session_id, |slot| {
                let log = self.unsynced_on_error(|| self.store.create_with(header, &batches))?;
                let head = log.head();
                *slot = Some(log);
                Ok(head)
            })
        };
        Box::pin(async move { briefly(make) })
    }

    fn open<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        cursor: Option<&'a Cursor>,
        clock: &'a dyn Clock,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Option<OpenedSession>> {
        Box::pin(async move { blocking(|| self.open_now(id, head, cursor, clock, each)) })
    }

    fn append(
        &self,
        id: SessionId,
        expected_head: Option<LogHead>,
        batch: Batch,
    ) -> StorageFuture<'_, Option<LogHead>> {
        Box::pin(async move { briefly(|| self.append_now(id, expected_head, &batch)) })
    }

    fn cursor(&self, id: SessionId) -> Option<Cursor> {
        self.durable_len(id)?;
        self.in_slot(id, |slot| Some(slot.as_ref()?.checkpoint_place()?.to_cursor()))
    }

    fn open_bytes(&self, id: SessionId) -> Option<u64> {
        self.durable_len(id)
    }

    fn close(&self, id: SessionId) {
        if self.durable_len(id).is_some() {
            blocking(|| self.in_slot(id, |slot| *slot = None));
        }
    }

    fn read<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        after_seq: u64,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Reading> {
        Box::pin(async move { blocking(|| self.read_now(id, head, after_seq, each)) })
    }

    fn find(&self, id: SessionId, event_id: EventId) -> StorageFuture<'_, Option<Event>> {
        let look = move || {
            let mut found = None;
            self.read_now(id, None, 0, &mut |event| {
                if event.id == event_id {
                    found = Some(event);
                }
            })?;
            Ok(found)
        };
        Box::pin(async move { blocking(look) })
    }

    fn newest_seq(&self, id: SessionId) -> StorageFuture<'_, Option<u64>> {
        Box::pin(async move { Ok(blocking(|| self.newest_seq_now(id))?) })
    }

    fn size(&self, id: SessionId) -> StorageFuture<'_, u64> {
        Box::pin(async move { Ok(blocking(|| self.size_now(id))?) })
    }

    fn header(&self, id: SessionId) -> StorageFuture<'_, SessionHeader> {
        Box::pin(async move { Ok(blocking(|| self.store.header(id))?) })
    }

    fn exists(&self, id: SessionId) -> StorageFuture<'_, bool> {
        Box::pin(async move { Ok(blocking(|| self.store.exists(id))?) })
    }

    fn list(&self) -> StorageFuture<'_, Vec<SessionId>> {
        Box::pin(async move { Ok(blocking(|| self.store.list())?) })
    }

    fn repair<'a>(
        &'a self,
        damaged: SessionId,
        head: Option<LogHead>,
        header: SessionHeader,
        clock: &'a dyn Clock,
    ) -> StorageFuture<'a, RepairedSession> {
        let repair = move || {
            self.require_write()?;
            Ok(self
                .unsynced_on_error(|| self.store.repair(damaged, head.as_ref(), header, clock))?)
        };
        Box::pin(async move { blocking(repair) })
    }

    fn belongings(&self, id: SessionId) -> StorageFuture<'_, RemovedSession> {
        Box::pin(async move { Ok(self.removed(&blocking(|| self.store.belongings(id))?)) })
    }

    fn remove(&self, id: SessionId) -> StorageFuture<'_, RemovedSession> {
        let remove = move || {
            self.require_write()?;
            self.in_slot(id, |slot| match slot {
                Some(_) => Err(in_use(id)),
                None => Ok(self.removed(&self.store.remove(id)?)),
            })
        };
        Box::pin(async move { blocking(remove) })
    }

    fn put_blobs(&self, blobs: Vec<NewBlob>) -> StorageFuture<'_, ()> {
        let put = move || {
            self.require_write()?;
            self.store.blobs.put_all(&[], &blobs)?;
            Ok(())
        };
        Box::pin(async move { blocking(put) })
    }

    fn hold_blobs(&self, hashes: Vec<String>) -> BlobHold {
        BlobHold::new(self.store.blobs.hold(hashes))
    }

    fn read_blob<'a>(&'a self, sha256: &'a str) -> StorageFuture<'a, Vec<u8>> {
        Box::pin(async move { Ok(blocking(|| self.store.read_blob(sha256))?) })
    }

    fn has_blob(&self, sha256: &str) -> bool {
        blocking(|| self.store.has_blob(sha256))
    }
}

impl fmt::Debug for FilesJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilesJournal").field("store", &self.store).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
