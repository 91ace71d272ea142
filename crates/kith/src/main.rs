//! The program `kith`. On systems where it cannot run, it only says so.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare folders"))]

#[cfg_attr(unix, path = "program.rs")]
#[cfg_attr(not(unix), path = "unsupported.rs")]
mod program;

fn main() -> std::process::ExitCode {
    program::run()
}
