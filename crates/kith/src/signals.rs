//! Signals: Ctrl-C, termination and the limit on file sizes.

use std::io;
use std::thread;

use kith_host::error::{Blame, CallError, ErrorCode};
use kith_vocab::clock::BoxFuture;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::program::resources::out_of_threads;

/// The number is the same on Linux and macOS.
const SIGXFSZ: i32 = 25;

/// Signals that wait to be acted on; more of them say nothing new.
const SIGNALS_WAITING_MAX: usize = 16;

/// Ctrl-C or a request to terminate.
pub(crate) struct StopSignal {
    heard: mpsc::Receiver<StopKind>,
    was_received: bool,
}

impl StopSignal {
    /// Starts to catch both signals, so that neither ends the program by itself.
    ///
    /// They are heard on a thread of their own: the program's one worker may be waiting for a disk that
    /// does not answer.
    pub(crate) fn listen() -> Result<StopSignal, CallError> {
        // Started first: a runtime cannot be dropped here.
        let (hand_over, handed) = std::sync::mpsc::channel::<(Runtime, BoxFuture<'static, ()>)>();
        let listen = move || {
            if let Ok((runtime, listening)) = handed.recv() {
                runtime.block_on(listening);
            }
        };
        let thread = thread::Builder::new().name("kith-signals".to_owned());
        thread.spawn(listen).map_err(|error| out_of_threads(&error.to_string()))?;
        let runtime = Builder::new_current_thread().enable_io().build().map_err(failed)?;
        let signals = {
            let _context = runtime.enter();
            let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()];
            signal(interrupt).and_then(|interrupt| Ok((interrupt, signal(terminate)?)))
        };
        let (mut interrupt, mut terminate) = match signals {
            Ok(signals) => signals,
            Err(error) => {
                runtime.shutdown_background();
                return Err(failed(error));
            }
        };
        let (sender, heard) = mpsc::channel(SIGNALS_WAITING_MAX);
        let listening = async move {
            loop {
                let kind = tokio::select! {
                    () = sender.closed() => return,
                    _ = interrupt.recv() => StopKind::Interrupt,
                    _ = terminate.recv() => StopKind::Terminate,
                };
                // Without room, enough of them wait.
                sender.try_send(kind).ok();
            }
        };
        // It waits for this and for nothing else.
        hand_over.send((runtime, Box::pin(listening))).ok();
        Ok(StopSignal { heard, was_received: false })
    }

    pub(crate) async fn received(&mut self) -> StopKind {
        let Some(kind) = self.heard.recv().await else { return std::future::pending().await };
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
        .hint("raise the limit on open files (`ulimit -n`)")
}
