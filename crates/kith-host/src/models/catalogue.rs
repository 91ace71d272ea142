//! Prices and context sizes of common models, as they were known on [`TABLE_DATE`]: from the pages of
//! their vendors where those could be read, else from others. Where two said different things, the
//! higher price counts: a budget errs to the safe side.
//!
//! The table counts only for a vendor's own address: a proxy may charge otherwise. Settings win over
//! it, and a model that is not in it stays unknown: its answers are counted in tokens. Models whose
//! price rises with the length of a request are left out, because one price would be wrong for them.

use crate::price::Price;

/// The day on which the table was made.
pub const TABLE_DATE: &str = "2026-11-17";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// The vendor for whose own address it counts, as in the list of vendors with keys.
    pub vendor: &'static str,
    /// The vendor's name for the model, without the date of a version.
    pub name: &'static str,
    /// How many tokens the model can read: where a vendor limits what is read apart from what is
    /// answered, that limit. `None` where the vendor's page did not say.
    pub context_window: Option<u64>,
    pub price: Price,
}

/// The model that the vendor calls so, also with the date of a version behind its name.
pub fn find_known(vendor: &str, name: &str) -> Option<&'static KnownModel> {
    MODELS.iter().find(|model| {
        let version = name.strip_prefix(model.name);
        model.vendor == vendor && version.is_some_and(|it| it.is_empty() || is_version(it))
    })
}

/// `-20250929`, `-2025-08-07` or `-latest`.
fn is_version(text: &str) -> bool {
    let Some(version) = text.strip_prefix('-') else { return false };
    let digits: Vec<&str> = version.split('-').collect();
    let has_lengths = |lengths: &[usize]| {
        let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
        digits.iter().map(|it| it.len()).eq(lengths.iter().copied())
            && digits.iter().all(|it| is_number(it))
    };
    version == "latest" || has_lengths(&[8]) || has_lengths(&[4, 2, 2])
}

/// A vendor, and what writing to its cache costs in percent of input.
type CacheWriteRate = (&'static str, u64);

/// The cache that lives for five minutes.
const ANTHROPIC: CacheWriteRate = ("anthropic", 125);
const OPENAI: CacheWriteRate = ("openai", 100);

/// Prices per million tokens: `[input, output]` in US cents, `cache_read` in hundredths of a cent. No
/// `context_window` is 0.
const fn model(
    (vendor, cache_write): CacheWriteRate,
    name: &'static str,
    context_window: u64,
    [input, output]: [u64; 2],
    cache_read: u64,
) -> KnownModel {
    let price = Price {
        input: input * 10_000,
        output: output * 10_000,
        cache_read: cache_read * 100,
        cache_write: input * 100 * cache_write,
    };
    KnownModel { vendor, name, context_window: known(context_window), price }
}

const fn known(tokens: u64) -> Option<u64> {
    if tokens == 0 { None } else { Some(tokens) }
}

const MODELS: [KnownModel; 23] = [
    model(ANTHROPIC, "claude-fable-5-1", 1_000_000, [1000, 5000], 2500),
    model(ANTHROPIC, "claude-fable-5", 1_000_000, [1000, 5000], 10_000),
    model(ANTHROPIC, "claude-opus-5-5", 1_000_000, [400, 2000], 4000),
    model(ANTHROPIC, "claude-opus-5", 1_000_000, [500, 2500], 5000),
    model(ANTHROPIC, "claude-opus-4-8", 0, [500, 2500], 5000),
    model(ANTHROPIC, "claude-opus-4-7", 0, [500, 2500], 5000),
    model(ANTHROPIC, "claude-opus-4-6", 0, [500, 2500], 5000),
    model(ANTHROPIC, "claude-opus-4-5", 200_000, [500, 2500], 5000),
    model(ANTHROPIC, "claude-sonnet-5-5", 1_000_000, [200, 1000], 2000),
    model(ANTHROPIC, "claude-sonnet-5", 1_000_000, [200, 1000], 2000),
    model(ANTHROPIC, "claude-sonnet-4-6", 0, [300, 1500], 3000),
    model(ANTHROPIC, "claude-sonnet-4-5", 200_000, [300, 1500], 3000),
    model(ANTHROPIC, "claude-haiku-4-5", 200_000, [100, 500], 1000),
    model(OPENAI, "gpt-5", 272_000, [125, 1000], 1250),
    model(OPENAI, "gpt-5-mini", 272_000, [25, 200], 250),
    model(OPENAI, "gpt-5-nano", 272_000, [5, 40], 50),
    model(OPENAI, "gpt-4.1", 1_047_576, [200, 800], 5000),
    model(OPENAI, "gpt-4.1-mini", 1_047_576, [40, 160], 1000),
    model(OPENAI, "gpt-4.1-nano", 1_047_576, [10, 40], 250),
    model(OPENAI, "gpt-4o", 128_000, [250, 1000], 12_500),
    model(OPENAI, "gpt-4o-mini", 128_000, [15, 60], 750),
    model(OPENAI, "o3", 200_000, [200, 800], 5000),
    model(OPENAI, "o4-mini", 200_000, [110, 440], 2750),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_model_is_known_by_its_name_with_or_without_a_version() {
        let known = |name| find_known("openai", name).map(|it| it.name);
        assert_eq!(known("gpt-5-mini"), Some("gpt-5-mini"));
        assert_eq!(known("gpt-5-mini-2025-08-07"), Some("gpt-5-mini"));
        assert_eq!(known("gpt-5"), Some("gpt-5"));
        // Another model, whatever it costs.
        for other in ["gpt-5-pro", "gpt-5-mini-fast", "gpt-5-", "gpt-5-2025", "gpt", "tiny", ""] {
            assert_eq!(known(other), None, "{other}");
        }
        let claude = |name| find_known("anthropic", name).map(|it| it.name);
        assert_eq!(claude("claude-sonnet-4-5-20250929"), Some("claude-sonnet-4-5"));
        assert_eq!(claude("claude-haiku-4-5-latest"), Some("claude-haiku-4-5"));
        assert_eq!(claude("claude-sonnet-5-5"), Some("claude-sonnet-5-5"));
        assert_eq!(claude("gpt-5"), None);
    }

    #[test]
    fn prices_are_micro_usd_per_million_tokens() {
        let sonnet = find_known("anthropic", "claude-sonnet-5-5").unwrap();
        let expected = Price {
            input: 2_000_000,
            output: 10_000_000,
            cache_read: 200_000,
            cache_write: 2_500_000,
        };
        assert_eq!((sonnet.price, sonnet.context_window), (expected, Some(1_000_000)));
        let mini = find_known("openai", "gpt-5-mini").unwrap();
        assert_eq!((mini.price.input, mini.price.cache_read), (250_000, 25_000));
        let names: BTreeSet<&str> = MODELS.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), MODELS.len());
        for KnownModel { price, name, .. } in &MODELS {
            assert!(price.cache_read < price.input && price.input < price.output, "{name}");
        }
    }
}
