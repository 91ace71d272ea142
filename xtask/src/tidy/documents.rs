//! Documents that every reader expects at the top of the repository.

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

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let missing = DOCUMENTS.into_iter().filter(|path| tree.text(path).is_none());
    missing.map(|path| Violation::new(path, 1, "does not exist; write it")).collect()
}
