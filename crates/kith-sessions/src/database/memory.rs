//! A database in memory, used on the thread of its caller.
//!
//! It remembers which commits were synced, so a test can have the database that a power cut leaves:
//! the durable part and as many of the later commits as it likes, in their order. A synced commit
//! makes all before it durable, as in SQLite's write-ahead log.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Error, MAIN_DB, ffi};

use super::{Durability, Job, STATEMENTS_MAX, group};

#[derive(Debug)]
pub(crate) struct MemoryDatabase(Mutex<MemoryCommits>);

#[derive(Debug)]
struct MemoryCommits {
    connection: Connection,
    /// The bytes of the durable database, and those after each commit that was not synced.
    durable: Vec<u8>,
    unsynced: Vec<Vec<u8>>,
    /// How many changes succeed before one fails.
    n_until_failure: Option<usize>,
}

impl MemoryDatabase {
    pub(crate) fn new(mut connection: Connection) -> rusqlite::Result<MemoryDatabase> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        let durable = connection.serialize(MAIN_DB)?.to_vec();
        let (unsynced, n_until_failure) = (Vec::new(), None);
        let commits = MemoryCommits { connection, durable, unsynced, n_until_failure };
        Ok(MemoryDatabase(Mutex::new(commits)))
    }

    /// How many commits a power cut could take.
    pub(crate) fn n_unsynced(&self) -> usize {
        self.commits().unsynced.len()
    }

    /// Lets the n-th change from now on, counted from 0, fail and write nothing. Every change counts,
    /// also one that would write nothing.
    pub(crate) fn fail_change_at(&self, n: usize) {
        self.commits().n_until_failure = Some(n);
    }

    /// The database that a power cut leaves: what is durable and the first `keep_unsynced` of the
    /// commits that were not synced.
    pub(crate) fn crash(&self, keep_unsynced: usize) -> rusqlite::Result<Connection> {
        let commits = self.commits();
        let kept = keep_unsynced.min(commits.unsynced.len()).checked_sub(1);
        let bytes = kept.and_then(|last| commits.unsynced.get(last)).unwrap_or(&commits.durable);
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact(MAIN_DB, &bytes[..], bytes.len(), false)?;
        Ok(connection)
    }

    pub(super) fn perform(&self, job: Job) {
        let mut commits = self.commits();
        let n_changes = commits.connection.total_changes();
        let durability = match job {
            Job::Read(work) | Job::Alone(work) => {
                work(&mut commits.connection);
                Durability::Synced
            }
            Job::Change(change) => {
                if commits.fails_now() {
                    let words = "the database in memory was told to fail";
                    let code = ffi::Error::new(ffi::SQLITE_ERROR);
                    change.reply(Err(Error::SqliteFailure(code, Some(words.to_owned()))));
                    return;
                }
                let durability = change.durability();
                group::commit(&commits.connection, vec![change]);
                durability
            }
        };
        if commits.connection.total_changes() != n_changes {
            commits.note_commit(durability);
        }
    }

    fn commits(&self) -> MutexGuard<'_, MemoryCommits> {
        // A transaction is committed whole or rolled back by the next one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryCommits {
    fn fails_now(&mut self) -> bool {
        let n_left = self.n_until_failure;
        self.n_until_failure = n_left.and_then(|n| n.checked_sub(1));
        n_left == Some(0)
    }

    fn note_commit(&mut self, durability: Durability) {
        // Memory can always be copied.
        let Ok(bytes) = self.connection.serialize(MAIN_DB).map(|it| it.to_vec()) else { return };
        // What was rolled back is no commit, and makes nothing before it durable.
        if *self.unsynced.last().unwrap_or(&self.durable) == bytes {
            return;
        }
        match durability {
            Durability::Synced => {
                self.durable = bytes;
                self.unsynced.clear();
            }
            Durability::Eventual => self.unsynced.push(bytes),
        }
    }
}
