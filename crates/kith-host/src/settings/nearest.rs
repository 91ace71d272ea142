//! Finds the valid name nearest to a misspelt one.

/// Characters that may differ between a name and the one that was meant.
const TYPOS_MAX: usize = 3;
/// A longer name is not a misspelt one.
const NAME_CHARS_MAX: usize = 40;

/// Returns the nearest of `names`, whatever their case, if it is near.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let n_chars = name.chars().count();
    if n_chars > NAME_CHARS_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let nearest = names.into_iter().map(|known| (distance(known), known)).min()?;
    // Two of three characters that differ make another word.
    (nearest.0 <= TYPOS_MAX && nearest.0 * 2 <= n_chars).then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_word_is_not_a_misspelt_one() {
        assert_eq!(nearest("usee", ["use", "fallbacks"]), Some("use"));
        assert_eq!(nearest("base_url", ["model", "baseUrl"]), Some("baseUrl"));
        assert_eq!(nearest("foo", ["use"]), None);
        assert_eq!(nearest("use", ["house"]), None);
        assert_eq!(nearest(&"u".repeat(1000), ["use"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
