//! The time that counts against a turn's limit.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnClock {
    /// Time that counts began here: waiting for a person, and time during which no host ran, move it
    /// on.
    pub start: u64,
    waiting_since: Option<u64>,
}

impl TurnClock {
    pub(super) fn starting_at(start: u64) -> TurnClock {
        TurnClock { start, waiting_since: None }
    }

    /// Nothing ran since then. Waiting is counted elsewhere.
    pub(super) fn skip_from(&mut self, last_ts: u64, ts: u64) {
        if self.waiting_since.is_none() {
            self.start = self.start.saturating_add(ts.saturating_sub(last_ts));
        }
    }

    /// Notes whether a person is waited for.
    pub(super) fn note_waiting(&mut self, is_waiting: bool, ts: u64) {
        match (self.waiting_since, is_waiting) {
            (None, true) => self.waiting_since = Some(ts),
            (Some(since), false) => {
                self.start = self.start.saturating_add(ts.saturating_sub(since));
                self.waiting_since = None;
            }
            _ => (),
        }
    }
}
