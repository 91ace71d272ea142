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
            "chat: node check.mjs ../debug/kith (in target/chat)",
            "page: KITH_PAGE_EMBEDDED=1 KITH=../target/debug/kith node test/page/run.mjs --short (in web)",
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
        ["cargo-nextest is not installed, so `cargo test` ran the tests (same tests)", SHORT_TESTS,]
    );
}

#[test]
fn tests_that_cannot_run_here_are_named_once() {
    assert_eq!(skipped_tests(""), BTreeSet::new());
    assert_eq!(skipped_tests("b: why\na: why\nb: why\n"), BTreeSet::from(["a: why", "b: why"]));
}

#[test]
fn what_is_said_to_be_skipped_exists() {
    let crates = workspace_root().join("crates");
    for (file, name) in [
        ("lives.rs", "every_message_of_any_life_is_dealt_with_once"),
        ("crash_table.rs", "no_crash_loses_or_doubles_anything_"),
        ("cut_streams.rs", "_stream_was_cut_nothing_has_run_and_the_session_goes_on"),
        ("simulate.rs", "no_seed_breaks_a_promise_and_every_session_proves_itself"),
    ] {
        let folder = match file {
            "simulate.rs" => crates.join("kith-host/tests"),
            _ => crates.join("kith-engine/src/engine/tests"),
        };
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(SHORT_TESTS.contains(name));
        assert!(text.contains(name) && text.contains("KITH_SLOW_TESTS"), "{file}");
    }
    let testkit = workspace_root().join("crates/kith-testkit/src/skipped.rs");
    assert!(fs::read_to_string(testkit).unwrap().contains(SKIPPED_VARIABLE));
}
