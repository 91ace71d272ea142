use std::fs;

use super::*;

#[track_caller]
fn check(agent: &str, n_ask: usize, n_deny: usize, problem: &str) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("Agent.md"), agent).unwrap();
    let owner =
        RuleSet { ask: vec![PolicyRule::parse("fetch_url").unwrap()], ..RuleSet::default() };
    let rules = ConstitutionRules::read(home.path()).tighten(&owner);
    assert_eq!((rules.ask.len(), rules.deny.len()), (n_ask, n_deny), "{rules:?}");
    assert!(rules.problem.unwrap_or_default().contains(problem));
}

#[test]
fn the_constitution_adds_to_the_rules_of_the_owner() {
    check("# Agent\n", 1, 0, "");
    check("---\napprovals: {ask: [write_file], deny: [exec_shell]}\n---\n", 2, 1, "");
}

#[test]
fn a_constitution_that_cannot_be_read_makes_every_change_ask() {
    check("---\napprovals: {allow: [exec_shell]}\n---\n", 1, 0, "cannot be read");
    check("---\napprovals: {ask: [\"exec shell\"]}\n---\n", 1, 0, "cannot be read");
}
