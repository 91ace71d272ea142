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
    assert!(mutants.iter().all(|it| !it.tests.is_empty()));
}

#[test]
fn a_table_keeps_the_rows_of_those_that_were_not_run() {
    let mutant = |name: &str| {
        let patch = format!(
            "Guard: {name}\nTarget: a --lib\nTests: t\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
        );
        patch::parse(name, &patch).unwrap()
    };
    let (a, b, c) = (mutant("a"), mutant("b"), mutant("c"));
    let old = "| a | `t` | caught |\n| b | `t` | caught |\n| gone | `t` | caught |\n";
    assert_eq!(
        table(&[&a, &b, &c], &[(&b, Verdict::NotCaught)], old),
        "| guard taken out | tests that fail then | |\n| --- | --- | --- |\n\
         | a | `t` | caught |\n| b | `t` | NOT caught |\n| c | `t` | not tried |\n"
    );
}
