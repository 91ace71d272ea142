//! Short options that are bundled in one word: `-qf` is `-q -f`.

/// Letters of tar with a value: what stands behind them in the word is no option.
pub(crate) const TAR_VALUED: &str = "bCfFgHIKLNTVX";

/// How a letter is given by a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BundledLetter<'a> {
    /// What stands behind it in the word: its value, if it takes one.
    pub(crate) rest: &'a str,
}

/// Finds a letter in a word of bundled options. A letter of `valued` takes the rest of the word as its
/// value, so that no letter is looked for behind it.
pub(crate) fn letter_in<'a>(
    word: &'a str,
    letter: char,
    valued: &str,
) -> Option<BundledLetter<'a>> {
    let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
    for (at, ch) in letters.char_indices() {
        if ch == letter {
            return Some(BundledLetter { rest: &letters[at + ch.len_utf8()..] });
        }
        if valued.contains(ch) {
            return None;
        }
    }
    None
}

/// Whether any of the letters is given by a word.
pub(crate) fn has_letter(word: &str, letters: &str, valued: &str) -> bool {
    letters.chars().any(|it| letter_in(word, it, valued).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_found_in_a_bundle_and_not_in_a_value() {
        assert!(has_letter("-qf", "f", ""));
        assert!(has_letter("-f", "xf", ""));
        assert!(!has_letter("-bf", "f", "b"));
        assert!(has_letter("-qB", "B", "b"));
        for word in ["--force", "f", "-", "--"] {
            assert!(!has_letter(word, "f", ""), "{word}");
        }
        assert_eq!(letter_in("-rowork.txt", 'o', "kSt").unwrap().rest, "work.txt");
        assert_eq!(letter_in("-ro", 'o', "kSt").unwrap().rest, "");
        assert_eq!(letter_in("-k2o", 'o', "kSt"), None);
    }
}
