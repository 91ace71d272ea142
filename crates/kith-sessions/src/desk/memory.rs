//! The desk in memory, for tests that cut the power or let a commit fail.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;

use super::SqliteDesk;
use super::sqlite::schema;
use crate::database::{MemoryDatabase, Worker};

/// A handle on a desk in memory; clones are the same desk.
#[derive(Clone, Debug)]
pub struct MemoryDesk {
    desk: SqliteDesk,
    database: Arc<MemoryDatabase>,
}

impl MemoryDesk {
    pub fn new(device_id: &str) -> MemoryDesk {
        MemoryDesk::of(Connection::open_in_memory(), device_id)
    }

    /// The desk itself, for those who keep any desk.
    pub fn handle(&self) -> SqliteDesk {
        self.desk.clone()
    }

    /// How many commits a power cut could take.
    pub fn n_unsynced(&self) -> usize {
        self.database.n_unsynced()
    }

    /// The desk that a power cut leaves: what is durable and the first `keep_unsynced` of the
    /// commits that were not synced. This handle stays as it is.
    #[must_use]
    pub fn crash(&self, keep_unsynced: usize) -> MemoryDesk {
        MemoryDesk::of(self.database.crash(keep_unsynced), "")
    }

    /// The desk as it is now, to be put back later.
    #[must_use]
    pub fn copy(&self) -> MemoryDesk {
        self.crash(usize::MAX)
    }

    /// Lets the n-th change from now on, counted from 0, fail and write nothing. Every change counts,
    /// also one that would write nothing.
    pub fn fail_change_at(&self, n: usize) {
        self.database.fail_change_at(n);
    }

    fn of(connection: rusqlite::Result<Connection>, new_device_id: &str) -> MemoryDesk {
        let opened = connection.and_then(|mut connection| {
            schema::migrate(&mut connection, new_device_id)?;
            let facts = (schema::device_id(&connection)?, schema::generation(&connection)?);
            Ok((MemoryDatabase::new(connection)?, facts))
        });
        #[expect(clippy::expect_used, reason = "no disk can fail")]
        let (database, facts) = opened.expect("a database in memory can be opened");
        let database = Arc::new(database);
        let worker = Worker::Here(Arc::clone(&database));
        MemoryDesk { desk: SqliteDesk::of(PathBuf::from(":memory:"), facts, worker), database }
    }
}

impl Deref for MemoryDesk {
    type Target = SqliteDesk;

    fn deref(&self) -> &SqliteDesk {
        &self.desk
    }
}

#[cfg(test)]
mod tests;
