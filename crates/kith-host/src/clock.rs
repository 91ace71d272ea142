//! The real clock.

#![expect(clippy::disallowed_methods, reason = "this is the one place that knows the time")]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kith_vocab::clock::{BoxFuture, Clock};
use uuid::{NoContext, Timestamp, Uuid};

pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn new_id(&self) -> Uuid {
        id_at(SystemTime::now())
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

/// An id made at this time. Ids of this process rise.
fn id_at(now: SystemTime) -> Uuid {
    // There is no id of a time before 1970, which a machine without a battery may show. Such ids count
    // up from there.
    static BEFORE_1970: AtomicU64 = AtomicU64::new(0);
    if now < UNIX_EPOCH {
        let ms = BEFORE_1970.fetch_add(1, Ordering::Relaxed);
        let ns = u32::try_from(ms % 1000).unwrap_or_default() * 1_000_000;
        return Uuid::new_v7(Timestamp::from_unix(NoContext, ms / 1000, ns));
    }
    // Counts up within a millisecond.
    Uuid::now_v7()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_gives_ids_that_rise() {
        let before = UNIX_EPOCH - Duration::from_hours(100 * 365 * 24);
        let ids: Vec<Uuid> = (0..2_000).map(|_| id_at(before)).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        assert!(ids.iter().all(|id| *id < id_at(SystemTime::now())));
    }
}
