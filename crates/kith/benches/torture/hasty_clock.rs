//! The time of day, in which waits are a hundred times shorter.
//!
//! Here nobody waits for a person or a vendor, only for the second after which something is tried
//! again. A clock that jumped over its waits would also jump to the deadlines of what is under way.

use std::time::{Duration, Instant};

use kith_vocab::clock::{BoxFuture, Clock};
use uuid::Uuid;

use super::house::WallClock;

const HASTE: u32 = 100;

pub(crate) struct HastyClock {
    start: Instant,
    start_ms: u64,
}

impl HastyClock {
    pub(crate) fn new() -> HastyClock {
        HastyClock { start: Instant::now(), start_ms: WallClock.now() }
    }
}

impl Clock for HastyClock {
    fn now(&self) -> u64 {
        self.start_ms + self.monotonic()
    }

    fn monotonic(&self) -> u64 {
        u64::try_from((self.start.elapsed() * HASTE).as_millis()).unwrap_or(u64::MAX)
    }

    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms) / HASTE))
    }
}
