//! The journal in files, watched: every call is a step, and what it makes durable is written down.

use std::sync::{Arc, Mutex};

use kith_engine::feed::ThreadKey;
use kith_sessions::journal::{
    Batch, BlobHold, Cursor, EachEvent, FilesJournal, Journal, NewBlob, OpenedSession,
    RemovedSession, RepairedSession,
};
use kith_sessions::line::LogHead;
use kith_sessions::read::Reading;
use kith_sessions::storage::{StorageError, StorageErrorKind, StorageFuture};
use kith_testkit::files::MemoryFiles;
use kith_vocab::clock::Clock;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};

use super::bug::Bug;
use super::world::World;

pub(crate) struct SimJournal {
    pub(crate) inner: FilesJournal,
    pub(crate) files: MemoryFiles,
    pub(crate) world: Arc<World>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl SimJournal {
    /// After a call: if the disk died in it, so did the host.
    async fn after(&self) {
        if self.files.is_killed() {
            self.world.die();
        }
        self.world.live().await;
    }

    fn read_fault(&self) -> Result<(), StorageError> {
        let mut world = self.world.lock();
        let rate = world.plan.read_faults;
        if world.chance.per_mille(rate) {
            world.tally.disk_faults += 1;
            world.note("the journal cannot be read".to_owned());
            let message = "the simulation lets the journal fail";
            return Err(StorageError::new(StorageErrorKind::Unavailable, message));
        }
        Ok(())
    }

    fn wrote(&self, id: SessionId, thread: Option<&ThreadKey>, events: &[Event]) {
        let mut world = self.world.lock();
        let mut names = String::new();
        for event in events {
            names.push(' ');
            names.push_str(event.body.type_name());
            world.tally.turns += u64::from(matches!(event.body, Body::TurnEnded(_)));
        }
        world.note(format!("{} <-{names}", short(id)));
        let wrong = world.oracle.append(id, thread, events).err();
        drop(world);
        if let Some(wrong) = wrong {
            self.world.violate(wrong);
        }
    }

    /// What a journal without fences would do.
    async fn append_anyway(
        &self,
        id: SessionId,
        mut batch: Batch,
    ) -> Result<(Option<LogHead>, Vec<Event>), StorageError> {
        let opened = self.inner.open(id, None, None, &*self.clock, &mut |_| ()).await?;
        let head = opened.and_then(|it| it.head);
        let mut seq = head.map_or(0, |head| head.seq);
        for event in &mut batch.events {
            seq += 1;
            event.seq = seq;
        }
        let events = batch.events.clone();
        Ok((self.inner.append(id, head, batch).await?, events))
    }

    async fn append_now(
        &self,
        id: SessionId,
        expected: Option<LogHead>,
        batch: Batch,
    ) -> Result<Option<LogHead>, StorageError> {
        let mut events = batch.events.clone();
        let forgets_fences = self.world.lock().bug == Some(Bug::DoubledDrive);
        let again = forgets_fences.then(|| batch.clone());
        let mut written = self.inner.append(id, expected, batch).await;
        if let (Err(error), Some(batch)) = (&written, again)
            && matches!(error.kind, StorageErrorKind::Fenced | StorageErrorKind::MustReopen)
        {
            written = self.append_anyway(id, batch).await.map(|(head, numbered)| {
                events = numbered;
                head
            });
        }
        // A dead host may have written it and nobody knows.
        self.after().await;
        match &written {
            Ok(_) => self.wrote(id, None, &events),
            Err(error) => self.world.note(format!("{} not written: {error}", short(id))),
        }
        written
    }
}

/// The end of an id, for people.
pub(crate) fn short(id: SessionId) -> String {
    let text = id.to_string();
    text[text.len() - 4..].to_owned()
}

impl Journal for SimJournal {
    fn create<'a>(
        &'a self,
        header: &'a SessionHeader,
        batches: Vec<Batch>,
    ) -> StorageFuture<'a, Option<LogHead>> {
        Box::pin(async move {
            self.world.step().await;
            let events: Vec<Event> = batches.iter().flat_map(|it| it.events.clone()).collect();
            if !self.inner.store().exists(header.session_id)? {
                self.world.lock().oracle.is_gone(header.session_id);
            }
            let made = self.inner.create(header, batches).await;
            self.after().await;
            match &made {
                Ok(_) => self.wrote(header.session_id, Some(&ThreadKey::of(header)), &events),
                Err(error) => {
                    self.world.note(format!("{} not made: {error}", short(header.session_id)));
                }
            }
            self.world.step().await;
            made
        })
    }

    fn open<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        cursor: Option<&'a Cursor>,
        clock: &'a dyn Clock,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Option<OpenedSession>> {
        Box::pin(async move {
            self.world.step().await;
            self.read_fault()?;
            let read = Mutex::new(Vec::new());
            let opened = self
                .inner
                .open(id, head, cursor, clock, &mut |event| {
                    read.lock().unwrap().push(event.clone());
                    each(event);
                })
                .await;
            self.after().await;
            let events = read.into_inner().unwrap();
            match &opened {
                Ok(Some(opened)) => {
                    let mut world = self.world.lock();
                    let first = events.first().map(|event| event.seq - 1);
                    let n_skipped = first.or(cursor.map(|it| it.head.seq)).unwrap_or_default();
                    let from = format!("{} events after {n_skipped}", events.len());
                    world.note(format!("{} opened with {from}", short(id)));
                    world.tally.checkpoint_openings += u64::from(n_skipped > 0);
                    let n_skipped = usize::try_from(n_skipped).unwrap_or(usize::MAX);
                    let thread = ThreadKey::of(&opened.header);
                    let wrong = world.oracle.find(id, &thread, n_skipped, &events).err();
                    drop(world);
                    if let Some(wrong) = wrong {
                        self.world.violate(wrong);
                    }
                }
                Ok(_) => (),
                Err(error) => self.world.note(format!("{} not opened: {error}", short(id))),
            }
            opened
        })
    }

    fn append(
        &self,
        id: SessionId,
        expected_head: Option<LogHead>,
        batch: Batch,
    ) -> StorageFuture<'_, Option<LogHead>> {
        Box::pin(async move {
            self.world.step().await;
            let written = self.append_now(id, expected_head, batch).await;
            self.world.step().await;
            written
        })
    }

    fn cursor(&self, id: SessionId) -> Option<Cursor> {
        self.inner.cursor(id)
    }

    fn open_bytes(&self, id: SessionId) -> Option<u64> {
        self.inner.open_bytes(id)
    }

    fn close(&self, id: SessionId) {
        // Its driver ended or failed; what it left open is taken up by another.
        self.world.lock().oracle.rest(id);
        self.inner.close(id);
    }

    fn read<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        after_seq: u64,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Reading> {
        Box::pin(async move {
            self.world.step().await;
            self.read_fault()?;
            let reading = self.inner.read(id, head, after_seq, each).await;
            self.after().await;
            reading
        })
    }

    fn find(&self, id: SessionId, event_id: EventId) -> StorageFuture<'_, Option<Event>> {
        Box::pin(async move {
            self.world.step().await;
            self.read_fault()?;
            let found = self.inner.find(id, event_id).await;
            self.after().await;
            found
        })
    }

    fn newest_seq(&self, id: SessionId) -> StorageFuture<'_, Option<u64>> {
        Box::pin(async move {
            self.world.step().await;
            self.read_fault()?;
            let newest = self.inner.newest_seq(id).await;
            self.after().await;
            newest
        })
    }

    fn size(&self, id: SessionId) -> StorageFuture<'_, u64> {
        Box::pin(async move {
            self.world.step().await;
            self.inner.size(id).await
        })
    }

    fn header(&self, id: SessionId) -> StorageFuture<'_, SessionHeader> {
        Box::pin(async move {
            self.world.step().await;
            self.inner.header(id).await
        })
    }

    fn exists(&self, id: SessionId) -> StorageFuture<'_, bool> {
        Box::pin(async move {
            self.world.step().await;
            self.inner.exists(id).await
        })
    }

    fn list(&self) -> StorageFuture<'_, Vec<SessionId>> {
        Box::pin(async move {
            self.world.step().await;
            self.read_fault()?;
            self.inner.list().await
        })
    }

    fn repair<'a>(
        &'a self,
        damaged: SessionId,
        head: Option<LogHead>,
        header: SessionHeader,
        clock: &'a dyn Clock,
    ) -> StorageFuture<'a, RepairedSession> {
        Box::pin(async move {
            self.world.step().await;
            if !self.world.lock().oracle.damaged.contains_key(&damaged) {
                self.world.violate(format!("session {damaged} is damaged"));
            }
            let (copy, thread) = (header.session_id, ThreadKey::of(&header));
            let repaired = self.inner.repair(damaged, head, header, clock).await;
            self.after().await;
            if repaired.is_ok() {
                let mut events = Vec::new();
                self.inner.read(copy, None, 0, &mut |event| events.push(event)).await?;
                self.world.lock().tally.repairs += 1;
                self.world.note(format!("{} is copied", short(damaged)));
                self.wrote(copy, Some(&thread), &events);
            }
            self.world.step().await;
            repaired
        })
    }

    fn belongings(&self, id: SessionId) -> StorageFuture<'_, RemovedSession> {
        Box::pin(async move {
            self.world.step().await;
            self.inner.belongings(id).await
        })
    }

    fn remove(&self, id: SessionId) -> StorageFuture<'_, RemovedSession> {
        Box::pin(async move {
            self.world.step().await;
            let mut events = Vec::new();
            // Not through the journal: that syncs, and what fails there must not hide the removal.
            self.inner.store().read(id, None, &mut |event| events.push(event))?;
            // Whether or not it comes to its end, nobody may rely on the session any more.
            self.world.note(format!("{} is removed", short(id)));
            self.world.lock().oracle.remove(id, events);
            let removed = self.inner.remove(id).await;
            self.after().await;
            self.world.step().await;
            removed
        })
    }

    fn put_blobs(&self, blobs: Vec<NewBlob>) -> StorageFuture<'_, ()> {
        Box::pin(async move {
            self.world.step().await;
            self.inner.put_blobs(blobs).await
        })
    }

    fn hold_blobs(&self, hashes: Vec<String>) -> BlobHold {
        self.inner.hold_blobs(hashes)
    }

    fn read_blob<'a>(&'a self, sha256: &'a str) -> StorageFuture<'a, Vec<u8>> {
        Box::pin(async move {
            self.world.step().await;
            self.inner.read_blob(sha256).await
        })
    }

    fn has_blob(&self, sha256: &str) -> bool {
        self.inner.has_blob(sha256)
    }
}
