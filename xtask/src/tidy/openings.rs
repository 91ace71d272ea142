//! Every file says at its top what it is.

use super::Violation;
use super::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    tree.production_files()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| {
            let text = "does not open with `//!`; say in one sentence what this file is";
            Violation::new(file.path, 1, text)
        })
        .collect()
}
