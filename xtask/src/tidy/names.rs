//! What things are called, and what is imported.
//!
//! A name like `manager` says that nobody decided what the thing is; a glob import hides where a
//! name comes from; `mod.rs` hides which file an editor has open.

use super::Violation;
use super::paths::imported;
use super::source::{line_of, words};
use super::tree::{RustFile, Tree};

/// Words that say nothing, with their plurals.
const EMPTY_WORDS: [&str; 13] = [
    "manager",
    "managers",
    "helper",
    "helpers",
    "util",
    "utils",
    "utility",
    "utilities",
    "common",
    "base",
    "handler",
    "handlers",
    "v2",
];

const TYPE_KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let in_paths = tree.rust_files().filter_map(|file| check_path(file.path));
    let in_code = tree.production_files().flat_map(|file| {
        let mut violations = check_types(file);
        violations.extend(check_imports(file));
        violations
    });
    in_paths.chain(in_code).collect()
}

fn check_path(path: &str) -> Option<Violation> {
    if path.ends_with("/mod.rs") {
        let text = "`mod.rs` is not used here; move it beside its folder and name it after that";
        return Some(Violation::new(path, 1, text));
    }
    let word = path.trim_end_matches(".rs").split(['/', '_', '-', '.']).find_map(empty_word)?;
    let text = format!("`{word}` in a file name says nothing; name the thing of the domain");
    Some(Violation::new(path, 1, text))
}

fn check_types(file: RustFile) -> Vec<Violation> {
    let code = &file.source.production;
    let mut violations = Vec::new();
    let mut last = "";
    for (offset, word) in words(code) {
        if TYPE_KEYWORDS.contains(&last)
            && let Some(empty) = camel_words(word).iter().find_map(|part| empty_word(part))
        {
            let text = format!("`{empty}` in `{word}` says nothing; name the thing of the domain");
            violations.push(Violation::new(file.path, line_of(code, offset), text));
        }
        last = word;
    }
    violations
}

fn check_imports(file: RustFile) -> Vec<Violation> {
    let code = &file.source.production;
    let globs = imported(code).into_iter().filter(|it| it.path.ends_with('*'));
    globs
        .map(|glob| {
            let text = format!("`use {}` hides where names come from; name them", glob.path);
            Violation::new(file.path, line_of(code, glob.offset), text)
        })
        .collect()
}

fn empty_word(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    EMPTY_WORDS.into_iter().find(|empty| *empty == lower)
}

/// `HttpBase64V2` is `Http`, `Base64`, `V2`: digits belong to the word before them.
fn camel_words(name: &str) -> Vec<&str> {
    let starts = name.char_indices().filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at);
    let mut cuts: Vec<usize> = [0].into_iter().chain(starts).chain([name.len()]).collect();
    cuts.dedup();
    cuts.windows(2).map(|cut| &name[cut[0]..cut[1]]).collect()
}
