//! How long a file may be.
//!
//! The heart of every agent runtime began small and grew because each feature wanted to live there.
//! The three files at the heart of the engine have limits of their own for that reason.

use super::Violation;
use super::tree::Tree;

/// Longer files fail.
const FILE_LINES_MAX: usize = 800;

/// Longer files are named, so that they are split before they fail.
const FILE_LINES_NOTED: usize = 500;

const HEART: [(&str, usize); 3] = [
    ("crates/kith-engine/src/state.rs", 300),
    ("crates/kith-engine/src/step.rs", 200),
    ("crates/kith-engine/src/turn.rs", 200),
];

const HEART_FOLDERS: [(&str, usize); 1] = [("crates/kith-engine/src/state/", 200)];

/// Files that may be longer, and how long. The list may only shrink: its length is in its type so
/// that nobody adds to it in passing.
const EXCEPTIONS: [(&str, usize); 0] = [];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    check_with(tree, &EXCEPTIONS)
}

pub(crate) fn check_with(tree: &Tree, exceptions: &[(&str, usize)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.production_files() {
        let n_lines = file.text.lines().count();
        let usual = limit(file.path);
        let exception = exceptions.iter().find(|(path, _)| *path == file.path);
        if exception.is_some() && n_lines <= usual {
            let text = "is on the list of exceptions and needs none; take it off in \
                        xtask/src/tidy/size.rs";
            violations.push(Violation::new(file.path, 1, text));
        }
        let allowed = exception.map_or(usual, |(_, lines)| *lines);
        if n_lines > allowed {
            let text = format!("has {n_lines} lines and may have {allowed}; split it along a seam");
            violations.push(Violation::new(file.path, n_lines, text));
        }
    }
    for (path, _) in exceptions.iter().filter(|(path, _)| tree.text(path).is_none()) {
        let text = "is on the list of exceptions and does not exist; take it off in \
                    xtask/src/tidy/size.rs";
        violations.push(Violation::new(path, 1, text));
    }
    violations
}

/// Files that are still allowed but on their way.
pub(crate) fn notes(tree: &Tree) -> Vec<Violation> {
    let note = |path: &str, n_lines: usize| {
        let text = format!("has {n_lines} lines; split it before it has {FILE_LINES_MAX}");
        Violation::new(path, n_lines, text)
    };
    tree.production_files()
        .map(|file| (file.path, file.text.lines().count()))
        .filter(|(_, n_lines)| (FILE_LINES_NOTED + 1..=FILE_LINES_MAX).contains(n_lines))
        .map(|(path, n_lines)| note(path, n_lines))
        .collect()
}

fn limit(path: &str) -> usize {
    let own = HEART.iter().find(|(file, _)| *file == path);
    let of_folder = HEART_FOLDERS.iter().find(|(folder, _)| path.starts_with(folder));
    own.or(of_folder).map_or(FILE_LINES_MAX, |(_, lines)| *lines)
}
