//! Which work lets the other tasks of a runtime go on.

use std::panic::catch_unwind;

use tokio::runtime::{Builder, Handle, Runtime};

use super::{OthersWaiting, blocking, briefly};

fn with_workers(n: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(n).build().unwrap()
}

/// Whether the worker's place was handed on: only then may the thread wait for a future.
fn hands_on(runtime: &Runtime, run: fn(fn() -> bool) -> bool) -> bool {
    let may_wait = || catch_unwind(|| Handle::current().block_on(async {})).is_ok();
    runtime.block_on(runtime.spawn(async move { run(may_wait) })).unwrap()
}

/// One test, because those who wait are counted for the whole process.
#[test]
fn short_work_keeps_the_thread_of_a_command_that_nobody_else_waits_for() {
    let (one, two) = (with_workers(1), with_workers(2));
    assert!(hands_on(&one, blocking));
    assert!(hands_on(&two, briefly));
    assert!(!hands_on(&one, briefly));
    let others = OthersWaiting::new();
    assert!(hands_on(&one, briefly));
    drop(others);
    assert!(!hands_on(&one, briefly));
}
