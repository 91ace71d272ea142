//! Text with control characters, as printed for a person and for a program.

use super::*;

#[test]
fn control_and_direction_characters_are_made_visible() {
    assert_eq!(visible("a\u{1b}[2Jb\u{9b}c\u{202e}d\u{7}"), "a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\\u{7}");
    assert_eq!(visible("one\r\ntwo\tthree\n四 🙂"), "one\ntwo\tthree\n四 🙂");
    assert_eq!(visible("over\rwritten"), "over\\u{d}written");
}

#[test]
fn json_is_the_same_value_with_such_characters_escaped() {
    let value = json!({ "text": "a\u{9b}\u{202e}\u{7f}\u{e0041}\n四" });
    let text = escaped(&value.to_string());
    assert_eq!(text, r#"{"text":"a\u009b\u202e\u007f\udb40\udc41\n四"}"#);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
}

#[test]
fn only_a_plain_yes_counts() {
    for yes in ["y", "Y\n", " yes ", "YES\r\n", "同意"] {
        assert!(is_yes(yes), "{yes}");
    }
    for no in ["", "\n", "n", "no", "yeah but no", "ye", "不", "y n", "hello"] {
        assert!(!is_yes(no), "{no}");
    }
}
