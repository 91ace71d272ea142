//! Checks that there are enough threads, descriptors and memory before anything starts.
//!
//! The runtime panics when it cannot start a thread, and a panic in the middle of a turn may leave a host
//! that waits for itself for ever and keeps the lock. So threads are tried before the lock is taken; if
//! they run out later, the program ends. Nothing is lost by that: everything is on the disk, and the
//! next host goes on.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{self, PanicHookInfo};
use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread;

use kith_host::error::{Blame, CallError, ErrorCode};

use crate::program::{args, ui};

/// Threads that a busy host runs at once beside its workers and their replacements while they wait for a
/// disk: for signals, stdin, a tool and a long list.
const THREADS: usize = 4;
/// Descriptors that a busy host has open beside the standard streams.
const DESCRIPTORS: usize = 20;
/// Memory that a busy host takes beside the stacks of its threads.
const MEMORY_BYTES: usize = 48 * 1024 * 1024;

/// Refuses to start without the threads, descriptors and memory that a host needs. If memory runs out
/// later, the program can only abort.
pub(crate) fn require(n_workers: usize) -> Result<(), CallError> {
    let descriptors: io::Result<Vec<OwnedFd>> =
        (0..DESCRIPTORS).map(|_| io::stdin().as_fd().try_clone_to_owned()).collect();
    if let Err(error) = descriptors {
        let message = format!("cannot open {DESCRIPTORS} files at once: {error}");
        return Err(refusal(message).hint("raise the limit on open files (`ulimit -n`)"));
    }
    // Held while the threads are tried, and never touched.
    let mut memory: Vec<u8> = Vec::new();
    if memory.try_reserve_exact(MEMORY_BYTES).is_err() {
        let message = format!("cannot get {} MiB of memory", MEMORY_BYTES >> 20);
        return Err(refusal(message).hint("raise the limit on memory (`ulimit -d`, `ulimit -v`)"));
    }
    let gate = Mutex::new(());
    let started = thread::scope(|scope| {
        // All run at once: none ends before the last one was started.
        let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
        (0..THREADS + 2 * n_workers)
            .try_for_each(|_| thread::Builder::new().spawn_scoped(scope, wait).map(drop))
    });
    started.map_err(|error| out_of_threads(&error.to_string()))
}

/// Ends the program when the runtime cannot start a thread, instead of letting it wait for itself.
pub(crate) fn end_without_threads() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let Some(reason) = spawn_failure(panic) else { return usual(panic) };
        ui::report_error(&out_of_threads(&reason), args::asks_for_json());
        process::exit(i32::from(ui::EXIT_ENVIRONMENT));
    }));
}

/// Why no thread could be started. The runtime and the standard library report it only by these messages.
fn spawn_failure(panic: &PanicHookInfo<'_>) -> Option<String> {
    let said = panic.payload_as_str()?;
    let starts = ["OS can't spawn worker thread: ", "failed to spawn thread: "];
    starts.iter().find_map(|start| said.strip_prefix(start)).map(str::to_owned)
}

pub(crate) fn out_of_threads(reason: &str) -> CallError {
    refusal(format!("cannot start another thread: {reason}")).hint(
        "raise the limit on processes or memory (`ulimit -u`, `ulimit -d`) or close other \
         programs; accepted messages are kept and answered next time",
    )
}

fn refusal(message: String) -> CallError {
    CallError::new(Blame::Environment, ErrorCode::RuntimeBusy, message)
}
