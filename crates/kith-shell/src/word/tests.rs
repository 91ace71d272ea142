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
    check("{a}", WordForm::Literal, "{a}");
    check("{}", WordForm::Literal, "{}");
    check("$?", WordForm::Literal, "$?");
}

#[test]
fn what_depends_on_the_run_is_unknown() {
    for source in ["$X", "\"$X\"", "`id`", "$(id)", "~root/x", "~/*", "a=~/x", "{a,b}", "'a", "a\\"]
    {
        check(source, WordForm::Unknown, source);
    }
}

#[test]
fn braces_make_several_words_of_one() {
    for (source, expected) in [
        ("{-delete,-print}", "-delete -print"),
        ("{-,}delete", "-delete delete"),
        ("-{delete,print}", "-delete -print"),
        ("a{b,c}{d,e}", "abd abe acd ace"),
        ("a{b,{c,d}}e", "abe ace ade"),
        ("{a,{b,c}", "{a,b {a,c"),
        ("x{1..3}", "x1 x2 x3"),
        ("{a}", "{a}"),
        ("{}", "{}"),
        ("'{a,b}'", "{a,b}"),
        ("\\{a,b}", "{a,b}"),
        ("{a,'b,c'}", "a b,c"),
        ("{'-x',\"y\"}", "-x y"),
        ("src/*.{rs,toml}", "src/*.rs src/*.toml"),
    ] {
        let words: Vec<String> = Word::read_all(source).into_iter().map(|it| it.text).collect();
        assert_eq!(words.join(" "), expected, "{source}");
    }
    for source in ["{a..z}", "{1..1000}", "{01..10}", &"{a,b}".repeat(20)] {
        let words = Word::read_all(source);
        assert_eq!(words.len(), 1, "{source}");
        assert_eq!(words[0].form, WordForm::Unknown, "{source}");
    }
}
