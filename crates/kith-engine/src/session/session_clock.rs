//! The time of a session's turn.
//!
//! A clock that is set forward or back while a turn runs must neither end the turn nor prolong it.
//! So a turn takes the wall clock once, when it begins or is resumed, and counts monotonic time from
//! there.

use std::sync::Arc;

use kith_vocab::clock::Clock;

pub(super) struct SessionClock {
    clock: Arc<dyn Clock>,
    /// Wall clock and monotonic clock when the turn began or was resumed.
    started: Option<(u64, u64)>,
}

impl SessionClock {
    pub(super) fn new(clock: Arc<dyn Clock>) -> SessionClock {
        SessionClock { clock, started: None }
    }

    pub(super) fn start(&mut self) {
        self.started = Some((self.clock.now(), self.clock.monotonic()));
    }

    pub(super) fn stop(&mut self) {
        self.started = None;
    }

    pub(super) fn now(&self) -> u64 {
        match self.started {
            None => self.clock.now(),
            Some((wall, monotonic)) => {
                wall.saturating_add(self.clock.monotonic().saturating_sub(monotonic))
            }
        }
    }
}
