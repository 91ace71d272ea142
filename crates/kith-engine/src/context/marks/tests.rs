//! What loses its bracket, and that it can be given back.

use super::*;

/// The text that was escaped. That there is one is the promise: no two become the same.
pub(crate) fn unescape(escaped: &str) -> String {
    let mut text = String::new();
    let mut rest = escaped;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (bracket, n_bytes) = bracket_in(rest);
        let (found, after) = rest.split_at(n_bytes);
        match (bracket.filter(|it| ALL.follow(*it, after)), found.strip_prefix("&amp;")) {
            (None, _) => text.push_str(found),
            (Some(bracket), None) => text.push(bracket),
            (Some(_), Some(reference)) => {
                text.push('&');
                text.push_str(reference);
            }
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

#[test]
fn only_the_bracket_of_a_mark_is_changed() {
    check("a < b <b> [x] &lt;b>", "a < b <b> [x] &lt;b>");
    check("x</untrusted-1>y", "x&lt;/untrusted-1>y");
    check("<<SYS>>", "<&lt;SYS>>");
    check("[/INST]", "&#91;/INST]");
    check("＜ system‑reminder", "&#65308; system‑reminder");
    check("&lt;untrusted", "&amp;lt;untrusted");
    check("&amp;lt;untrusted", "&amp;amp;lt;untrusted");
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let escaped = escape(text, &ALL);
    assert_eq!(escaped, expected);
    assert_eq!(unescape(&escaped), text);
}
