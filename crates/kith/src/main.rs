//! The program: arguments, commands and what is printed. The running house is `kith-host`.
//!
//! - [`args`]: the command line, as typed.
//! - [`commands`]: one file per verb.
//! - [`resources`]: threads and descriptors, and what happens where there are none.
//! - [`signals`]: what the kernel tells the program.
//! - [`screen`], [`transcript`]: a turn as it is watched, a session as a person reads it.
//! - [`branches`], [`columns`]: the tree of a session in a terminal.
//! - [`ui`]: the only place that prints.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare folders"))]

#[cfg(unix)]
mod args;
#[cfg(unix)]
mod branches;
#[cfg(unix)]
mod columns;
#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod resources;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod transcript;
#[cfg(unix)]
mod ui;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    resources::end_without_threads();
    ui::conclude(guarded(|| match args::Invocation::parse() {
        Ok(invocation) => commands::run(invocation),
        Err(code) => code,
    }))
}

/// A panic is a broken promise of ours. It must not look like a refusal or a failed disk.
#[cfg(unix)]
fn guarded(run: impl FnOnce() -> ExitCode + std::panic::UnwindSafe) -> ExitCode {
    use kith_host::error::CallError;

    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        let bug = CallError::bug("this is a bug in kith")
            .hint("please report it and include the lines above");
        ui::failure(&bug, args::asks_for_json())
    })
}

#[cfg(any(test, not(unix)))]
const UNSUPPORTED: &str =
    "error: kith runs only on Linux and macOS\nhint: on Windows, run it inside WSL";

/// Locks, permissions and signals of another kind would be guesses, and guesses lose data.
#[cfg(not(unix))]
#[expect(clippy::print_stderr, reason = "here is no other file than this one")]
fn main() -> ExitCode {
    eprintln!("{UNSUPPORTED}");
    ExitCode::FAILURE
}

#[cfg(all(unix, test))]
mod tests;
