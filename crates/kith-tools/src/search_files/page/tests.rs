//! Long lines, and what is left of them.

use super::*;

#[test]
fn short_lines_stay_whole() {
    assert_eq!(shortened(b"", 0), None);
    assert_eq!(shortened(b"a match", 2), None);
    assert_eq!(shortened("中".repeat(240).as_bytes(), 600), None);
    assert_eq!(shortened(&[0xff; 240], 100), None);
}

#[test]
fn long_lines_are_shortened_around_the_match() {
    check("a", 300, 0, "", 0, 240, "…");
    check("a", 300, 50, "", 50, 190, "…");
    check("a", 300, 60, "", 60, 180, "…");
    check("a", 300, 61, "…", 60, 180, "…");
    check("a", 300, 120, "…", 60, 180, "");
    check("a", 300, 121, "…", 61, 179, "");
    check("a", 300, 300, "…", 240, 0, "");
    check("中", 1000, 500, "…", 60, 180, "…");
    check("😀", 100_000, 99_999, "…", 239, 1, "");
    check("😀", 100_000, 50_000, "…", 60, 180, "…");
}

#[test]
fn any_bytes_and_any_place_make_an_excerpt() {
    let bytes: Vec<u8> = (0..=255_u8).cycle().step_by(7).take(4000).collect();
    for place in 0..=bytes.len() + 1 {
        let text = shortened(&bytes, place).unwrap();
        assert!(text.chars().count() <= SEARCH_LINE_CHARS_MAX + 2, "{place}");
    }
}

/// The match begins at the character `place` of `n` times `ch`.
#[track_caller]
fn check(
    ch: &str,
    n: usize,
    place: usize,
    front: &str,
    n_before: usize,
    n_after: usize,
    back: &str,
) {
    let line = ch.repeat(n);
    let expected = format!("{front}{}{back}", ch.repeat(n_before + n_after));
    assert_eq!(shortened(line.as_bytes(), place * ch.len()).unwrap(), expected);
}
