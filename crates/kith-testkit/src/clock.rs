//! Time that stands still until it is told to move.
//!
//! A test that reads the real clock gives another log on every run. Here the time is what the test
//! says, and ids are counted, so that a whole session file can be compared byte for byte.

use std::sync::Mutex;

use kith_vocab::clock::{BoxFuture, Clock};
use tokio::sync::watch;
use uuid::Uuid;

/// 2026-11-15T12:00:00Z.
pub const START: u64 = 1_794_744_000_000;

/// How the clock treats someone who waits for a time that has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    /// The clock jumps to that time and the wait is over.
    Jumps,
    /// The wait lasts until the test moves the clock.
    Holds,
}

#[derive(Debug)]
pub struct FakeClock {
    now: watch::Sender<u64>,
    sleep: Sleep,
    ids: Mutex<Ids>,
    slept: Mutex<Vec<u64>>,
}

#[derive(Debug)]
struct Ids {
    /// Time never runs back in an id, even when the clock does.
    latest: u64,
    next: u64,
}

impl FakeClock {
    pub fn new() -> FakeClock {
        FakeClock::starting_at_id(1)
    }

    /// For a process that is started again: its ids must not repeat those of the one before it.
    pub fn starting_at_id(next: u64) -> FakeClock {
        FakeClock {
            now: watch::Sender::new(START),
            sleep: Sleep::Jumps,
            ids: Mutex::new(Ids { latest: START, next }),
            slept: Mutex::new(Vec::new()),
        }
    }

    /// Lets those who sleep wait for [`FakeClock::advance`]: for code that races a deadline
    /// against work, where a clock that jumps would always let the deadline win.
    #[must_use]
    pub fn holding_sleepers(mut self) -> FakeClock {
        self.sleep = Sleep::Holds;
        self
    }

    pub fn advance(&self, ms: u64) {
        self.now.send_modify(|now| *now += ms);
    }

    /// Sets the time, also to an earlier one: clocks are put right while programs run.
    pub fn jump_to(&self, ms: u64) {
        self.now.send_replace(ms);
    }

    /// The times that someone has waited for, in order.
    pub fn slept(&self) -> Vec<u64> {
        self.slept.lock().unwrap().clone()
    }

    /// The number the next id will carry: where a restarted process may start.
    pub fn next_id_number(&self) -> u64 {
        self.ids.lock().unwrap().next
    }
}

impl Default for FakeClock {
    fn default() -> FakeClock {
        FakeClock::new()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> u64 {
        *self.now.borrow()
    }

    fn new_id(&self) -> Uuid {
        let mut ids = self.ids.lock().unwrap();
        ids.latest = ids.latest.max(self.now());
        let id = numbered_id(ids.latest, ids.next);
        ids.next += 1;
        id
    }

    fn sleep_until(&self, time: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.slept.lock().unwrap().push(time);
            if self.sleep == Sleep::Jumps {
                self.now.send_modify(|now| *now = (*now).max(time));
                return;
            }
            let mut now = self.now.subscribe();
            now.wait_for(|now| *now >= time).await.expect("the clock outlives those who wait");
        })
    }
}

/// The UUIDv7 with this time and this number in place of the random bits.
pub fn numbered_id(ms: u64, number: u64) -> Uuid {
    const VERSION_7: u128 = 0x7 << 76;
    const VARIANT: u128 = 0b10 << 62;
    const NUMBER_MAX: u64 = (1 << 62) - 1;
    assert!(number <= NUMBER_MAX && ms < 1 << 48, "an id has 62 bits for its number, 48 for time");
    Uuid::from_u128(u128::from(ms) << 80 | VERSION_7 | VARIANT | u128::from(number))
}

#[cfg(test)]
mod tests;
