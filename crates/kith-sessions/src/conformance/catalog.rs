//! What every catalog does alike.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use kith_testkit::files::MemoryFiles;
use tempfile::TempDir;

use super::{outcome, same};
use crate::catalog::{
    CHECKPOINT_BYTES_MAX, Catalog, CatalogListing, CatalogRow, Checkpoint, Passage, SearchCoverage,
    SearchUpdate, SqliteCatalog,
};
use crate::disk::DiskFiles;
use crate::journal::{Cursor, FilesJournal, Journal};
use crate::line::{LineHash, LogHead};
use crate::samples::{NOW, event_id, header, notice, session_id};
use crate::storage::StorageErrorKind;
use crate::store::SessionStore;
use crate::words::Query;

struct Backend {
    name: &'static str,
    journal: Arc<dyn Journal>,
    catalog: Arc<dyn Catalog>,
    _folder: TempDir,
}

impl Backend {
    fn all() -> Vec<Backend> {
        let memory = SessionStore::new(Arc::new(MemoryFiles::new()), Path::new("/"));
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(Arc::new(DiskFiles), folder.path());
        vec![
            Backend {
                name: "memory",
                catalog: Arc::new(SqliteCatalog::in_memory(memory.clone())),
                journal: Arc::new(FilesJournal::new(memory)),
                _folder: tempfile::tempdir().unwrap(),
            },
            Backend {
                name: "sqlite",
                catalog: Arc::new(SqliteCatalog::new(
                    &folder.path().join("index.db"),
                    store.clone(),
                )),
                journal: Arc::new(FilesJournal::new(store)),
                _folder: folder,
            },
        ]
    }

    async fn row(&self, n: u64) -> CatalogRow {
        CatalogRow {
            session_id: session_id(n),
            thread_id: Some("cli:room:main".parse().unwrap()),
            agent_id: Some("ada".to_owned()),
            title: None,
            created_at: Some(NOW),
            updated_at: Some(NOW + 1),
            events: 1,
            leaf: Some(event_id(1)),
            cwd: Some("/src".to_owned()),
            state: "idle".to_owned(),
            stamp: self.catalog.stamp(session_id(n)).await.unwrap(),
        }
    }

    async fn listed(&self) -> (Vec<u64>, Vec<u64>) {
        let CatalogListing { rows, unread } = self.catalog.listing().await.unwrap();
        let number = |id| (0..9).find(|n| session_id(*n) == id).unwrap();
        let rows = rows.into_iter().map(|row| number(row.session_id)).collect();
        (rows, unread.into_iter().map(number).collect())
    }
}

async fn on_each<T: PartialEq + Debug>(check: impl AsyncFn(&Backend) -> T) -> T {
    let mut seen = Vec::new();
    for backend in Backend::all() {
        seen.push((backend.name, check(&backend).await));
    }
    same(seen)
}

#[tokio::test]
async fn a_row_counts_while_its_log_is_as_it_was() {
    on_each(async |it| {
        assert_eq!(it.listed().await, (vec![], vec![]));
        for n in 1..=4 {
            it.journal.create(&header(n), vec![vec![notice(1, "hi")].into()]).await.unwrap();
        }
        assert_eq!(it.listed().await, (vec![], vec![1, 2, 3, 4]));
        let rows = vec![it.row(3).await, it.row(2).await, it.row(1).await];
        it.catalog.put_rows(rows).await.unwrap();
        let head = it.journal.append(session_id(2), None, Vec::new().into()).await;
        assert!(head.is_err(), "it has an event");
        let cursor = it.journal.cursor(session_id(2)).unwrap();
        let more = vec![notice(2, "again")].into();
        it.journal.append(session_id(2), Some(cursor.head), more).await.unwrap();
        it.journal.close(session_id(3));
        it.journal.remove(session_id(3)).await.unwrap();
        assert_eq!(it.listed().await, (vec![1], vec![2, 4]), "{}", it.name);
        it.catalog.put_rows(vec![it.row(2).await]).await.unwrap();
        assert_eq!(it.listed().await, (vec![1, 2], vec![4]));
        it.catalog.forget(session_id(1)).await.unwrap();
        assert_eq!(it.listed().await, (vec![2], vec![1, 4]));
        let absent = outcome(it.catalog.stamp(session_id(3)).await);
        assert_eq!(absent, Err(StorageErrorKind::NotFound));
    })
    .await;
}

#[tokio::test]
async fn a_checkpoint_is_found_by_the_code_that_made_it() {
    on_each(async |it| {
        let head = LogHead { seq: 5, hash: LineHash::of(b"a line") };
        let cursor = Cursor { head, bytes: b"a place".to_vec() };
        let checkpoint = |state: &[u8]| Checkpoint {
            cursor: cursor.clone(),
            fold_version: 7,
            state: state.to_vec(),
        };
        let catalog = &it.catalog;
        assert_eq!(catalog.checkpoint(session_id(1), 7).await.unwrap(), None);
        for state in [b"old", b"new"] {
            catalog.put_checkpoint(session_id(1), checkpoint(state)).await.unwrap();
        }
        let found = catalog.checkpoint(session_id(1), 7).await.unwrap();
        assert_eq!(found, Some(checkpoint(b"new")), "{}", it.name);
        assert_eq!(catalog.checkpoint(session_id(1), 8).await.unwrap(), None);
        assert_eq!(catalog.checkpoint(session_id(2), 7).await.unwrap(), None);
        let large = checkpoint(&vec![0; CHECKPOINT_BYTES_MAX]);
        catalog.put_checkpoint(session_id(1), large).await.unwrap();
        assert_eq!(catalog.checkpoint(session_id(1), 7).await.unwrap(), None, "it is too large");
    })
    .await;
}

#[tokio::test]
async fn what_was_said_is_found_by_its_words() {
    on_each(async |it| {
        let at = |seq| SearchCoverage { seq, log_bytes: seq * 100 };
        let said = |n, text: &str| Passage { event_id: event_id(n), text: text.to_owned() };
        let put = async |session, after, now, passages| {
            let (session_id, after, now) = (session_id(session), at(after), at(now));
            let update = SearchUpdate { session_id, after, now, passages };
            it.catalog.put_passages(vec![update]).await.unwrap();
        };
        let first = vec![said(1, "今天北京天气很好"), said(2, "The garden plan")];
        put(1, 0, 2, first.clone()).await;
        put(2, 0, 3, vec![said(3, "gardens")]).await;
        // Read again by somebody who did not know.
        put(1, 0, 2, first).await;
        put(1, 2, 5, vec![said(5, "天气")]).await;
        let find = async |words: &str| {
            let found = it.catalog.find(&Query::parse(words).unwrap()).await.unwrap();
            found.into_iter().map(|(_, event)| event).collect::<Vec<_>>()
        };
        assert_eq!(find("天气").await, [event_id(5), event_id(1)], "{}", it.name);
        assert_eq!(find("GARDEN").await, [event_id(3), event_id(2)]);
        assert_eq!(find("garden plan").await, [event_id(2)]);
        let expected = [(session_id(1), at(5)), (session_id(2), at(3))];
        assert_eq!(it.catalog.search_coverage().await.unwrap(), expected.into());
        it.catalog.forget(session_id(1)).await.unwrap();
        assert_eq!(find("garden").await, [event_id(3)]);
        it.catalog.search_coverage().await.unwrap()
    })
    .await;
}
