use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// What `cargo xtask <line>` complains of, up to the overview.
#[track_caller]
fn check_refused(line: &str, sentence: &str) {
    let error = dispatch(&words(line)).expect_err("the line is wrong usage");
    assert!(error.is::<WrongUsage>(), "{error}");
    assert_eq!(error.to_string().lines().next(), Some(sentence));
}

#[test]
fn wrong_usage_is_a_sentence() {
    check_refused("", "a verb is missing");
    check_refused("strat", "there is no verb `strat`");
    check_refused(
        "test --all",
        "`cargo xtask test` takes no arguments, but got `--all`; see `cargo xtask test --help`",
    );
    check_refused(
        "fresh now",
        "`cargo xtask fresh` takes no arguments, but got `now`; see `cargo xtask fresh --help`",
    );
    check_refused(
        "tidy --fix --all",
        "`cargo xtask tidy` takes only `--fix`, but got `--all`; see `cargo xtask tidy --help`",
    );
    check_refused(
        "start --release",
        "`cargo xtask start` knows no flag `--release`; see `cargo xtask start --help`",
    );
    check_refused(
        "start here there",
        "`cargo xtask start` takes one folder, but also got `there`; see `cargo xtask start --help`",
    );
}

#[test]
fn every_verb_has_help_with_an_example() {
    for Verb { name, help, .. } in &VERBS {
        assert!(help.trim().starts_with(&format!("cargo xtask {name}")), "{name}");
        assert!(help.contains("Example"), "{name}");
        assert_eq!(dispatch(&words(&format!("{name} --help"))).ok(), Some(ExitCode::SUCCESS));
    }
}
