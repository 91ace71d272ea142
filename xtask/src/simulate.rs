//! `cargo xtask simulate`: the whole host, from one seed after another.
//!
//! The program is `kith-host/benches/simulate`; here it is built, started, and its table is put
//! into `docs/measured.md`.

use std::process::ExitCode;

use crate::measured::{self, Flag, Program};
use crate::workspace_root;

pub(crate) const PURPOSE: &str = "run the whole host from seeds, with kills and faults";

pub(crate) const HELP: &str = "
cargo xtask simulate [--seeds N] [--first S] [--seed S] [--bug NAME]

Builds with the profile `fast` and runs the host with a disk, a desk, a clock, models, tools and
people that are all simulated. Everything follows from the seed: what people do and when, kills,
power cuts, faults of disk, desk and models, old desks, jumps of the clock. It stops at the first
seed that breaks a promise, and shows what happened last. Writes its counts to docs/measured.md.

  --seeds N   so many seeds (1,000)
  --first S   begin at this seed (0)
  --seed S    only this seed, with all that happened in it
  --bug NAME  put a mistake in, which must be found: missing-sync, doubled-drive, lost-wakeup

Examples:
  cargo xtask simulate --seeds 10000
  cargo xtask simulate --seed 4711
";

const FLAGS: [Flag; 4] =
    [Flag::number("--seeds"), Flag::number("--first"), Flag::number("--seed"), Flag::word("--bug")];

const PROGRAM: Program = Program { name: "simulate", package: "kith-host", needs_kith: false };

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    measured::check_flags("simulate", args, &FLAGS)?;
    measured::run_and_record(&workspace_root(), PROGRAM, args)
}
