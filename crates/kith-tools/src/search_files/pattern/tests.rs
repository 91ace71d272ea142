//! A test is a pattern and the number of its places, or what is wrong with it.

use grep_matcher::Matcher;

use super::*;

const WRONG: &str = "is not a valid regex (Rust syntax)";

#[test]
fn repetitions_are_written_out() {
    check("abc", "3");
    check("a|bc", "3");
    check("a*b+c?", "3");
    check("[0-9a-f]{64}", "64");
    check("a{3}b{2,5}c{4,}", "12");
    check("a{ 7 }", "7");
    check("x(ab){10}y", "22");
    check("((a{10}){10}b){3}", "303");
    check("中文{2}", "3");
    check("(?i)a", "1");
    check("(?:ab){3}", "6");
    check("a|", "1");
    check("()", "1");
    check("a{0}", "1");
}

#[test]
fn what_only_looks_like_a_group_or_a_repetition_counts_as_a_character() {
    check(r"\(\[\{\)", "4");
    check(r"\x{41}\p{Greek}\u{4e00}\b{start}", "4");
    check("[(]", "1");
    check("[]()]", "1");
    check("[^]()]a", "2");
    check(
        "[--](]",
        "error: the pattern `[--](]` WRONG at character 5: `(` is unmatched; write `\\(` to search for it",
    );
    check(r"[\](]", "1");
    check("[a[(]]", "1");
    check("[[:alpha:]()]", "1");
    check("[a-z&&[^(]]", "1");
}

#[test]
fn parentheses_must_pair() {
    let alone = |pattern: &str, place: usize, which: char| {
        check(
            pattern,
            &format!(
                "error: the pattern `{pattern}` WRONG at character {place}: `{which}` is unmatched; write `\\{which}` to search for it"
            ),
        );
    };
    alone("main(", 5, '(');
    alone("a(b(c)", 2, '(');
    alone("(a)(b", 4, '(');
    alone("a)", 2, ')');
    alone(")(", 1, ')');
    alone("函数(", 3, '(');
}

#[test]
fn mistakes_are_named_with_their_place() {
    check("[a", "error: the pattern `[a` WRONG at character 1: unclosed character class");
    check("中[a", "error: the pattern `中[a` WRONG at character 2: unclosed character class");
    check(
        "*a",
        "error: the pattern `*a` WRONG at character 1: repetition operator missing expression",
    );
    check(
        "ab{x}",
        "error: the pattern `ab{x}` WRONG at character 4: \
         repetition quantifier expects a valid decimal",
    );
    check(
        "a(?=b)",
        "error: the pattern `a(?=b)` WRONG at character 2: \
         look-around, including look-ahead and look-behind, is not supported",
    );
    check(
        r"(a)\1",
        r"error: the pattern `(a)\1` WRONG at character 4: backreferences are not supported",
    );
    check(
        r"\p{Klingon}",
        r"error: the pattern `\p{Klingon}` WRONG at character 1: Unicode property not found",
    );
    check(
        "(?x) a # (",
        "error: the pattern `(?x) a # (` WRONG at character 1: the flag `x` is not supported",
    );
    check(
        "(?ix:a)",
        "error: the pattern `(?ix:a)` WRONG at character 1: the flag `x` is not supported",
    );
    check(
        "(?-m)^a",
        "error: the pattern `(?-m)^a` WRONG at character 1: the flag `-m` is not supported",
    );
    check(r"\Aa", r"error: the pattern `\Aa` WRONG at character 1: `\A` is not supported, use `^`");
    check(r"a\z", r"error: the pattern `a\z` WRONG at character 2: `\z` is not supported, use `$`");
    check("(?P<xy>a)(?<x>b)", "2");
}

#[test]
fn ends_of_lines_cannot_be_searched_for() {
    for (pattern, name) in [
        (r"a\nb", r"a\nb"),
        (r"a\r\n", r"a\r\n"),
        ("a\nb", r"a\u{a}b"),
        (r"\x0a", r"\x0a"),
        (r"[\n]", r"[\n]"),
    ] {
        check(
            pattern,
            &format!(
                "error: the pattern `{name}` asks for the end of a line, but lines are searched \
                 one by one: nothing matches across lines; search for a part of one line, `$` is \
                 its end"
            ),
        );
    }
    check(r"a\sb[^c]", "4");
}

#[test]
fn large_patterns_are_refused() {
    check("a{1000}", "1000");
    check(
        "a{1001}",
        "error: the pattern `a{1001}` is too large: with its repetitions written out it has 1,001 \
         characters, at most 1000 are searched for",
    );
    for pattern in ["((a{99}){99}){99}", "(a{4294967295}){4294967295}", "[ab]{0,5000}X"] {
        let reason = Pattern::parse(pattern, Case::Counts).unwrap_err();
        assert!(reason.contains("is too large"), "{reason}");
    }
    check(
        r"\w{500}",
        r"error: the pattern `\w{500}` is too large; repeat less, or use `[a-z]` in place of `\w`",
    );
    check(&"x".repeat(1025), "error: the pattern is longer than 1024 bytes");
    check("", "error: the pattern is empty; list_files lists files");
    let nested = format!("{}a{}", "(".repeat(60), ")".repeat(60));
    let reason = Pattern::parse(&nested, Case::Counts).unwrap_err();
    assert!(
        reason.ends_with("exceed the maximum number of nested parentheses/brackets (50)"),
        "{reason}"
    );
}

#[test]
fn case_folds_in_every_alphabet() {
    for (pattern, text) in
        [("straße", "STRASSE"), ("ÉTÉ", "été"), ("Ω", "ω"), ("ж", "Ж"), ("k", "\u{212a}")]
    {
        let is_match = |case| {
            Pattern::parse(pattern, case).unwrap().matcher.is_match(text.as_bytes()).unwrap()
        };
        assert!(!is_match(Case::Counts), "{pattern}");
        // One letter folds into one letter, so `ß` is not `SS`.
        assert_eq!(is_match(Case::Ignored), pattern != "straße", "{pattern}");
    }
}

#[track_caller]
fn check(pattern: &str, expected: &str) {
    let actual = match Pattern::parse(pattern, Case::Counts) {
        Ok(pattern) => pattern.n_places.to_string(),
        Err(reason) => format!("error: {}", reason.replace(WRONG, "WRONG")),
    };
    assert_eq!(actual, expected, "{pattern}");
}
