//! The clock and the source of ids.

use std::pin::Pin;

use uuid::Uuid;

/// A future behind a port.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The only thing that knows the time. A replay feeds it what the log recorded.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970, UTC.
    fn now(&self) -> u64;

    /// A new UUIDv7, greater than any before it in this process.
    fn new_id(&self) -> Uuid;

    /// Returns when [`Clock::now`] has reached the time.
    fn sleep_until(&self, time: u64) -> BoxFuture<'_, ()>;
}
