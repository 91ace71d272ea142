use super::*;

#[test]
fn what_cannot_be_seen_is_spelled_out() {
    check("笔记 a.md", "笔记 a.md");
    check("a\nb\u{202e}txt", "a\\u{a}b\\u{202e}txt");
    check(&"x".repeat(201), &format!("{}…", "x".repeat(200)));
}

#[test]
fn lines_keep_tabs_and_letters_of_every_script() {
    assert_eq!(line("\ta\r\u{b}\u{85}\u{2029}b"), "\ta\\u{d}\\u{b}\\u{85}\\u{2029}b");
    assert_eq!(line("نمی\u{200c}خواهم 👩\u{200d}💻"), "نمی\u{200c}خواهم 👩\u{200d}💻");
}

#[test]
fn digits_stand_in_groups_of_three() {
    let shown = [0, 999, 1000, 12_345, 2_000_000].map(number);
    assert_eq!(shown, ["0", "999", "1,000", "12,345", "2,000,000"]);
    assert_eq!(
        [count(1, "line", "lines"), count(1000, "line", "lines")],
        ["1 line", "1,000 lines"]
    );
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(name(text), expected);
}
