//! A type name is used once in the production code, so that a search for it finds one place.
//!
//! Private types count too. Associated types are named by their trait, and the tests may call things
//! what they like.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::source::{line_of, words};
use super::tree::{RustFile, Tree};

/// What every module may call its own.
const SHARED_NAMES: [&str; 2] = ["Error", "Builder"];

/// Crates whose types reach no user.
const TEST_CRATES: [&str; 1] = ["crates/kith-testkit/"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let test_modules = test_modules(tree);
    let is_ours = |path: &str| {
        path.starts_with("crates/")
            && !TEST_CRATES.iter().any(|it| path.starts_with(it))
            && !test_modules.iter().any(|it| is_in_module(path, it))
    };
    let mut first_places: BTreeMap<&str, String> = BTreeMap::new();
    let mut violations = Vec::new();
    for file in tree.production_files().filter(|file| is_ours(file.path)) {
        for (line, name) in types(file) {
            if SHARED_NAMES.contains(&name) {
                continue;
            }
            if let Some(first) = first_places.get(name) {
                let text = format!("`{name}` is the name of a type at {first} too; rename one");
                violations.push(Violation::new(file.path, line, text));
            } else {
                first_places.insert(name, format!("{}:{line}", file.path));
            }
        }
    }
    violations
}

/// The types that a file defines, with their lines.
fn types(file: RustFile<'_>) -> Vec<(usize, &str)> {
    let code = file.source.production.as_str();
    let mut types = Vec::new();
    let mut last = (0, "");
    for (offset, word) in words(code) {
        let is_type = match last.1 {
            "struct" | "enum" | "trait" => true,
            // One that is indented belongs to a trait.
            "type" => !line_before(code, last.0).starts_with(' '),
            _ => false,
        };
        if is_type && word.starts_with(char::is_uppercase) {
            types.push((line_of(code, offset), word));
        }
        last = (offset, word);
    }
    types
}

/// What stands on the line before this position.
fn line_before(code: &str, offset: usize) -> &str {
    let start = code[..offset].rfind('\n').map_or(0, |at| at + 1);
    &code[start..offset]
}

/// The paths, without `.rs`, of modules that are compiled for tests only.
fn test_modules(tree: &Tree) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for file in tree.rust_files() {
        let production: BTreeSet<&str> = declared_modules(&file.source.production).collect();
        let for_tests =
            declared_modules(&file.source.code).filter(|name| !production.contains(name));
        let folder = match file.path.strip_suffix("lib.rs").or(file.path.strip_suffix("main.rs")) {
            Some(folder) => folder.to_owned(),
            None => format!("{}/", file.path.trim_end_matches(".rs")),
        };
        modules.extend(for_tests.map(|name| format!("{folder}{name}")));
    }
    modules
}

fn declared_modules(code: &str) -> impl Iterator<Item = &str> {
    let mut last = "";
    words(code).filter_map(move |(_, word)| {
        let is_module = last == "mod";
        last = word;
        is_module.then_some(word)
    })
}

fn is_in_module(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}
