//! What a host puts into the catalog when it ends.

use kith_sessions::catalog::SqliteCatalog;
use kith_sessions::desk::MemoryDesk;
use kith_sessions::journal::FilesJournal;
use kith_testkit::clock::{START, numbered_id};
use kith_testkit::files::MemoryFiles;
use kith_testkit::transcript::transcript;

use super::*;
use crate::fixture;

#[tokio::test]
async fn more_sessions_than_are_put_together_are_all_put_into_the_catalog() {
    let store = fixture::store_on(MemoryFiles::new());
    let n_sessions = 2 * CATCH_UP_ROWS_MAX + 1;
    for n in 1..=n_sessions {
        let id = SessionId::from_uuid(numbered_id(START, n as u64));
        store.create(&fixture::header(id), &transcript("user: hello").events).unwrap();
    }
    let catalog = Arc::new(SqliteCatalog::in_memory(store.clone()));
    let checkpoints = Checkpoints::new(Arc::clone(&catalog) as _, CHECKPOINT_BYTES_MIN);
    checkpoints.flush(&FilesJournal::new(store), &MemoryDesk::new("device").handle()).await;
    let listing = catalog.listing().await.unwrap();
    assert_eq!((listing.rows.len(), listing.unread.len()), (n_sessions, 0));
    assert_eq!(catalog.search_coverage().await.unwrap().len(), n_sessions);
}
