//! `cargo xtask bench`: what Kith costs, beside the least that the same work could cost.
//!
//! The program is `kith/benches/bench.rs`; here it is built, started, and its table is put into
//! `docs/measured.md`.

use std::process::ExitCode;

use crate::measured::{self, Flag, Program};
use crate::workspace_root;

pub(crate) const PURPOSE: &str = "measure every figure beside its reference in the same run";

pub(crate) const HELP: &str = "
cargo xtask bench [--only PART]

Builds with the profile `fast` and measures: start, cost of a step, turns per second, appends, old
and large and many sessions, memory. A fake model server runs as a process of its own; a bare loop
and raw `fdatasync` run beside it. Prints a table with ratios and goals, writes it to target/bench/
as JSON and to docs/measured.md with date and command. Let nothing else run meanwhile.

  --only PART   one part: start, one_shot, step, throughput, control, typing, appends,
                sessions, memory, daemon, fan_out, page, unbuilt, or huge (a session of 1 GB, which is in no
                other run); the document stays as it is

Examples:
  cargo xtask bench
  cargo xtask bench --only step
";

const FLAGS: [Flag; 1] = [Flag::word("--only")];

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    measured::check_flags("bench", args, &FLAGS)?;
    measured::run_and_record(&workspace_root(), Program::of_kith("bench"), args)
}
