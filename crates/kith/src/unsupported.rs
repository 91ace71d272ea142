//! What the program says on systems where it cannot run.
//!
//! Locks, permissions and signals of another kind would be guesses, and guesses lose data.

use std::process::ExitCode;

const UNSUPPORTED: &str =
    "error: kith runs only on Linux and macOS\nhint: on Windows, run it inside WSL";

#[expect(clippy::print_stderr, reason = "the file that prints is for other systems")]
pub(crate) fn run() -> ExitCode {
    eprintln!("{UNSUPPORTED}");
    ExitCode::FAILURE
}
