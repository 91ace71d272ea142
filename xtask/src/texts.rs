//! `cargo xtask texts`: every text for people, to be read in one sitting.
//!
//! Help and notices are printed from snapshots that the tests of their crates compare with the code.
//! Errors, hints, notes and the like are found in the sources on the spot, so nothing can be stale.

use std::process::ExitCode;

use anyhow::Context;

use crate::tidy::source::line_of;
use crate::tidy::tree::{RustFile, Tree};
use crate::usage::no_arguments;
use crate::workspace_root;

pub(crate) const PURPOSE: &str = "print every text for people, with its code or place";

pub(crate) const HELP: &str = "
cargo xtask texts

Prints the help of every command, the notices of a conversation in both languages, and every other
sentence of the production sources with its line, what it is (error, hint, note …) and its code.

Example:
  cargo xtask texts | less
";

/// Snapshots that tests keep up with the code.
const SNAPSHOTS: [(&str, &str); 2] = [
    ("Help", "crates/kith/src/args/snapshots/kith__program__args__tests__help.snap"),
    ("Notices", "crates/kith-engine/src/words/snapshots/kith_engine__words__tests__notices.snap"),
];

/// Sources whose sentences no user reads: samples, fakes and what is said to the model.
const SILENT: [&str; 6] =
    ["testkit", "conformance", "fixture", "samples", "faults", "format_tests"];

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    no_arguments("texts", args)?;
    let tree = Tree::read(&workspace_root())?;
    for (title, path) in SNAPSHOTS {
        let text = tree.text(path).with_context(|| format!("`{path}` is missing"))?;
        let body = text.splitn(3, "---\n").nth(2).unwrap_or_default();
        println!("# {title}\n\n{}\n", body.trim_end());
    }
    println!("# Sentences in the sources");
    for file in tree.production_files().filter(|file| is_spoken(file.path)) {
        let texts = texts_of(&file);
        if !texts.is_empty() {
            println!("\n## {}\n\n{}", file.path, texts.join("\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn is_spoken(path: &str) -> bool {
    path.starts_with("crates/") && !SILENT.iter().any(|part| path.contains(part))
}

/// The sentences of a file: line, kind, code if one stands near, text.
fn texts_of(file: &RustFile<'_>) -> Vec<String> {
    let source = file.source;
    let mut texts = Vec::new();
    for (start, end) in &source.literals {
        let before = source.production[..*start].trim_end();
        // In an item for tests, production is blank where code is not.
        let is_for_tests = before.len() < source.code[..*start].trim_end().len();
        let text = joined(&file.text[*start..*end]);
        if is_for_tests || !is_sentence(&text) || is_silent(before) {
            continue;
        }
        let kind = kind(before);
        let code = match kind {
            "text" => code_near(before, &source.production[*end..]),
            _ => None,
        };
        let code = code.map_or_else(String::new, |code| format!(" [{code}]"));
        texts.push(format!("{}: {kind}{code} {text}", line_of(file.text, *start)));
    }
    texts
}

/// A literal without its quotes and line continuations.
fn joined(literal: &str) -> String {
    let text = literal.trim_start_matches(['r', '#']).trim_end_matches('#');
    let text = text.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or_default();
    let lines: Vec<&str> = text.split("\\\n").collect();
    let first = lines.first().copied().unwrap_or_default().to_owned();
    lines.iter().skip(1).fold(first, |text, line| text + line.trim_start())
}

/// Two words at least, one of them of small letters, and no SQL.
fn is_sentence(text: &str) -> bool {
    const SQL: [&str; 8] =
        ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "PRAGMA", "ALTER", "WHERE"];
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|ch| ch.is_ascii_lowercase());
    let words: Vec<&str> = text.split_whitespace().collect();
    words.len() > 1 && words.iter().any(|it| is_word(it)) && !SQL.iter().any(|it| text.contains(it))
}

/// Reasons of lints and of assertions.
fn is_silent(before: &str) -> bool {
    before.ends_with("reason =") || before.ends_with("expect(")
}

/// What the text is, by the call it stands in.
fn kind(before: &str) -> &'static str {
    const KINDS: [(&str, &str); 7] = [
        ("#[error(", "error"),
        (".hint(", "hint"),
        ("note(", "note"),
        ("prompt(", "question"),
        ("ok(name,", "doctor"),
        ("warn(name, detail,", "doctor"),
        ("fail(name, detail,", "doctor"),
    ];
    let before = before.strip_suffix("format!(").unwrap_or(before).trim_end();
    KINDS.iter().find(|(call, _)| before.ends_with(call)).map_or("text", |(_, kind)| kind)
}

/// The error code that is named with a text: in its own statement, or else in the next one.
fn code_near(before: &str, after: &str) -> Option<String> {
    let own = before.rsplit([';', '{', '}']).next().unwrap_or_default();
    let end = after.match_indices(';').nth(1).map_or(after.len(), |(at, _)| at);
    let own = own.rsplit_once("ErrorCode::").map(|(_, code)| code);
    let code = own.or_else(|| after[..end].split_once("ErrorCode::").map(|(_, code)| code))?;
    let variant = code.split(|ch: char| !ch.is_alphanumeric()).next().filter(|it| *it != "from")?;
    Some(snake_case(variant))
}

/// The code as users see it: its variant in small letters, with an underscore between words.
fn snake_case(variant: &str) -> String {
    let mut code = String::new();
    for ch in variant.chars() {
        if ch.is_ascii_uppercase() && !code.is_empty() {
            code.push('_');
        }
        code.push(ch.to_ascii_lowercase());
    }
    code
}

#[cfg(test)]
mod tests;
