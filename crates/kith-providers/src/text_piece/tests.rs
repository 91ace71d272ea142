//! Pieces as JSON strings, and the text they amount to.

use super::*;

/// The texts of the pieces one after the other, with `?` for U+FFFD, and whether a half is left.
#[track_caller]
fn check(pieces: &[&str], expected: &[&str], is_half_left: bool) {
    let mut half = None;
    let mut texts = Vec::new();
    for piece in pieces {
        let piece: TextPiece = serde_json::from_str(piece).unwrap();
        let (text, left) = piece.after(half);
        texts.push(text.replace('\u{fffd}', "?"));
        half = left;
    }
    assert_eq!(
        (texts, half.is_some()),
        (expected.iter().map(|it| (*it).to_owned()).collect(), is_half_left)
    );
}

#[test]
fn halves_of_a_character_are_joined_across_pieces() {
    check(&[r#""a\ud83d""#, r#""\ude00b""#], &["a", "😀b"], false);
    check(&[r#""a\ud83d""#, r#""""#, r#""\ude00""#], &["a", "", "😀"], false);
    check(&[r#""\ud83d\ude00""#, r#""好""#], &["😀", "好"], false);
    check(&[r#""\ud83d""#], &[""], true);
}

#[test]
fn a_half_that_stays_alone_is_replaced() {
    check(&[r#""a\ud83d""#, r#""b""#], &["a", "?b"], false);
    check(&[r#""\ude00b""#], &["?b"], false);
    check(&[r#""x\ud83dy\ude00z""#], &["x?y?z"], false);
    check(&[r#""\ud83d""#, r#""\ud83d""#, r#""\ude00""#], &["", "?", "😀"], false);
    let piece: TextPiece = serde_json::from_str(r#""hi \ud83d""#).unwrap();
    assert_eq!(piece.into_whole(), "hi \u{fffd}");
}

#[test]
fn what_is_no_string_is_no_piece() {
    for json in ["3", "[104, 105]", "{}", "null", "true"] {
        assert!(serde_json::from_str::<TextPiece>(json).is_err(), "{json}");
    }
    assert_eq!(serde_json::from_str::<Option<TextPiece>>("null").unwrap(), None);
}
