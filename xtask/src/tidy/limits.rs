//! Every limit of the program, listed in `docs/limits.md`.
//!
//! Each loop, queue, file, message and wait has a named limit `…_MAX`. A person who runs into one
//! finds it in that list, with its value and, where the name does not say it all, its reason.

use super::source::{closing, line_of, words};
use super::tree::{RustFile, Tree};
use super::{Generated, Violation, stale};

const DOCUMENT: &str = "docs/limits.md";

/// These are not part of the program.
const OTHER_CRATES: [&str; 2] = ["xtask/", "crates/kith-testkit/"];

struct Limit {
    name: String,
    value: String,
    path: String,
    /// The first sentence of its documentation; empty when its name says enough.
    sentence: String,
}

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    stale(tree, generate(tree), "the `…_MAX` constants of the code")
}

pub(crate) fn generate(tree: &Tree) -> Vec<Generated> {
    let rows = limits(tree).into_iter().map(|Limit { name, value, path, sentence }| {
        let value = cell(&value);
        let sentence = cell(&sentence);
        format!("| `{name}` | `{value}` | `{path}` | {sentence} |\n")
    });
    let text = format!(
        "# Limits\n\n\
         Every loop, queue, file, message and wait of Kith has a named limit.\n\
         This list is generated from the code by `cargo xtask tidy --fix`.\n\n\
         | limit | value | where | what it limits |\n\
         |---|---|---|---|\n{}",
        rows.collect::<String>()
    );
    vec![Generated { path: DOCUMENT.to_owned(), text }]
}

fn limits(tree: &Tree) -> Vec<Limit> {
    let is_ours = |file: &RustFile| !OTHER_CRATES.iter().any(|it| file.path.starts_with(it));
    tree.production_files().filter(is_ours).flat_map(limits_of).collect()
}

fn limits_of(file: RustFile) -> Vec<Limit> {
    let code = &file.source.production;
    let mut found = Vec::new();
    let mut last = "";
    for (offset, name) in words(code) {
        if last == "const"
            && name.ends_with("_MAX")
            && let Some(value) = value_after(file, offset)
        {
            found.push(Limit {
                name: name.to_owned(),
                value,
                path: file.path.to_owned(),
                sentence: sentence_above(file.text, line_of(code, offset)),
            });
        }
        last = name;
    }
    found
}

/// The text between `=` and `;`. A trait's constant may have none.
fn value_after(file: RustFile, name: usize) -> Option<String> {
    let code = &file.source.production;
    let mut equals = None;
    let mut at = name;
    while at < code.len() {
        match code.as_bytes()[at] {
            b';' => break,
            b'(' | b'[' | b'{' => at = closing(code, at),
            b'=' if equals.is_none() => {
                equals = Some(at);
                at += 1;
            }
            _ => at += 1,
        }
    }
    let value = file.text.get(equals? + 1..at)?;
    Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn sentence_above(text: &str, line: usize) -> String {
    let above = text.lines().take(line - 1).map(str::trim).collect::<Vec<_>>();
    let docs = above
        .into_iter()
        .rev()
        .skip_while(|line| line.starts_with("#["))
        .map_while(|line| line.strip_prefix("///"));
    let mut docs: Vec<&str> = docs.map(str::trim).collect();
    docs.reverse();
    let all = docs.join(" ");
    all.split_inclusive(". ").next().unwrap_or("").trim().to_owned()
}

/// A table's cell ends at a bar.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
