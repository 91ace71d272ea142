//! The simulation of `cargo xtask simulate`, in a form that every test run can afford.

#![allow(clippy::unwrap_used, reason = "a test that meets a broken promise should stop")]
#![allow(clippy::print_stdout, reason = "the counts are what this test is run for")]

#[path = "../benches/simulate/simulation.rs"]
mod simulation;

use simulation::{Bug, Tally, run_seed};

/// Far from those that `cargo xtask simulate` begins with.
const FIRST_SEED: u64 = 1 << 40;
const SEEDS: u64 = 200;
/// With `KITH_SLOW_TESTS`; they make more than a thousand sessions.
const SLOW_SEEDS: u64 = 600;
/// A bug that is not found within so many seeds would not be found at all.
const BUG_SEEDS_MAX: u64 = 300;

/// Its sessions are verified and replayed, and bytes of their logs are flipped.
#[test]
fn no_seed_breaks_a_promise_and_every_session_proves_itself() {
    let is_slow = std::env::var_os("KITH_SLOW_TESTS").is_some();
    let n_seeds = if is_slow { SLOW_SEEDS } else { SEEDS };
    let mut tally = Tally::default();
    for seed in FIRST_SEED..FIRST_SEED + n_seeds {
        match run_seed(seed, None) {
            Ok(passed) => tally += passed.tally,
            Err(found) => panic!("{found}"),
        }
    }
    print!("{tally}");
    // What does not happen is not tested.
    for (count, words) in tally.lines() {
        assert!(count > 0, "{words}: none in {n_seeds} seeds");
    }
    assert!(!is_slow || tally.proven_sessions >= 1_000, "{} sessions", tally.proven_sessions);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in 0..20 {
        let digest = |seed| match run_seed(seed, None) {
            Ok(passed) => (passed.digest, passed.tally),
            Err(found) => panic!("{found}"),
        };
        assert_eq!(digest(seed), digest(seed), "seed {seed}");
    }
}

#[test]
fn a_missing_sync_is_found() {
    finds(Bug::MissingSync);
}

#[test]
fn a_doubled_drive_is_found() {
    finds(Bug::DoubledDrive);
}

#[test]
fn a_lost_wakeup_is_found() {
    finds(Bug::LostWakeup);
}

/// The seed that finds it finds it again.
fn finds(bug: Bug) {
    let found = (0..BUG_SEEDS_MAX).find_map(|seed| run_seed(seed, Some(bug)).err());
    let found = found.unwrap_or_else(|| panic!("{} is not found", bug.name()));
    assert_eq!(run_seed(found.seed, Some(bug)), Err(found));
}
