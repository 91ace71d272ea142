//! Differences of any two texts, within their limits.

use super::*;

#[test]
fn equal_texts_do_not_differ() {
    assert_eq!(between("a\nb\n", "a\nb\n", "x", 9_999), "");
}

#[test]
fn a_long_difference_says_how_much_is_missing() {
    let now = "line\n".repeat(500);
    let text = between("", &now, "the/file", 99_999);
    assert_eq!(text.lines().count(), DIFFERENCE_LINES_MAX + 1);
    assert!(text.ends_with("[… 381 more lines of the difference are left out; read `the/file` …]"));
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let text = between("", &"é你".repeat(9_000), "f", 1_000);
    assert!(text.len() < 1_200, "{}", text.len());
    assert!(text.ends_with(
        "[… the rest of this line and 0 more of the difference are left out; read `f` …]"
    ));
}

#[test]
fn too_many_lines_are_not_compared() {
    let now = "a\n".repeat(COMPARED_LINES_MAX + 1);
    let text = between("b\n", &now, "f", 9_999);
    assert_eq!(text, "[… 1 lines became 2001, too many to compare; read `f` …]");
}

#[test]
fn without_room_the_file_is_named() {
    assert!(between("a", "b", "f", 0).contains("too much changed at once; read `f`"));
}
