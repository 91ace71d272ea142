//! Tests of diffs, beside those that `similar` makes of two texts in one call.

use proptest::prelude::*;
use similar::TextDiff;

use super::*;

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.flat_map(|line| [line, "\n".to_owned()]).collect()
}

fn of_the_library(old: &str, new: &str, last_line: FinalLineBreak) -> String {
    let is_marked = last_line == FinalLineBreak::Marked;
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().missing_newline_hint(is_marked).to_string()
}

fn check(old: &str, new: &str, expected: &str) {
    assert_eq!(unified(old, new, FinalLineBreak::Marked, None), expected);
    assert_eq!(of_the_library(old, new, FinalLineBreak::Marked), expected);
}

#[test]
fn a_difference_has_three_lines_around_each_change() {
    check("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nF\n", "@@ -3,4 +3,4 @@\n c\n d\n e\n-f\n+F\n");
    check("", "a\n", "@@ -0,0 +1 @@\n+a\n");
    check("a\n", "", "@@ -1 +0,0 @@\n-a\n");
    check("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n");
    check("a\n", "a\n", "");
}

#[test]
fn a_missing_line_break_is_marked_or_not() {
    let marked = "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
    check("a\n", "b", marked);
    assert_eq!(unified("a\n", "b", FinalLineBreak::AsIs, None), "@@ -1 +1 @@\n-a\n+b\n");
}

#[test]
fn two_long_texts_differ_as_the_library_says() {
    let old: String = lines((0..900).map(|n| format!("line {}", n % 37)));
    let new: String = lines((0..900).filter(|n| n % 11 != 3).map(|n| format!("line {}", n % 41)));
    for (old, new) in [(&old, &new), (&new, &old)] {
        let expected = of_the_library(old, new, FinalLineBreak::Marked);
        assert_eq!(unified(old, new, FinalLineBreak::Marked, None), expected);
    }
}

#[test]
fn a_difference_that_took_too_long_still_leads_from_one_text_to_the_other() {
    let old: String = lines((0..2_000).map(|n| (n * 7 % 501).to_string()));
    let new: String = lines((0..2_000).map(|n| (n * 11 % 503).to_string()));
    let text = unified(&old, &new, FinalLineBreak::Marked, Some(Duration::ZERO));
    let added = text.lines().filter(|it| it.starts_with('+')).count();
    let removed = text.lines().filter(|it| it.starts_with('-')).count();
    assert_eq!(added, removed);
    assert!(added > 0);
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("a\r".to_owned()),
        "[a-d]{1,2}\n",
    ]
}

fn text(n_lines_max: usize) -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(line(), 0..n_lines_max);
    (lines, prop_oneof![Just(""), Just("end")]).prop_map(|(lines, end)| lines.concat() + end)
}

proptest! {
    #[test]
    fn any_two_texts_differ_as_the_library_says(old in text(40), new in text(40)) {
        for last_line in [FinalLineBreak::AsIs, FinalLineBreak::Marked] {
            let expected = of_the_library(&old, &new, last_line);
            prop_assert_eq!(unified(&old, &new, last_line, None), expected);
        }
    }

}

proptest! {
    // Each takes a tenth of a second without optimisation.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_two_texts_of_many_lines_differ_as_the_library_says(old in text(300), new in text(300)) {
        let expected = of_the_library(&old, &new, FinalLineBreak::Marked);
        prop_assert_eq!(unified(&old, &new, FinalLineBreak::Marked, None), expected);
    }
}
