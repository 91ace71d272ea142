use super::*;

#[track_caller]
fn check(text: &str, code: &str, comments: &str) {
    let source = Source::of(text);
    assert_eq!((source.code.as_str(), source.comments.as_str()), (code, comments));
}

#[test]
fn comments_are_no_code() {
    check("a // b\nc", "a     \nc", "  // b\n ");
    check("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  ");
}

#[test]
fn literals_are_neither() {
    check(r#"f("a \" // b", c)"#, "f(           , c)", "                 ");
    check(r##"x(r#"a " b"#) y"##, "x(          ) y", "               ");
    check(r"m('\'', '/', 'é')", "m(    ,    ,     )", "                  ");
}

#[test]
fn lifetimes_are_code() {
    check("fn f<'a>(x: &'a u8) {}", "fn f<'a>(x: &'a u8) {}", "                      ");
}

#[test]
fn what_stands_under_cfg_test_is_no_production_code() {
    let text = "a();\n#[cfg(test)]\nmod tests {\n    b();\n}\n#[cfg(test)]\nuse c;\nd();";
    let production = Source::of(text).production;
    let words: Vec<&str> = words(&production).map(|(_, word)| word).collect();
    assert_eq!(words, ["a", "d"]);
    assert_eq!(line_of(&production, production.len()), 8);
}
