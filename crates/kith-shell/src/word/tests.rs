use super::*;

#[track_caller]
fn check(source: &str, form: WordForm, text: &str) {
    assert_eq!(Word::read(source), Word { text: text.to_owned(), form }, "{source}");
}

#[test]
fn a_word_is_what_the_program_receives() {
    check("a", WordForm::Literal, "a");
    check(r#"a"b c"'d e'\ f"#, WordForm::Literal, "ab cd e f");
    check(r#""\$X \x""#, WordForm::Literal, "$X \\x");
    check("'$X `id`'", WordForm::Literal, "$X `id`");
    check("''", WordForm::Literal, "");
    check("'~/x'", WordForm::Literal, "~/x");
    check("~/x", WordForm::Home, "~/x");
    check("src/*.rs", WordForm::Pattern, "src/*.rs");
    check("{a,b}", WordForm::Pattern, "{a,b}");
    check("$?", WordForm::Literal, "$?");
}

#[test]
fn what_depends_on_the_run_is_unknown() {
    for source in
        ["$X", "\"$X\"", "`id`", "$(id)", "~root/x", "~/*", "a=~/x", "{~/a,b}", "'a", "a\\"]
    {
        check(source, WordForm::Unknown, source);
    }
}
