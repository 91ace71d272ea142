//! Which threads of a house changed.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use kith_vocab::ids::SessionId;

use super::ThreadKey;
use super::changes::Changes;

/// Changes that are kept for subscribers that are slow.
const CHANGES_MAX: usize = 1024;

/// A thread in which something happened, and the session it happened in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadChange {
    pub thread: ThreadKey,
    pub session_id: SessionId,
}

#[derive(Debug, Default)]
pub(super) struct HouseFeed {
    recent: Mutex<RecentChanges>,
    changes: Changes,
}

#[derive(Debug, Default)]
struct RecentChanges {
    /// How many changes there were before the first that is kept.
    n_dropped: u64,
    changes: VecDeque<ThreadChange>,
}

impl HouseFeed {
    pub(super) fn push(&self, change: ThreadChange) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.changes.len() == CHANGES_MAX {
            recent.changes.pop_front();
            recent.n_dropped += 1;
        }
        recent.changes.push_back(change);
        drop(recent);
        self.changes.announce();
    }

    pub(super) fn subscribe(house: &Arc<HouseFeed>) -> HouseSubscription {
        let recent = house.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let n_seen = recent.n_dropped + recent.changes.len() as u64;
        HouseSubscription { house: Arc::clone(house), n_seen, n_missed: 0 }
    }
}

/// Follows the threads of a house.
#[derive(Debug)]
pub struct HouseSubscription {
    house: Arc<HouseFeed>,
    n_seen: u64,
    n_missed: u64,
}

impl HouseSubscription {
    /// Waits for changes and returns them: each session of a thread once, in the order in which
    /// they changed last.
    pub async fn next(&mut self) -> Vec<ThreadChange> {
        loop {
            let n_changes = self.house.changes.count();
            let changes = self.take();
            if !changes.is_empty() {
                return changes;
            }
            self.house.changes.after(n_changes).await;
        }
    }

    /// Number of changes that were dropped since the last call; if any, check all threads.
    pub fn take_missed(&mut self) -> u64 {
        std::mem::take(&mut self.n_missed)
    }

    fn take(&mut self) -> Vec<ThreadChange> {
        let recent = self.house.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = self.n_seen.saturating_sub(recent.n_dropped);
        self.n_missed += recent.n_dropped.saturating_sub(self.n_seen);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let new = recent.changes.iter().skip(skipped);
        let mut seen = BTreeSet::new();
        let last = new.rev().filter(|change| seen.insert(*change)).cloned();
        let mut changes: Vec<ThreadChange> = last.collect();
        changes.reverse();
        self.n_seen = recent.n_dropped + recent.changes.len() as u64;
        changes
    }
}
