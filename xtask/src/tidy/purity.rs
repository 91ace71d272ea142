//! Files that do no I/O and read no clock.
//!
//! Replay, restart and the tests all rest on this: the same events give the same step. What these
//! files need of the world comes as an event or as an argument. `std::io` and `std::path` are not
//! forbidden, because ports speak of errors and paths without touching a disk.

use super::Violation;
use super::paths::{imported, written};
use super::source::line_of;
use super::tree::{RustFile, Tree};

const PURE_FOLDERS: [&str; 7] = [
    "crates/kith-vocab/src/",
    "crates/kith-engine/src/state/",
    "crates/kith-engine/src/context/",
    "crates/kith-engine/src/ui_message/",
    "crates/kith-engine/src/judge/",
    "crates/kith-engine/src/reply/",
    "crates/kith-shell/src/",
];

const PURE_FILES: [&str; 8] = [
    "crates/kith-engine/src/state.rs",
    "crates/kith-engine/src/step.rs",
    "crates/kith-engine/src/context.rs",
    "crates/kith-engine/src/ui_message.rs",
    "crates/kith-engine/src/judge.rs",
    "crates/kith-engine/src/schedule.rs",
    "crates/kith-engine/src/reply.rs",
    "crates/kith-home/src/zones.rs",
];

/// Modules and crates that reach the world.
const WORLD: [&str; 12] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "tokio::time",
    "rusqlite",
    "reqwest",
    "rand",
    "getrandom",
];

/// Names that read a clock wherever they come from.
const CLOCKS: [&str; 2] = ["SystemTime", "Instant"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    tree.production_files().filter(|file| is_pure(file.path)).flat_map(check_file).collect()
}

fn is_pure(path: &str) -> bool {
    PURE_FILES.contains(&path) || PURE_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

fn check_file(file: RustFile) -> Vec<Violation> {
    let code = &file.source.production;
    let mut violations: Vec<Violation> = Vec::new();
    for named in imported(code).into_iter().chain(written(code)) {
        if !reaches_the_world(&named.path) {
            continue;
        }
        let text = format!(
            "`{}` in a file that does no I/O and reads no clock; take it as an event or an argument",
            named.path
        );
        let violation = Violation::new(file.path, line_of(code, named.offset), text);
        // `use std::fs::File` is both an import and a path in the code.
        if !violations.contains(&violation) {
            violations.push(violation);
        }
    }
    violations
}

fn reaches_the_world(path: &str) -> bool {
    let is_world = |name: &&str| {
        path.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let last = path.rsplit("::").next().unwrap_or(path);
    WORLD.iter().any(is_world)
        || path.split("::").any(|segment| CLOCKS.contains(&segment))
        || last == "now"
        || last.starts_with("now_v")
}
