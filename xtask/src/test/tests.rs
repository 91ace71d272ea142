use super::*;

fn shown(runner: Runner) -> Vec<String> {
    steps(runner).iter().map(|step| format!("{}: {}", step.name, step.work.shown())).collect()
}

#[test]
fn every_step_can_be_repeated_by_hand() {
    assert_eq!(
        shown(Runner::Nextest),
        [
            "format: cargo fmt --all --check",
            "tidy: cargo xtask tidy",
            "clippy: cargo clippy --workspace --all-targets -- -D warnings",
            "tests: cargo nextest run --workspace",
            "ui messages: node check.mjs ../tmp/ui-messages (in target/ui-messages)",
            "doc tests: cargo test --workspace --doc",
            "docs: RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --lib --bins --examples",
        ]
    );
}

#[test]
fn what_only_the_superuser_can_try_is_named_in_the_summary() {
    assert_eq!(not_run_without_privileges(true), None);
    let named = not_run_without_privileges(false).unwrap();
    assert!(named.contains("what_belongs_to_another_user_is_not_opened"), "{named}");
}

#[test]
fn without_nextest_cargo_runs_the_tests_and_says_so() {
    assert_eq!(shown(Runner::CargoTest)[3], "tests: cargo test --workspace --all-targets");
    assert_eq!(
        skipped(Runner::CargoTest, None),
        [
            "cargo-nextest is not installed, so `cargo test` ran the tests (same tests)",
            "tests that need time or the network; set KITH_SLOW_TESTS=1 to run them",
        ]
    );
}
