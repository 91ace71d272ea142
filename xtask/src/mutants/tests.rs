use super::*;

#[test]
fn the_outcome_of_a_test_is_read_by_its_whole_name() {
    let said = "running 2 tests\ntest a::tests::it_holds_too ... ok\ntest a::it_holds ... FAILED\n";
    assert_eq!(outcome_of(said, "it_holds"), Some("FAILED"));
    assert_eq!(outcome_of(said, "it_holds_too"), Some("ok"));
    assert_eq!(outcome_of(said, "holds"), None);
}

#[test]
fn there_are_many_guards_and_each_names_its_tests() {
    let mutants = read_mutants(&workspace_root()).unwrap();
    assert!(mutants.len() >= 25, "{}", mutants.len());
    let verdicts: Vec<(&Mutant, Verdict)> =
        mutants.iter().map(|it| (it, Verdict::NotCaught)).collect();
    assert_eq!(table(&verdicts).lines().count(), mutants.len() + 2);
}
