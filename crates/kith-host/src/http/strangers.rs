//! Connections that have not shown yet that they are the owner's.
//!
//! Anybody on this machine can open connections and send nothing. When all places are taken, the one
//! that has been a stranger for longest gives its place up, so that the owner's next one finds one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// The connections of strangers, the oldest first.
#[derive(Default)]
pub(super) struct Strangers {
    waiting: Mutex<StrangerList>,
}

#[derive(Default)]
struct StrangerList {
    next: u64,
    by_age: BTreeMap<u64, CancellationToken>,
}

/// One connection, for as long as it lives.
pub(super) struct Stranger {
    number: u64,
    list: Arc<Strangers>,
    /// It is to be closed.
    pub(super) closed: CancellationToken,
}

impl Strangers {
    pub(super) fn enter(self: &Arc<Self>) -> Stranger {
        let closed = CancellationToken::new();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waiting.next;
        waiting.next += 1;
        waiting.by_age.insert(number, closed.clone());
        Stranger { number, list: Arc::clone(self), closed }
    }

    /// Closes the oldest one. False if there is none.
    pub(super) fn close_oldest(&self) -> bool {
        let oldest = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).by_age.pop_first();
        oldest.inspect(|(_, closed)| closed.cancel()).is_some()
    }
}

impl Stranger {
    /// The connection is the owner's, and keeps its place.
    pub(super) fn mark_authenticated(&self) {
        self.leave_list();
    }

    fn leave_list(&self) {
        let mut waiting = self.list.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.by_age.remove(&self.number);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.leave_list();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_goes_first_and_the_owner_never() {
        let strangers = Arc::<Strangers>::default();
        let [owner, first, second, left] = std::array::from_fn(|_| strangers.enter());
        owner.mark_authenticated();
        drop(left);
        assert!(strangers.close_oldest());
        assert!(first.closed.is_cancelled() && !second.closed.is_cancelled());
        assert!(strangers.close_oldest() && second.closed.is_cancelled());
        assert!(!strangers.close_oldest() && !owner.closed.is_cancelled());
    }
}
