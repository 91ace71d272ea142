use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(query: &str, text: &str, is_found: bool) {
    let query = Query::parse(query).unwrap();
    assert_eq!(query.excerpt(text).is_some(), is_found, "{query:?} in {text:?}");
}

#[test]
fn a_chinese_word_of_two_characters_is_found_wherever_it_stands() {
    check("天气", "今天北京天气很好", true);
    check("北京天气", "今天北京天气很好", true);
    check("好", "今天北京天气很好", true);
    check("天京", "今天北京天气很好", false);
    check("天气", "天很热，气很足", false);
}

#[test]
fn words_are_found_without_case_accents_and_width() {
    check("cafe", "Ein CAFÉ in Köln", true);
    check("KOLN", "Ein Cafe\u{301} in Ko\u{308}ln", true);
    check("ｋｉｔｈ", "kith", true);
    check("カ", "ガ", false);
    check("カナ", "ｶﾅ", true);
    check("straße", "STRASSE", false);
}

#[test]
fn a_word_is_found_by_its_beginning_and_a_short_one_only_whole() {
    check("gard", "the gardens", true);
    check("dens", "the gardens", false);
    check("it", "items", false);
    check("it", "take it", true);
    check("rust", "用Rust写的", true);
}

#[test]
fn every_piece_must_be_there_in_any_order() {
    check("plan garden", "the garden plan", true);
    check("plan house", "the garden plan", false);
    check("计划 garden", "garden 的计划", true);
}

#[test]
fn nothing_to_look_for_is_no_query() {
    for text in ["", "  ", "!?…", "\u{301}"] {
        assert_eq!(Query::parse(text), None, "{text:?}");
    }
}

#[test]
fn an_excerpt_is_one_line_around_what_was_found() {
    let text = format!("{}\n\nthe needle is here\n{}", "before ".repeat(40), "after ".repeat(80));
    let excerpt = Query::parse("needle").unwrap().excerpt(&text).unwrap();
    assert!(excerpt.starts_with('…') && excerpt.ends_with('…'), "{excerpt}");
    assert!(excerpt.contains("the needle is here after"), "{excerpt}");
    assert!(excerpt.chars().count() <= EXCERPT_CHARS * 3 + 2, "{excerpt}");
}

proptest! {
    /// The index holds all that a look at the text itself would find.
    #[test]
    fn what_the_text_shows_the_index_knows(
        text in "[a-c A-Cé天气北京 ,\u{3000}ガ한국]{0,24}",
        query in "[a-cé天气北京 ガ한국]{1,6}",
    ) {
        let Some(query) = Query::parse(&query) else { return Ok(()) };
        if query.excerpt(&text).is_none() {
            return Ok(());
        }
        let words = format!(" {} ", for_index(&text));
        for term in query.for_fts5().split(' ') {
            let is_known = match term.strip_suffix("\"*") {
                Some(prefix) => words.contains(&format!(" {}", &prefix[1..])),
                None => words.contains(&format!(" {} ", term.trim_matches('"'))),
            };
            prop_assert!(is_known, "{term} of {query:?} in {words:?}");
        }
    }

    #[test]
    fn any_text_can_be_taken_apart(text in any::<String>(), query in any::<String>()) {
        let words = for_index(&text);
        prop_assert!(words.chars().all(|c| c.is_alphanumeric() || c == ' '), "{words:?}");
        if let Some(query) = Query::parse(&query) {
            query.excerpt(&text);
            query.excerpt(&format!("{text}{query:?}"));
        }
    }
}
