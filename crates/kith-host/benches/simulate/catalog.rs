//! The catalog, which is derived: it may forget, and be older than the logs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use kith_sessions::catalog::{
    Catalog, CatalogListing, CatalogRow, Checkpoint, LogStamp, SearchCoverage, SearchUpdate,
    SqliteCatalog,
};
use kith_sessions::storage::{StorageError, StorageErrorKind, StorageFuture};
use kith_sessions::store::SessionStore;
use kith_sessions::words::Query;
use kith_vocab::ids::{EventId, SessionId};

use super::chance::Chance;
use super::world::World;

/// Checkpoints as they were made. A crash may bring an older one back.
#[derive(Clone, Default)]
pub(crate) struct KeptCheckpoints(Arc<Mutex<BTreeMap<SessionId, Vec<Checkpoint>>>>);

impl KeptCheckpoints {
    pub(crate) fn crash(&self, chance: &mut Chance) {
        for kept in self.0.lock().unwrap().values_mut() {
            let n_lost = if chance.percent(50) { chance.index(kept.len() + 1) } else { 0 };
            kept.truncate(kept.len() - n_lost);
        }
    }
}

pub(crate) struct SimCatalog {
    pub(crate) store: SessionStore,
    /// It compares with a store of its own, which is empty: whatever is listed is unread.
    pub(crate) known: Arc<SqliteCatalog>,
    pub(crate) checkpoints: KeptCheckpoints,
    pub(crate) world: Arc<World>,
}

impl SimCatalog {
    fn call<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce() -> StorageFuture<'a, T> + Send + 'a,
    ) -> StorageFuture<'a, T> {
        Box::pin(async move {
            self.world.step().await;
            let fails = {
                let mut world = self.world.lock();
                let rate = world.plan.read_faults;
                world.chance.per_mille(rate)
            };
            if fails {
                let message = "the simulation lets the catalog fail";
                return Err(StorageError::new(StorageErrorKind::Unavailable, message));
            }
            work().await
        })
    }
}

impl Catalog for SimCatalog {
    fn stamp(&self, session: SessionId) -> StorageFuture<'_, LogStamp> {
        self.call(move || {
            Box::pin(std::future::ready(self.store.stat(session).map_err(Into::into)))
        })
    }

    fn put_rows(&self, rows: Vec<CatalogRow>) -> StorageFuture<'_, ()> {
        self.call(move || self.known.put_rows(rows))
    }

    fn listing(&self) -> StorageFuture<'_, CatalogListing> {
        self.call(move || {
            let listed =
                self.store.list().map(|unread| CatalogListing { rows: Vec::new(), unread });
            Box::pin(std::future::ready(listed.map_err(Into::into)))
        })
    }

    fn put_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> StorageFuture<'_, ()> {
        self.call(move || {
            self.world.lock().tally.checkpoints += 1;
            self.checkpoints.0.lock().unwrap().entry(session).or_default().push(checkpoint);
            Box::pin(std::future::ready(Ok(())))
        })
    }

    fn checkpoint(
        &self,
        session: SessionId,
        fold_version: u32,
    ) -> StorageFuture<'_, Option<Checkpoint>> {
        self.call(move || {
            let kept = self.checkpoints.0.lock().unwrap();
            let newest = kept.get(&session).and_then(|kept| kept.last()).cloned();
            let newest = newest.filter(|it| it.fold_version == fold_version);
            Box::pin(std::future::ready(Ok(newest)))
        })
    }

    fn put_passages(&self, updates: Vec<SearchUpdate>) -> StorageFuture<'_, ()> {
        self.call(move || self.known.put_passages(updates))
    }

    fn search_coverage(&self) -> StorageFuture<'_, BTreeMap<SessionId, SearchCoverage>> {
        self.call(move || self.known.search_coverage())
    }

    fn find<'a>(&'a self, query: &'a Query) -> StorageFuture<'a, Vec<(SessionId, EventId)>> {
        self.call(move || self.known.find(query))
    }

    fn forget(&self, session: SessionId) -> StorageFuture<'_, ()> {
        self.call(move || {
            self.checkpoints.0.lock().unwrap().remove(&session);
            self.known.forget(session)
        })
    }
}
