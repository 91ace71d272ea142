//! The desk in memory, for replays and tests.
//!
//! It knows which commits were synced, so a test can have the desk that a power cut leaves: the
//! durable part and as many of the later commits as it likes, in their order. A synced commit makes
//! all before it durable, as in SQLite's write-ahead log.

mod nouns;
mod tables;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Desk;
use crate::database::Durability;
use crate::storage::{StorageError, StorageErrorKind, StorageFuture};
use tables::Tables;

/// A handle on a desk in memory; clones are the same desk.
#[derive(Clone, Debug)]
pub struct MemoryDesk(Arc<OpenTables>);

#[derive(Debug)]
struct OpenTables {
    device_id: String,
    found_generation: u64,
    commits: Mutex<Commits>,
}

#[derive(Debug)]
struct Commits {
    durable: Tables,
    /// The tables after each commit that was not synced.
    unsynced: Vec<Tables>,
    /// How many commits succeed before one fails.
    n_until_failure: Option<usize>,
}

impl Commits {
    fn current(&self) -> &Tables {
        self.unsynced.last().unwrap_or(&self.durable)
    }
}

impl MemoryDesk {
    pub fn new(device_id: &str) -> MemoryDesk {
        MemoryDesk::of(device_id, Tables::default())
    }

    /// How many commits a power cut could take.
    pub fn n_unsynced(&self) -> usize {
        self.commits().unsynced.len()
    }

    /// The desk that a power cut leaves: what is durable and the first `keep_unsynced` of the
    /// commits that were not synced. This handle stays as it is.
    #[must_use]
    pub fn crash(&self, keep_unsynced: usize) -> MemoryDesk {
        let commits = self.commits();
        let kept = keep_unsynced.min(commits.unsynced.len()).checked_sub(1);
        let tables = kept.and_then(|last| commits.unsynced.get(last)).unwrap_or(&commits.durable);
        MemoryDesk::of(&self.0.device_id, tables.clone())
    }

    /// The desk as it is now, to be put back later.
    #[must_use]
    pub fn copy(&self) -> MemoryDesk {
        MemoryDesk::of(&self.0.device_id, self.commits().current().clone())
    }

    /// Lets the n-th commit from now on, counted from 0, fail and change nothing.
    pub fn fail_commit_at(&self, n: usize) {
        self.commits().n_until_failure = Some(n);
    }

    fn of(device_id: &str, tables: Tables) -> MemoryDesk {
        let found_generation = tables.generation;
        let commits = Commits { durable: tables, unsynced: Vec::new(), n_until_failure: None };
        let device_id = device_id.to_owned();
        let commits = Mutex::new(commits);
        MemoryDesk(Arc::new(OpenTables { device_id, found_generation, commits }))
    }

    fn commits(&self) -> MutexGuard<'_, Commits> {
        // A change is made to a copy, so a panic leaves the tables as they were.
        self.0.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T: Send + 'static>(&self, work: impl FnOnce(&Tables) -> T) -> StorageFuture<'_, T> {
        let answer = work(self.commits().current());
        Box::pin(std::future::ready(Ok(answer)))
    }

    /// Changes something in one commit. What refuses has changed nothing.
    fn change<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut Tables) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut commits = self.commits();
        let mut tables = commits.current().clone();
        let answer = work(&mut tables)?;
        match commits.n_until_failure {
            Some(0) => {
                commits.n_until_failure = None;
                let message = "the desk in memory was told to fail";
                return Err(StorageError::new(StorageErrorKind::Unavailable, message));
            }
            Some(n) => commits.n_until_failure = Some(n - 1),
            None => (),
        }
        match durability {
            Durability::Synced => {
                commits.durable = tables;
                commits.unsynced.clear();
            }
            Durability::Eventual => commits.unsynced.push(tables),
        }
        Ok(answer)
    }

    fn change_now<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tables) -> Result<T, StorageError>,
    ) -> StorageFuture<'_, T> {
        Box::pin(std::future::ready(self.change(Durability::Synced, work)))
    }

    /// Makes a change that no caller waits for; a failure is not reported.
    fn change_later(&self, work: impl FnOnce(&mut Tables)) -> StorageFuture<'_, ()> {
        let changed = self.change(Durability::Eventual, |tables| {
            work(tables);
            Ok(())
        });
        changed.ok();
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Desk for MemoryDesk {
    fn device_id(&self) -> &str {
        &self.0.device_id
    }

    fn generation(&self) -> StorageFuture<'_, u64> {
        self.read(|tables| tables.generation)
    }

    fn raise_generation(&self, generation: u64) -> StorageFuture<'_, ()> {
        self.change_now(move |tables| {
            tables.generation = tables.generation.max(generation);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
