//! Wakes those who wait for something to change, in the order in which they began to wait.
//!
//! `tokio::sync::watch` wakes several of them in an order that it draws, and a simulation must run
//! again as it ran.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Changes {
    n_changes: AtomicU64,
    wake: Notify,
}

impl Changes {
    pub(super) fn announce(&self) {
        self.n_changes.fetch_add(1, Ordering::SeqCst);
        self.wake.notify_waiters();
    }

    pub(super) fn count(&self) -> u64 {
        self.n_changes.load(Ordering::SeqCst)
    }

    /// Returns when there were more than those that were seen.
    pub(super) async fn after(&self, n_seen: u64) {
        loop {
            // Made before it is looked: it is woken by whatever is announced from here on.
            let woken = self.wake.notified();
            if self.count() != n_seen {
                return;
            }
            woken.await;
        }
    }
}
