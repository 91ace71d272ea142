//! Every requirement that is built names the tests that show it, and those tests exist.
//!
//! `docs/requirements.md` has rows `| S-08 | test_name, other_test |`, `| U-08 | cmd: … |` for what
//! a person shows by typing, and `| P-20 | next |` for what is not built yet. Without this rule the
//! list would rot with the first renamed test. `docs/found.md` has rows `| fact | test_name |` of the
//! same kind.

use std::collections::BTreeSet;

use super::Violation;
use super::source::words;
use super::tree::{RustFile, Tree};

const DOCUMENT: &str = "docs/requirements.md";
const FOUND: &str = "docs/found.md";

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let tests: BTreeSet<&str> = tree.rust_files().flat_map(tests_of).collect();
    let mut violations = check_found(tree, &tests);
    let Some(document) = tree.text(DOCUMENT) else { return violations };
    let mut seen = BTreeSet::new();
    for (index, line) in document.lines().enumerate() {
        let Some((id, proofs)) = row(line) else { continue };
        let mut add = |text| violations.push(Violation::new(DOCUMENT, index + 1, text));
        if !seen.insert(id) {
            add(format!("{id} has a second row; put its tests into the first"));
        }
        for text in objections(id, proofs, &tests) {
            add(text);
        }
    }
    violations
}

fn check_found(tree: &Tree, tests: &BTreeSet<&str>) -> Vec<Violation> {
    let Some(document) = tree.text(FOUND) else { return Vec::new() };
    let mut violations = Vec::new();
    for (index, line) in document.lines().enumerate() {
        let Some((fact, proofs)) = fact_row(line) else { continue };
        let objections = objections(&format!("`{fact}`"), proofs, tests);
        violations.extend(objections.into_iter().map(|it| Violation::new(FOUND, index + 1, it)));
    }
    violations
}

/// The fact and its tests, unless the line is the head of a table or no row at all.
fn fact_row(line: &str) -> Option<(&str, &str)> {
    let (fact, tests) = line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | ")?;
    (fact != "fact").then_some((fact, tests))
}

/// The id and what stands in the second cell, when the line is a row about a requirement.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix('|')?.split('|');
    let id = cells.next()?.trim().trim_matches('`');
    let (letter, number) = id.split_once('-')?;
    let is_id =
        letter.len() == 1 && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_id.then(|| (id, cells.next().unwrap_or("").trim()))
}

fn objections(id: &str, proofs: &str, tests: &BTreeSet<&str>) -> Vec<String> {
    let mut found = Vec::new();
    let (listed, command) = match proofs.split_once("cmd:") {
        Some((listed, command)) => (listed, Some(command)),
        None => (proofs, None),
    };
    if command.is_some_and(|command| command.trim().is_empty()) || proofs.is_empty() {
        found.push(format!("{id} names nothing; write test names, `cmd: …` or `next`"));
    }
    let names = listed.split([',', ';']).map(|it| it.trim().trim_matches('`'));
    for name in names.filter(|it| !it.is_empty() && *it != "next" && !it.starts_with("next:")) {
        // A test may be given with its module: `step::tests::rests`.
        let function = name.rsplit("::").next().unwrap_or(name);
        if !tests.contains(function) {
            found.push(format!(
                "{id} names the test `{name}`, which does not exist; correct the row"
            ));
        }
    }
    found
}

/// The functions below a `#[test]` or `#[tokio::test]`. Those in `proptest!` carry one as well.
fn tests_of(file: RustFile<'_>) -> Vec<&str> {
    let code = &file.source.code;
    let mut marks =
        code.match_indices("#[").filter(|(at, _)| is_test_mark(&code[at + 2..])).peekable();
    let mut found = Vec::new();
    let mut last = "";
    let mut test_follows = false;
    for (offset, word) in words(code) {
        while marks.next_if(|(at, _)| *at < offset).is_some() {
            test_follows = true;
        }
        if last == "fn" && test_follows {
            found.push(word);
            test_follows = false;
        }
        last = word;
    }
    found
}

fn is_test_mark(attribute: &str) -> bool {
    let name = attribute.split([']', '(']).next().unwrap_or("").trim();
    name == "test" || name.ends_with("::test")
}
