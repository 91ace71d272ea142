//! Documents that every reader expects at the top of the repository, and a glossary that stays short.

use super::Violation;
use super::tree::Tree;

const DOCUMENTS: [&str; 8] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "GLOSSARY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "README.zh-CN.md",
];

const GLOSSARY: &str = "GLOSSARY.md";
/// A longer list is a language of our own.
const GLOSSARY_ENTRIES_MAX: usize = 60;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let missing = DOCUMENTS.into_iter().filter(|path| tree.text(path).is_none());
    let missing = missing.map(|path| Violation::new(path, 1, "does not exist; write it"));
    missing.chain(check_glossary(tree.text(GLOSSARY).map_or("", String::as_str))).collect()
}

/// Each word has one entry, in the order of the alphabet, and there are few.
fn check_glossary(text: &str) -> Vec<Violation> {
    let entries: Vec<(usize, &str)> = text
        .lines()
        .zip(1..)
        .filter_map(|(line, n)| Some((n, line.strip_prefix("**")?.split_once("**")?.0)))
        .collect();
    let mut violations = Vec::new();
    for pair in entries.windows(2) {
        if let [(_, before), (line, word)] = pair
            && word <= before
        {
            let text =
                format!("`{word}` comes after `{before}`; sort the entries, one for each word");
            violations.push(Violation::new(GLOSSARY, *line, text));
        }
    }
    if let Some((line, _)) = entries.get(GLOSSARY_ENTRIES_MAX) {
        let text = format!(
            "has {} entries and may have {GLOSSARY_ENTRIES_MAX}; leave out words that the field has",
            entries.len()
        );
        violations.push(Violation::new(GLOSSARY, *line, text));
    }
    violations
}
