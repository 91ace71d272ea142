//! The name that was probably meant.

/// Letters that may differ between a name and the one that was meant.
const TYPOS_MAX: usize = 3;
/// A longer name is not a misspelt one.
const NEAR_CHARS_MAX: usize = 40;

/// The nearest of `names`, if it is near.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let n_chars = name.chars().count();
    if n_chars > NEAR_CHARS_MAX {
        return None;
    }
    let nearest = names.into_iter().map(|known| (distance(name, known), known)).min()?;
    // Three letters that all differ are another word.
    (nearest.0 <= TYPOS_MAX && nearest.0 < n_chars).then_some(nearest.1)
}

/// How many letters to add, drop or change, whatever their case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_two_names_is_counted_in_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("baseurl", "baseUrl"), 0);
        assert_eq!(distance("base_url", "baseUrl"), 1);
        assert_eq!(distance("wier", "wire"), 2);
    }

    #[test]
    fn another_word_is_not_a_misspelt_one() {
        assert_eq!(nearest("usee", ["use", "fallbacks"]), Some("use"));
        assert_eq!(nearest("foo", ["use"]), None);
        assert_eq!(nearest(&"u".repeat(1000), ["use"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
