//! The `workspace` section: where the session works, in a few lines.
//!
//! A summary and never a tree: the model can look for itself, and a listing would cost every
//! request what one `ls` costs once.

mod packages;

use std::fs;
use std::io;
use std::path::Path;

use kith_vocab::header::Audience;

use crate::error::Problem;
use crate::placeholder::is_placeholder_at;
use crate::rendering::{NAME_CHARS_MAX, one_line};

use super::Assembly;

const ENTRIES_SHOWN_MAX: usize = 20;
/// A folder is not read further than this; beyond it the count is a lower bound.
const ENTRIES_SCANNED_MAX: usize = 10_000;
const ENTRY_NAME_CHARS_MAX: usize = 80;

/// Files at the root that show the kind of a workspace.
const KINDS: [(&str, &str); 17] = [
    ("Cargo.toml", "cargo"),
    ("package.json", "npm"),
    ("pnpm-workspace.yaml", "pnpm"),
    ("deno.json", "deno"),
    ("go.mod", "go"),
    ("go.work", "go"),
    ("pyproject.toml", "python"),
    ("setup.py", "python"),
    ("pom.xml", "maven"),
    ("build.gradle", "gradle"),
    ("build.gradle.kts", "gradle"),
    ("Gemfile", "ruby"),
    ("composer.json", "php"),
    ("mix.exs", "elixir"),
    ("Package.swift", "swift"),
    ("CMakeLists.txt", "cmake"),
    ("Makefile", "make"),
];

pub(super) fn block(assembly: &mut Assembly<'_>) -> String {
    if assembly.audience() == Audience::Peer {
        return String::new();
    }
    let cwd = assembly.cwd.clone();
    let root = assembly.repository.clone().unwrap_or_else(|| cwd.clone());
    let mut lines = vec!["# Workspace\n".to_owned(), format!("Working directory: {}", path(&cwd))];
    if let Some(repository) = &assembly.repository {
        lines.push(format!("Repository root: {}", path(repository)));
    }
    let mut kinds = kinds(&root);
    if kinds.is_empty() {
        kinds = self::kinds(&cwd);
    }
    if !kinds.is_empty() {
        lines.push(format!("Workspace kind: {}", kinds.join(", ")));
    }
    if assembly.is_untrusted_workspace() {
        return lines.join("\n");
    }
    lines.extend(packages::line(&root));
    match entries(&root, ENTRIES_SCANNED_MAX) {
        Ok(entries) if entries.is_empty() => (),
        Ok(entries) => lines.push(format!("Top level: {entries}")),
        Err(error) => {
            assembly.leave_out(&root, Problem::Unreadable { reason: error.to_string() });
        }
    }
    lines.join("\n")
}

fn path(path: &Path) -> String {
    one_line(&path.to_string_lossy(), NAME_CHARS_MAX)
}

fn kinds(root: &Path) -> Vec<&'static str> {
    let present = KINDS.iter().filter(|(file, _)| root.join(file).is_file());
    let mut kinds: Vec<&str> = present.map(|&(_, kind)| kind).collect();
    kinds.dedup();
    kinds
}

/// The first names in order, folders with a slash, and how many are not shown.
fn entries(root: &Path, scanned_max: usize) -> io::Result<String> {
    let mut names = Vec::new();
    let mut all_scanned = true;
    for (n_scanned, entry) in fs::read_dir(root)?.enumerate() {
        if n_scanned == scanned_max {
            all_scanned = false;
            break;
        }
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Hidden ones, and with them `.kith` and `.git`, are of no use to the model.
        if name.starts_with('.') {
            continue;
        }
        let is_folder = entry.file_type()?.is_dir();
        if is_folder && is_placeholder_at(&entry.path()) {
            continue;
        }
        let slash = if is_folder { "/" } else { "" };
        names.push(format!("{}{slash}", one_line(&name, ENTRY_NAME_CHARS_MAX)));
    }
    names.sort_unstable();
    let n_more = names.len().saturating_sub(ENTRIES_SHOWN_MAX);
    names.truncate(ENTRIES_SHOWN_MAX);
    let shown = names.join(", ");
    Ok(match (all_scanned, n_more) {
        (true, 0) => shown,
        (true, _) => format!("{shown} … and {n_more} more"),
        (false, _) => format!("{shown} … and more than {n_more} more"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_not_read_without_end() {
        check(22, 30, "… and 2 more");
        check(22, 22, "… and 2 more");
        check(22, 21, "… and more than 1 more");
        check(22, 5, "… and more than 0 more");
        check(20, 20, "f19");
    }

    #[track_caller]
    fn check(n_files: usize, scanned_max: usize, end: &str) {
        let folder = tempfile::tempdir().unwrap();
        for file in 0..n_files {
            fs::write(folder.path().join(format!("f{file:02}")), "").unwrap();
        }
        let entries = entries(folder.path(), scanned_max).unwrap();
        assert!(entries.ends_with(end), "{entries}");
    }
}
