//! What Kith costs, beside the least that the same work could cost.
//!
//! Started by `cargo xtask bench`. Machines differ, so every time stands beside a reference that
//! was measured in the same run, and the goal is their ratio.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it talks on the terminal, reads the clock, starts processes"
)]

#[cfg(unix)]
#[path = "bench/program.rs"]
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
