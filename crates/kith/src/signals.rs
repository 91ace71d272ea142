//! What the kernel tells the program while it runs.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::report::{Blame, Report};

/// The number is the same on Linux and macOS.
const SIGXFSZ: i32 = 25;

/// The hand on the brake: Ctrl-C, or a polite request to end.
pub(crate) struct Brake {
    interrupt: Signal,
    terminate: Signal,
}

impl Brake {
    /// From now on neither ends the program by itself.
    pub(crate) fn take() -> Result<Brake, Report> {
        let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let terminate = signal(SignalKind::terminate()).map_err(failed)?;
        Ok(Brake { interrupt, terminate })
    }

    pub(crate) async fn pulled(&mut self) -> Pulled {
        tokio::select! {
            _ = self.interrupt.recv() => Pulled::Interrupt,
            _ = self.terminate.recv() => Pulled::Terminate,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pulled {
    Interrupt,
    Terminate,
}

/// A file that may not grow any more fails to be written; it does not end the program between two
/// halves of a batch. (The same holds for a closed pipe, which Rust sees to.)
pub(crate) fn outlive_file_limits() -> Result<(), Report> {
    // What was once listened for never has its old effect again.
    signal(SignalKind::from_raw(SIGXFSZ)).map(drop).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn failed(source: io::Error) -> Report {
    let message = format!("cannot listen for signals: {source}");
    Report::new(Blame::Environment, "internal_error", message)
}
