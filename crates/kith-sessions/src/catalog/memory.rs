//! The catalog in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_vocab::blocking::blocking;
use kith_vocab::ids::{EventId, SessionId};

use super::{
    CHECKPOINT_BYTES_MAX, Catalog, CatalogListing, CatalogRow, Checkpoint, FOUND_MAX, LogStamp,
    PASSAGE_BYTES_MAX, Passage, SearchCoverage, compare, stamps,
};
use crate::storage::StorageFuture;
use crate::store::SessionStore;
use crate::words::Query;

/// A handle on a catalog in memory; clones are the same catalog.
#[derive(Clone, Debug)]
pub struct MemoryCatalog {
    store: SessionStore,
    known: Arc<Mutex<CatalogTables>>,
}

#[derive(Debug, Default)]
struct CatalogTables {
    rows: BTreeMap<SessionId, CatalogRow>,
    checkpoints: BTreeMap<SessionId, Checkpoint>,
    searched: BTreeMap<SessionId, SearchCoverage>,
    passages: BTreeMap<(EventId, SessionId), String>,
}

impl MemoryCatalog {
    pub fn new(store: SessionStore) -> MemoryCatalog {
        MemoryCatalog { store, known: Arc::default() }
    }

    fn known(&self) -> MutexGuard<'_, CatalogTables> {
        // Everything in it may be lost, so nothing can be half done.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, work: impl FnOnce(&mut CatalogTables)) -> StorageFuture<'_, ()> {
        work(&mut self.known());
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Catalog for MemoryCatalog {
    fn stamp(&self, session: SessionId) -> StorageFuture<'_, LogStamp> {
        Box::pin(async move { Ok(blocking(|| self.store.stat(session))?) })
    }

    fn put_rows(&self, rows: Vec<CatalogRow>) -> StorageFuture<'_, ()> {
        self.change(|known| known.rows.extend(rows.into_iter().map(|row| (row.session_id, row))))
    }

    fn listing(&self) -> StorageFuture<'_, CatalogListing> {
        let rows: Vec<CatalogRow> = self.known().rows.values().cloned().collect();
        Box::pin(async move { Ok(compare(rows, blocking(|| stamps(&self.store))?)) })
    }

    fn put_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> StorageFuture<'_, ()> {
        self.change(|known| {
            if checkpoint.cursor.bytes.len() + checkpoint.state.len() > CHECKPOINT_BYTES_MAX {
                known.checkpoints.remove(&session);
            } else {
                known.checkpoints.insert(session, checkpoint);
            }
        })
    }

    fn checkpoint(
        &self,
        session: SessionId,
        fold_version: u32,
    ) -> StorageFuture<'_, Option<Checkpoint>> {
        let found = self.known().checkpoints.get(&session).cloned();
        let found = found.filter(|it| it.fold_version == fold_version);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn put_passages(
        &self,
        session: SessionId,
        after: SearchCoverage,
        now: SearchCoverage,
        passages: Vec<Passage>,
    ) -> StorageFuture<'_, ()> {
        self.change(|known| {
            if known.searched.get(&session).map_or(0, |it| it.seq) != after.seq {
                return;
            }
            for Passage { event_id, mut text } in passages {
                text.truncate(text.floor_char_boundary(PASSAGE_BYTES_MAX));
                known.passages.insert((event_id, session), text);
            }
            known.searched.insert(session, now);
        })
    }

    fn search_coverage(&self) -> StorageFuture<'_, BTreeMap<SessionId, SearchCoverage>> {
        Box::pin(std::future::ready(Ok(self.known().searched.clone())))
    }

    fn find<'a>(&'a self, query: &'a Query) -> StorageFuture<'a, Vec<(SessionId, EventId)>> {
        let known = self.known();
        let newest_first = known.passages.iter().rev();
        let fitting = newest_first.filter(|(_, text)| query.excerpt(text).is_some());
        let found = fitting.map(|((event_id, session), _)| (*session, *event_id));
        let found = found.take(FOUND_MAX as usize).collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn forget(&self, session: SessionId) -> StorageFuture<'_, ()> {
        self.change(|known| {
            known.rows.remove(&session);
            known.checkpoints.remove(&session);
            known.searched.remove(&session);
            known.passages.retain(|(_, of), _| *of != session);
        })
    }
}
