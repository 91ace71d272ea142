//! `cargo xtask torture`: kills, cuts, flips and orders, until something is lost or the list ends.
//!
//! The program is `kith/benches/torture.rs`; here it is built, started, and its tables are put
//! into `docs/measured.md`.

use std::process::ExitCode;

use crate::measured::{self, Flag, Program};
use crate::workspace_root;

pub(crate) const PURPOSE: &str = "kill turns, damage logs, shuffle events; count what is lost";

pub(crate) const HELP: &str = "
cargo xtask torture [--turn] [--log] [--orders N] [--seed S]

Builds with the profile `fast` and does what a crash, a bad disk or a strange log would do. Without
a choice it does all three. Prints counts and seeds, writes them to docs/measured.md with date and
command, and fails if anything was lost, done twice, altered in silence, or panicked.

  --turn      a turn killed at every write and sync (process killed, power cut), its desk failing at
              every system call (needs `strace`), 1,000 random SIGKILLs of the real program, and fifty
              of it at once on one house
  --log       a session file cut at every byte, every bit flipped, pages zeroed, a failing disk
  --orders N  N logs with events in any order: folded, decided, rendered for both vendors
  --first N   with --orders: begin at this log, to repeat one that failed
  --kills N   with --turn: so many random SIGKILLs
  --seed S    where chance begins; the same seed gives the same cases

Examples:
  cargo xtask torture
  cargo xtask torture --orders 1000000 --seed 7
";

const FLAGS: [Flag; 6] = [
    Flag::alone("--turn"),
    Flag::alone("--log"),
    Flag::number("--orders"),
    Flag::number("--first"),
    Flag::number("--kills"),
    Flag::number("--seed"),
];

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    measured::check_flags("torture", args, &FLAGS)?;
    measured::run_and_record(&workspace_root(), Program::of_kith("torture"), args)
}
