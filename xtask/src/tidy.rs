//! `cargo xtask tidy`: the invariants of this project as rules that can fail.
//!
//! A rule is a function from the [`Tree`] to violations; it reads no disk, so its test is a small
//! text. What a rule can write itself (lint tables, the list of limits, hashes) it also generates,
//! and `--fix` writes that down. `cargo test` runs all rules on the real tree.

mod clippy_tables;
mod conversions;
mod dependencies;
mod documents;
mod formats;
mod leftovers;
mod limits;
mod mutants;
mod names;
mod openings;
mod purity;
mod requirements;
mod rows;
mod size;
mod type_names;
mod wire_types;

mod manifest;
mod paths;
pub(crate) mod source;
pub(crate) mod tree;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::usage::WrongUsage;
use crate::workspace_root;
use tree::Tree;

pub(crate) const PURPOSE: &str = "check the project's own rules; --fix rewrites generated files";

pub(crate) const HELP: &str = "
cargo xtask tidy [--fix]

Checks the rules of ARCHITECTURE.md that no compiler knows: which crate may use which, files that
do no I/O, sizes, names, documents that are up to date. Prints one line per violation: where, what
is wrong, what to do. `cargo test` runs the same rules.

  --fix   first rewrite what is generated: clippy.toml of each crate, docs/limits.md and the hashes
          in docs/format/

Example:
  cargo xtask tidy --fix
";

/// Something that must be mended, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    line: usize,
    /// What is wrong; what to do.
    text: String,
}

impl Violation {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Violation {
        Violation { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// A file as it should be.
#[derive(Debug, PartialEq, Eq)]
struct Generated {
    path: String,
    text: String,
}

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: [Rule; 16] = [
    rows::check,
    purity::check,
    clippy_tables::check,
    size::check,
    names::check,
    type_names::check,
    wire_types::check,
    limits::check,
    requirements::check,
    formats::check,
    dependencies::check,
    openings::check,
    leftovers::check,
    documents::check,
    mutants::check,
    conversions::check,
];

type Generator = fn(&Tree) -> Vec<Generated>;

const GENERATORS: [Generator; 3] = [clippy_tables::generate, limits::generate, formats::generate];

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let root = workspace_root();
    let is_fix = |arg: &String| arg == "--fix";
    if let Some(other) = args.iter().find(|arg| !is_fix(arg)) {
        return Err(WrongUsage(format!(
            "`cargo xtask tidy` takes only `--fix`, but got `{other}`; \
             see `cargo xtask tidy --help`"
        ))
        .into());
    }
    if args.iter().any(is_fix) {
        fix(&root)?;
    }
    Ok(if holds(&root)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints what is wrong with the tree below this folder, and says whether nothing is.
pub(crate) fn holds(root: &Path) -> anyhow::Result<bool> {
    let tree = Tree::read(root)?;
    for note in size::notes(&tree) {
        println!("note: {note}");
    }
    let violations = violations(&tree);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => println!("tidy: {} rules hold", RULES.len()),
        n_violations => eprintln!("error: violations of the project's rules: {n_violations}"),
    }
    Ok(violations.is_empty())
}

fn violations(tree: &Tree) -> Vec<Violation> {
    let mut all: Vec<Violation> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    all.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    all
}

fn fix(root: &Path) -> anyhow::Result<()> {
    let tree = Tree::read(root)?;
    for Generated { path, text } in GENERATORS.iter().flat_map(|generate| generate(&tree)) {
        if tree.text(&path) == Some(&text) {
            continue;
        }
        let target = root.join(&path);
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        }
        std::fs::write(&target, text).with_context(|| format!("cannot write `{path}`"))?;
        println!("wrote {path}");
    }
    Ok(())
}

/// For files that are generated as a whole.
fn stale(tree: &Tree, generated: Vec<Generated>, made_from: &str) -> Vec<Violation> {
    let differs = |it: &Generated| tree.text(&it.path) != Some(&it.text);
    let violation = |it: Generated| {
        let text = format!("does not match {made_from}; run `cargo xtask tidy --fix`");
        Violation::new(&it.path, 1, text)
    };
    generated.into_iter().filter(differs).map(violation).collect()
}

#[cfg(test)]
mod tests;
