//! Records tests that cannot run on this machine, so that the summary names them.
//!
//! A test that returns early looks like one that passed. One that cannot run here says so, and
//! `cargo xtask test` names it in its summary.

use std::fs::File;
use std::io::Write;

/// The file to which `cargo xtask test` has such tests write, a line each.
pub const SKIPPED_FILE: &str = "KITH_SKIPPED_TESTS";

/// Notes that the test of this name, or a part of it, did not run, and why.
pub fn note(test: &str, why: &str) {
    let Some(path) = std::env::var_os(SKIPPED_FILE) else { return };
    let mut file = File::options().append(true).create(true).open(path).expect("a file to note in");
    file.write_all(format!("{test}: {why}\n").as_bytes()).expect("a line can be noted");
}
