//! Signals: Ctrl-C, termination and the limit on file sizes.

use std::io;

use kith_host::error::{Blame, CallError, ErrorCode};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The number is the same on Linux and macOS.
const SIGXFSZ: i32 = 25;

/// Ctrl-C or a request to terminate.
pub(crate) struct StopSignal {
    interrupt: Signal,
    terminate: Signal,
    was_received: bool,
}

impl StopSignal {
    /// Starts to catch both signals, so that neither ends the program by itself.
    pub(crate) fn listen() -> Result<StopSignal, CallError> {
        let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let terminate = signal(SignalKind::terminate()).map_err(failed)?;
        Ok(StopSignal { interrupt, terminate, was_received: false })
    }

    pub(crate) async fn received(&mut self) -> StopKind {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => StopKind::Interrupt,
            _ = self.terminate.recv() => StopKind::Terminate,
        };
        self.was_received = true;
        kind
    }

    /// Whether a signal has arrived so far.
    pub(crate) fn was_received(&self) -> bool {
        self.was_received
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopKind {
    Interrupt,
    Terminate,
}

/// Ignores the signal for the limit on file sizes: the write fails instead, and the program does not end
/// in the middle of a batch. (Rust does the same for a closed pipe.)
pub(crate) fn outlive_file_limits() -> Result<(), CallError> {
    // Once a signal is listened for, its default effect is off for the rest of the process.
    signal(SignalKind::from_raw(SIGXFSZ)).map(drop).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn failed(source: io::Error) -> CallError {
    let message = format!("cannot listen for signals: {source}");
    CallError::new(Blame::Environment, ErrorCode::InternalError, message)
}
