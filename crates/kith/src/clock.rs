//! The real clock.

#![expect(clippy::disallowed_methods, reason = "this is the one place that knows the time")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kith_vocab::clock::{BoxFuture, Clock};
use uuid::Uuid;

pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn new_id(&self) -> Uuid {
        // Counts up within a millisecond, so ids of this process rise.
        Uuid::now_v7()
    }

    fn sleep_until(&self, time: u64) -> BoxFuture<'_, ()> {
        let wait = Duration::from_millis(time.saturating_sub(self.now()));
        Box::pin(tokio::time::sleep(wait))
    }
}
