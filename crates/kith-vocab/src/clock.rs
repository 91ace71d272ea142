//! The clock and the source of ids.

use std::pin::Pin;

use uuid::Uuid;

/// A future behind a port.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The only thing that knows the time. A replay feeds it what the log recorded.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970, UTC. It may jump either way: people and servers set clocks.
    fn now(&self) -> u64;

    /// Milliseconds since some start of its own. It never goes back, so waits are measured by it.
    fn monotonic(&self) -> u64;

    /// A new UUIDv7, greater than any before it in this process.
    fn new_id(&self) -> Uuid;

    /// Returns when so much monotonic time has passed.
    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()>;
}
