//! The one place where an async task may wait for the disk.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work that may block, on this very thread: handing it to another thread and being woken again
/// costs as much as a fast disk does. On a runtime with several workers the other tasks move to
/// another worker meanwhile; a runtime of one thread has no other worker, so it simply runs.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
