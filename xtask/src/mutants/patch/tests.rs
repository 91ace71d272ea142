use super::*;

const PATCH: &str = "\
Guard: two is checked
Target: a --lib
Tests: one_is_two, two_is_one
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@
 one
-two
+three
";

#[test]
fn a_patch_applies_wherever_its_lines_stand_once() {
    let mutant = parse("m", PATCH).unwrap();
    assert_eq!(mutant.tests, ["one_is_two", "two_is_one"]);
    assert_eq!((mutant.target.as_str(), mutant.path.as_str()), ("a --lib", "src/a.rs"));
    assert_eq!(mutant.apply("zero\none\ntwo\n").unwrap(), "zero\none\nthree\n");
    for (text, n) in [("", 0), ("one\n", 0), ("one\nTwo\n", 0), ("one\ntwo\none\ntwo\n", 2)] {
        let expected =
            format!("does not apply: the lines around `one` stand {n} times in `src/a.rs`");
        assert_eq!(mutant.apply(text).unwrap_err(), expected);
    }
}

#[test]
fn what_is_no_patch_is_refused() {
    assert_eq!(parse("m", "").unwrap_err(), "has no hunk `@@ … @@`");
    let without = |key: &str| PATCH.replace(key, "Else:");
    assert_eq!(parse("m", &without("Guard:")).unwrap_err(), "has no line `Guard: …`");
    assert_eq!(parse("m", &without("Tests:")).unwrap_err(), "has no line `Tests: …`");
    let wrong = format!("{PATCH}*x\n");
    assert_eq!(parse("m", &wrong).unwrap_err(), "has a line that is none of a diff: `*x`");
}
