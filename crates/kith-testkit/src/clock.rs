//! Time that stands still until it is told to move.
//!
//! A test that reads the real clock gives another log on every run. Here the time is what the test
//! says, and ids are counted, so that a whole session file can be compared byte for byte. As on a
//! real machine there are two clocks: people can set the wall clock, and waits go by the other.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kith_vocab::clock::{BoxFuture, Clock};
use tokio::sync::watch;
use uuid::Uuid;

/// 2026-11-15T12:00:00Z.
pub const START: u64 = 1_794_744_000_000;

/// How the clock treats someone who waits for a time that has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    /// Both clocks jump to the end of the wait.
    Jumps,
    /// The wait lasts until the test moves the clock.
    Holds,
    /// The wait lasts until nothing else can happen: tokio's paused clock moves on by itself then.
    Idles,
}

#[derive(Debug)]
pub struct FakeClock {
    times: Arc<watch::Sender<Times>>,
    sleep: Sleep,
    ids: Mutex<Ids>,
    waits: Arc<Mutex<Vec<u64>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    wall: u64,
    monotonic: u64,
}

impl Times {
    fn advance(&mut self, ms: u64) {
        self.wall = self.wall.saturating_add(ms);
        self.monotonic = self.monotonic.saturating_add(ms);
    }
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
    /// Its monotonic clock starts anew, as a machine's does.
    pub fn starting_at_id(next: u64) -> FakeClock {
        FakeClock {
            times: Arc::new(watch::Sender::new(Times { wall: START, monotonic: 0 })),
            sleep: Sleep::Jumps,
            ids: Mutex::new(Ids { latest: START, next }),
            waits: Arc::default(),
        }
    }

    /// Lets those who sleep wait for [`FakeClock::advance`]: for code that races a deadline
    /// against work, where a clock that jumps would always let the deadline win.
    #[must_use]
    pub fn holding_sleepers(mut self) -> FakeClock {
        self.sleep = Sleep::Holds;
        self
    }

    /// Lets those who sleep wait until every task waits for something: for a whole program on a
    /// runtime whose clock is paused (`#[tokio::test(start_paused = true)]`).
    #[must_use]
    pub fn passing_when_idle(mut self) -> FakeClock {
        self.sleep = Sleep::Idles;
        self
    }

    /// Lets time pass: both clocks move on.
    pub fn advance(&self, ms: u64) {
        self.times.send_modify(|times| times.advance(ms));
    }

    /// Sets the wall clock, also to an earlier time: clocks are put right while programs run. The
    /// monotonic clock does not notice, so nobody's wait ends by this.
    pub fn jump_to(&self, ms: u64) {
        self.times.send_modify(|times| times.wall = ms);
    }

    /// How long each sleeper wanted to wait, in milliseconds and in the order in which they began.
    pub fn slept(&self) -> Vec<u64> {
        self.waits.lock().unwrap().clone()
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
        self.times.borrow().wall
    }

    fn monotonic(&self) -> u64 {
        self.times.borrow().monotonic
    }

    fn new_id(&self) -> Uuid {
        let mut ids = self.ids.lock().unwrap();
        ids.latest = ids.latest.max(self.now());
        let id = numbered_id(ids.latest, ids.next);
        ids.next += 1;
        id
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        let (times, waits, sleep) = (Arc::clone(&self.times), Arc::clone(&self.waits), self.sleep);
        // Counted from the call, as a timer's wait is, not from the first time it is polled.
        let end = self.monotonic().saturating_add(ms);
        Box::pin(async move {
            waits.lock().unwrap().push(ms);
            if sleep == Sleep::Jumps {
                times.send_modify(|times| times.advance(end.saturating_sub(times.monotonic)));
                return;
            }
            if sleep == Sleep::Idles {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                times.send_modify(|times| times.advance(end.saturating_sub(times.monotonic)));
                return;
            }
            let mut seen = times.subscribe();
            seen.wait_for(|times| times.monotonic >= end).await.expect("the sleeper holds it");
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
