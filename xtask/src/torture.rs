//! `cargo xtask torture`: kills, cuts, flips and orders, until something is lost or the list ends.
//!
//! The program is `kith/benches/torture.rs`; here it is built, started, and its tables are put
//! into `docs/measured.md`.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::invocation::Invocation;
use crate::measured::{self, Flag, Program};
use crate::workspace_root;

pub(crate) const PURPOSE: &str = "kill turns, damage logs, shuffle events; count what is lost";

pub(crate) const HELP: &str = "
cargo xtask torture [--turn] [--stability] [--log] [--orders N] [--clients] [--properties]
                    [--seed S]

Builds with the profile `fast` and does what a crash, a bad disk or a strange log would do. Without
a choice it does all six. Prints counts and seeds, writes them to docs/measured.md with date and
command, and fails if anything was lost, done twice, altered in silence, or panicked.

  --turn      a turn killed at every write and sync (process killed, power cut), its desk failing at
              every system call (needs `strace`), 1,000 random SIGKILLs of the real program, as many
              while its tools change the world, and fifty of it at once on one house
  --stability a thousand turns of one session on each wire, with steers, follow-ups and restarts
  --log       a session file cut at every byte, every bit flipped, pages zeroed, a failing disk
  --orders N  N logs with events in any order: folded, decided, rendered for both vendors
  --clients   two terminals, a page and a program on one session, cut off 200 times at random; a
              thousand clients that send or read next to nothing beside one that behaves
  --properties
              the property tests of all crates with a fresh seed, which is printed
  --first N   with --orders: begin at this log, to repeat one that failed
  --kills N   with --turn: so many random SIGKILLs
  --seed S    where chance begins; the same seed gives the same cases

Examples:
  cargo xtask torture
  cargo xtask torture --orders 1000000 --seed 7
";

const PROPERTIES: &str = "--properties";
const CLIENTS: &str = "--clients";

const FLAGS: [Flag; 9] = [
    Flag::alone(CLIENTS),
    Flag::alone(PROPERTIES),
    Flag::alone("--turn"),
    Flag::alone("--stability"),
    Flag::alone("--log"),
    Flag::number("--orders"),
    Flag::number("--first"),
    Flag::number("--kills"),
    Flag::number("--seed"),
];

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    measured::check_flags("torture", args, &FLAGS)?;
    let is_test = |flag: &&String| [PROPERTIES, CLIENTS].contains(&flag.as_str());
    let (tests, args): (Vec<&String>, Vec<&String>) = args.iter().partition(is_test);
    let args: Vec<String> = args.into_iter().cloned().collect();
    let is_chosen =
        |flag: &String| ["--turn", "--stability", "--log", "--orders"].contains(&flag.as_str());
    let has_choice = args.iter().any(is_chosen);
    let is_wanted =
        |test: &str| tests.iter().any(|it| *it == test) || (tests.is_empty() && !has_choice);
    if is_wanted(PROPERTIES) {
        let named = args.iter().position(|it| it == "--seed").and_then(|at| args.get(at + 1));
        if !run_properties(named.cloned().unwrap_or_else(fresh_seed))? {
            return Ok(ExitCode::FAILURE);
        }
    }
    if is_wanted(CLIENTS) && !run_clients()? {
        return Ok(ExitCode::FAILURE);
    }
    if !tests.is_empty() && !has_choice {
        return Ok(ExitCode::SUCCESS);
    }
    let args = args.as_slice();
    measured::run_and_record(&workspace_root(), Program::of_kith("torture"), args)
}

/// A number that was not used before: what is found with it, the printed seed finds again.
fn fresh_seed() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().rem_euclid(u128::from(u64::MAX)).to_string()
}

fn run_properties(seed: String) -> anyhow::Result<bool> {
    let tests = Invocation::cargo(&["test", "--workspace", "--lib"])
        .with_environment("KITH_PROPERTY_SEED", seed);
    println!("== properties: {tests}");
    let succeeded = tests.run_in(&workspace_root())?.success();
    if !succeeded {
        eprintln!("error: a property does not hold\nhint: repeat it with: {tests}");
    }
    Ok(succeeded)
}

/// The long form of the tests of many clients, one after the other: their times count.
fn run_clients() -> anyhow::Result<bool> {
    let chosen = ["http::tests::clients", "http::tests::slow_clients"];
    let before = ["test", "--workspace", "--lib", "--", "--nocapture", "--test-threads", "1"];
    let tests = Invocation::cargo(&[&before[..], &chosen].concat())
        .with_environment("KITH_SLOW_TESTS", "1");
    println!("== clients: {tests}");
    let succeeded = tests.run_in(&workspace_root())?.success();
    if !succeeded {
        eprintln!(
            "error: a client missed something or was slowed down\nhint: repeat it with: {tests}"
        );
    }
    Ok(succeeded)
}
