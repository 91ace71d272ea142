//! The one place where an async task may wait for the disk.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Number of [`OthersWaiting`] there are.
static N_OTHERS: AtomicUsize = AtomicUsize::new(0);

/// Runs work that may take long, on this very thread: handing it to another thread and being woken again
/// costs as much as a fast disk does. The other tasks of a runtime with workers move to another thread
/// meanwhile; a runtime of one thread has none, so the work simply runs.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

/// Runs work that is short on a sound disk: one append, a look at some files. A runtime with one worker
/// has one command to serve, which waits for this work: to move its tasks to another thread would cost
/// more than the work. That changes while others wait too.
pub fn briefly<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => {
            let is_alone =
                runtime.metrics().num_workers() == 1 && N_OTHERS.load(Ordering::Relaxed) == 0;
            if is_alone { work() } else { block_in_place(work) }
        }
        _ => work(),
    }
}

/// Begins work at once, on a thread of its own if the runtime has workers, so that the caller can do
/// something else before it waits for the result. A runtime of one thread does it here and now.
pub fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> {
    let begun = match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => {
            Err(runtime.spawn_blocking(work))
        }
        _ => Ok(work()),
    };
    async move {
        match begun {
            Ok(done) => done,
            Err(thread) => match thread.await {
                Ok(done) => done,
                Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                // The runtime ends, and so does the caller.
                Err(_) => pending().await,
            },
        }
    }
}

/// Says that others than the command of this process wait for its tasks, until it is dropped.
#[derive(Debug)]
pub struct OthersWaiting(());

impl OthersWaiting {
    #[expect(clippy::new_without_default, reason = "it counts")]
    pub fn new() -> OthersWaiting {
        N_OTHERS.fetch_add(1, Ordering::Relaxed);
        OthersWaiting(())
    }
}

impl Drop for OthersWaiting {
    fn drop(&mut self) {
        N_OTHERS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
