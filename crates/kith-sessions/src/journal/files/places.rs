//! Places of an open log from which its newer part can be read.
//!
//! A follower that falls behind reads new events from the log. In a long log it must not read
//! everything before them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::checkpoint::CheckpointPlace;
use crate::log::SessionLog;

/// Distance between two remembered places; less than this is read again.
const PLACE_BYTES_APART: u64 = 256 * 1024;
/// Maximum number of places per open session; the oldest is forgotten.
const PLACES_MAX: usize = 4;

#[derive(Default)]
pub(super) struct ReadPlaces(Mutex<VecDeque<CheckpointPlace>>);

impl ReadPlaces {
    /// Remembers the end of the log, if it has grown enough since the last place.
    pub(super) fn note(&self, log: &SessionLog) {
        let mut places = self.places();
        let last = places.back().map_or(0, |place| place.offset);
        if log.byte_len() < last + PLACE_BYTES_APART {
            return;
        }
        places.extend(log.checkpoint_place());
        if places.len() > PLACES_MAX {
            places.pop_front();
        }
    }

    pub(super) fn clear(&self) {
        self.places().clear();
    }

    /// The last place before the events after `after_seq`.
    pub(super) fn before(&self, after_seq: u64) -> Option<CheckpointPlace> {
        self.places().iter().rfind(|place| place.head.seq <= after_seq).cloned()
    }

    fn places(&self) -> MutexGuard<'_, VecDeque<CheckpointPlace>> {
        // Places are put and taken whole, and none is needed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
