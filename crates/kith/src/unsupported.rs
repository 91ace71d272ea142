//! The program on systems where it cannot run: it prints why.
//!
//! Locks, permissions and signals work differently there. Guessing how would risk losing data.

use std::process::ExitCode;

const UNSUPPORTED: &str =
    "error: kith runs only on Linux and macOS\nhint: on Windows, run it inside WSL";

#[expect(clippy::print_stderr, reason = "the file that prints is for other systems")]
pub(crate) fn run() -> ExitCode {
    eprintln!("{UNSUPPORTED}");
    ExitCode::FAILURE
}
