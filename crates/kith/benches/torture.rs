//! What the log, the turn and the fold come to when everything goes wrong.
//!
//! Started by `cargo xtask torture`; every case follows from a printed seed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it talks on the terminal, reads the clock, starts processes"
)]

#[cfg(unix)]
#[path = "torture/program.rs"]
mod program;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    program::run()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    println!("kith runs on Linux and macOS only so far, and so does this");
    ExitCode::FAILURE
}
