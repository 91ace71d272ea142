//! The program `kith`, in one of two forms: where it can run, and where it says that it cannot.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare folders"))]

#[cfg_attr(unix, path = "program.rs")]
#[cfg_attr(not(unix), path = "unsupported.rs")]
mod program;

fn main() -> std::process::ExitCode {
    program::run()
}
