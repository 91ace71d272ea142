//! Which blobs must not be removed because a line is about to name them.
//!
//! A writer pins the hashes of a batch before it puts or reuses a blob, and unpins them when the
//! line that names them is durable. A removal reads the logs without blocking writers and keeps
//! every blob that was pinned since it began. Writers wait only while it unlinks: a blob is either
//! kept, or removed before a writer checks whether it exists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug, Default)]
pub(crate) struct Pins(Arc<Mutex<PinTable>>);

#[derive(Debug, Default)]
struct PinTable {
    /// How many writers are about to name each hash.
    now: BTreeMap<String, usize>,
    n_collections: usize,
    /// The hashes that were pinned at any time during a collection.
    noted: BTreeSet<String>,
}

/// Keeps its blobs from being removed until it is dropped.
#[derive(Debug)]
pub(crate) struct BlobPin {
    pins: Pins,
    hashes: Vec<String>,
}

/// While it lives, every hash that is pinned is noted.
#[derive(Debug)]
pub(crate) struct Collection(Pins);

impl Pins {
    pub(crate) fn pin(&self, hashes: Vec<String>) -> BlobPin {
        if !hashes.is_empty() {
            let mut pinned = self.lock();
            for hash in &hashes {
                *pinned.now.entry(hash.clone()).or_default() += 1;
                if pinned.n_collections > 0 {
                    pinned.noted.insert(hash.clone());
                }
            }
        }
        BlobPin { pins: self.clone(), hashes }
    }

    /// To be called before the first log is read.
    pub(crate) fn begin_collection(&self) -> Collection {
        let mut pinned = self.lock();
        pinned.n_collections += 1;
        let PinTable { now, noted, .. } = &mut *pinned;
        noted.extend(now.keys().cloned());
        Collection(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, PinTable> {
        // Counts and names are changed one by one, so a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collection {
    /// Removes each of the blobs that nobody has pinned since the collection began. No blob can be
    /// pinned meanwhile. Gives those that `remove` was called for.
    pub(crate) fn remove_unpinned<E>(
        &self,
        hashes: &BTreeSet<String>,
        remove: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<BTreeSet<String>, E> {
        let pinned = self.0.lock();
        let mut removed = BTreeSet::new();
        for hash in hashes.difference(&pinned.noted) {
            remove(hash)?;
            removed.insert(hash.clone());
        }
        Ok(removed)
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        let mut pinned = self.0.lock();
        pinned.n_collections -= 1;
        if pinned.n_collections == 0 {
            pinned.noted.clear();
        }
    }
}

impl BlobPin {
    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }
}

impl Drop for BlobPin {
    fn drop(&mut self) {
        if self.hashes.is_empty() {
            return;
        }
        let mut pinned = self.pins.lock();
        for hash in &self.hashes {
            if let Some(n_writers) = pinned.now.get_mut(hash) {
                *n_writers -= 1;
                if *n_writers == 0 {
                    pinned.now.remove(hash);
                }
            }
        }
    }
}
