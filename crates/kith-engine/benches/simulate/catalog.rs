//! A catalog that knows nothing, as a catalog may.

use std::collections::BTreeMap;

use kith_sessions::catalog::{
    Catalog, CatalogRow, Checkpoint, Listing, LogStamp, Passage, Searched,
};
use kith_sessions::storage::StorageFuture;
use kith_sessions::words::Query;
use kith_vocab::ids::{EventId, SessionId};

pub(crate) struct BlankCatalog;

fn answer<'a, T: Send + 'a>(value: T) -> StorageFuture<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Catalog for BlankCatalog {
    fn stamp(&self, _: SessionId) -> StorageFuture<'_, LogStamp> {
        answer(LogStamp::default())
    }

    fn put_rows(&self, _: Vec<CatalogRow>) -> StorageFuture<'_, ()> {
        answer(())
    }

    fn listing(&self) -> StorageFuture<'_, Listing> {
        answer(Listing::default())
    }

    fn put_checkpoint(&self, _: SessionId, _: Checkpoint) -> StorageFuture<'_, ()> {
        answer(())
    }

    fn checkpoint(&self, _: SessionId, _: u32) -> StorageFuture<'_, Option<Checkpoint>> {
        answer(None)
    }

    fn put_passages(
        &self,
        _: SessionId,
        _: Searched,
        _: Searched,
        _: Vec<Passage>,
    ) -> StorageFuture<'_, ()> {
        answer(())
    }

    fn searched(&self) -> StorageFuture<'_, BTreeMap<SessionId, Searched>> {
        answer(BTreeMap::new())
    }

    fn find<'a>(&'a self, _: &'a Query) -> StorageFuture<'a, Vec<(SessionId, EventId)>> {
        answer(Vec::new())
    }

    fn forget(&self, _: SessionId) -> StorageFuture<'_, ()> {
        answer(())
    }
}
