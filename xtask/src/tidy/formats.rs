//! Specifications that change together with the code they describe.
//!
//! Each document in `docs/format/` carries the hash of its source files. When a source changes, the
//! hash does not fit until somebody has read both and said so with `--fix`.

use sha2::{Digest, Sha256};

use super::tree::{File, Tree, has_extension};
use super::{Generated, Violation};

const FOLDER: &str = "docs/format/";
const OPENING: &str = "<!-- describes: ";
const CLOSING: &str = " -->";

/// So much of the hash is enough to notice a change, and short enough for a line.
const HASH_DIGITS: usize = 16;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    documents(tree).flat_map(|document| check_document(tree, document)).collect()
}

pub(crate) fn generate(tree: &Tree) -> Vec<Generated> {
    let renew = |document: &File| {
        let lines = document.text.split_inclusive('\n').map(|line| renewed(tree, line));
        Generated { path: document.path.clone(), text: lines.collect() }
    };
    documents(tree).map(renew).collect()
}

fn documents(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files().filter(|file| file.path.starts_with(FOLDER) && has_extension(&file.path, "md"))
}

fn check_document(tree: &Tree, document: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut describes_something = false;
    for (index, line) in document.text.lines().enumerate() {
        let Some((source, hash)) = description(line) else { continue };
        describes_something = true;
        let text = match tree.text(source) {
            None => format!("describes `{source}`, which does not exist; correct the path"),
            Some(text) if hash_of(text) == hash => continue,
            Some(_) => format!(
                "`{source}` has changed since this was written; read both, correct this, then run \
                 `cargo xtask tidy --fix`"
            ),
        };
        violations.push(Violation::new(&document.path, index + 1, text));
    }
    if !describes_something {
        let text = format!(
            "does not say what it describes; add a line `{OPENING}crates/….rs{CLOSING}` and run \
             `cargo xtask tidy --fix`"
        );
        violations.push(Violation::new(&document.path, 1, text));
    }
    violations
}

/// The source file and the hash (empty when there is none yet) of a line that names them.
fn description(line: &str) -> Option<(&str, &str)> {
    let inside = line.trim().strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    Some(inside.split_once(" sha256:").unwrap_or((inside.trim(), "")))
}

fn renewed(tree: &Tree, line: &str) -> String {
    let known = description(line).and_then(|(source, _)| Some((source, tree.text(source)?)));
    match known {
        Some((source, text)) => {
            format!("{OPENING}{source} sha256:{}{CLOSING}\n", hash_of(text))
        }
        None => line.to_owned(),
    }
}

fn hash_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).take(HASH_DIGITS).collect()
}
