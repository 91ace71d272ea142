//! The catalog in a SQLite file, `index.db`.
//!
//! A file that is damaged or not ours is deleted and made anew. If it cannot be opened at all, the
//! catalog is empty: callers read the logs, which only takes longer.

mod index;
mod passages;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kith_vocab::blocking::beside;
use kith_vocab::ids::{EventId, SessionId};
use rusqlite::Connection;
use tokio::sync::OnceCell;

use super::{
    Catalog, CatalogListing, CatalogRow, Checkpoint, LogStamp, SearchCoverage, SearchUpdate,
    compare,
};
use crate::log::LogError;
use crate::storage::{FilesAccess, StorageFuture};
use crate::store::SessionStore;
use crate::words::Query;
use index::Index;

pub use tables::INDEX_VERSION;

/// The catalog of the sessions in a house's files. It is opened when it is first needed: a short
/// command on a short session never does.
pub struct SqliteCatalog {
    path: PathBuf,
    store: SessionStore,
    access: FilesAccess,
    /// `None` if it could not be opened: then nothing is known, and nothing is noted.
    index: OnceCell<Option<Index>>,
}

impl SqliteCatalog {
    /// `path` is that of the file, which is made when there is something to keep.
    pub fn new(path: &Path, store: SessionStore) -> SqliteCatalog {
        SqliteCatalog::of(path, store, FilesAccess::Write)
    }

    /// For who only reads: no file is made, and nothing can be noted.
    pub fn read_only(path: &Path, store: SessionStore) -> SqliteCatalog {
        SqliteCatalog::of(path, store, FilesAccess::Read)
    }

    /// In memory, for tests. It is gone with the handle.
    pub fn in_memory(store: SessionStore) -> SqliteCatalog {
        let path = PathBuf::from(":memory:");
        // Without an index everything is read from the logs.
        let index = OnceCell::from(Index::in_memory(&path).ok());
        SqliteCatalog { path, store, access: FilesAccess::Write, index }
    }

    fn of(path: &Path, store: SessionStore, access: FilesAccess) -> SqliteCatalog {
        SqliteCatalog { path: path.to_owned(), store, access, index: OnceCell::new() }
    }

    async fn index(&self) -> Option<&Index> {
        let open = || async {
            match self.access {
                // Without an index everything is read from the logs.
                FilesAccess::Write => Index::open(&self.path).ok(),
                FilesAccess::Read => Index::open_read_only(&self.path),
            }
        };
        self.index.get_or_init(open).await.as_ref()
    }

    /// Does the work on the index. Without an index nothing is known, and nothing is noted.
    fn ask<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StorageFuture<'_, T> {
        Box::pin(async move {
            match self.index().await {
                Some(index) => Ok(index.run(work).await?),
                None => Ok(T::default()),
            }
        })
    }
}

impl Catalog for SqliteCatalog {
    fn stamp(&self, session: SessionId) -> StorageFuture<'_, LogStamp> {
        // One look at a file takes less time than to hand the worker's place on for it.
        Box::pin(async move { Ok(self.store.stat(session)?) })
    }

    fn put_rows(&self, rows: Vec<CatalogRow>) -> StorageFuture<'_, ()> {
        self.ask(move |index| tables::put_rows(index, &rows))
    }

    fn listing(&self) -> StorageFuture<'_, CatalogListing> {
        Box::pin(async move {
            // While another thread looks at the files, this one reads the index.
            let store = self.store.clone();
            let files = beside(move || stamps(&store));
            let known = self.ask(tables::rows).await?;
            Ok(compare(known, files.await?))
        })
    }

    fn put_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> StorageFuture<'_, ()> {
        self.ask(move |index| tables::put_checkpoint(index, session, &checkpoint))
    }

    fn checkpoint(
        &self,
        session: SessionId,
        fold_version: u32,
    ) -> StorageFuture<'_, Option<Checkpoint>> {
        self.ask(move |index| tables::checkpoint(index, session, fold_version))
    }

    fn put_passages(&self, updates: Vec<SearchUpdate>) -> StorageFuture<'_, ()> {
        self.ask(move |index| passages::put(index, &updates))
    }

    fn search_coverage(&self) -> StorageFuture<'_, BTreeMap<SessionId, SearchCoverage>> {
        self.ask(passages::search_coverage)
    }

    fn find<'a>(&'a self, query: &'a Query) -> StorageFuture<'a, Vec<(SessionId, EventId)>> {
        let words = query.for_fts5();
        self.ask(move |index| passages::find(index, &words))
    }

    fn forget(&self, session: SessionId) -> StorageFuture<'_, ()> {
        self.ask(move |index| tables::forget(index, session))
    }
}

impl std::fmt::Debug for SqliteCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteCatalog").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Looking at many files is most of what a long list waits for, so two threads do it.
fn stamps(store: &SessionStore) -> Result<Vec<(SessionId, LogStamp)>, LogError> {
    let ids = store.list()?;
    let (first, second) = ids.split_at(ids.len() / 2);
    let (first, second) = std::thread::scope(|scope| {
        let beside = (!first.is_empty()).then(|| scope.spawn(|| store.stat_all(first)));
        let second = store.stat_all(second);
        let first = beside.map_or_else(
            || Ok(Vec::new()),
            |thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
        (first, second)
    });
    let mut stamps = first?;
    stamps.extend(second?);
    Ok(stamps)
}

#[cfg(test)]
mod tests;
