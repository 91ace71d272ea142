use super::*;

#[test]
fn comments_and_headings_say_nothing() {
    check("", true);
    check(" \n\t\r\n", true);
    check("# USER.md\r\n\r\n<!-- an\nexample -->\n## More\n<!-- x --> <!-- y -->", true);
    check("######\n", true);
}

#[test]
fn anything_else_says_something() {
    check("# USER.md\nhello", false);
    check("<!-- a --> b <!-- c -->", false);
    check("#tag", false);
    check("####### seven", false);
}

#[test]
fn a_comment_that_is_not_closed_is_text() {
    check("<!-- never closed\nName: x", false);
    assert_eq!(without_comments("a <!-- b --> c <!-- d"), "a  c <!-- d");
}

#[track_caller]
fn check(text: &str, empty: bool) {
    assert_eq!(is_effectively_empty(text), empty, "{text:?}");
}

#[test]
fn comments_are_left_out_and_code_is_not() {
    let check = |text: &str, expected: &str| assert_eq!(without_comments(text), expected, "{text}");
    check("a <!-- b --> c", "a  c");
    check("# H\n<!--\nnote\n-->\n- x\n", "# H\n- x\n");
    check("<!-- a --><!-- b -->\nx", "x");
    check("a\n<!-- open\nb\n", "a\n<!-- open\nb\n");
    check("write `<!-- x -->` so", "write `<!-- x -->` so");
    check("```html\n<!-- x -->\n```\n<!-- y -->z", "```html\n<!-- x -->\n```\nz");
    check("~~~\n```\n<!-- x -->\n~~~\n", "~~~\n```\n<!-- x -->\n~~~\n");
    check("<!-- a\n```\nb -->\n<!-- c -->d", "d");
}
