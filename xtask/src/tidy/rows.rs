//! Which crate may use which: a crate uses only rows with a smaller number.
//!
//! Cargo refuses circles and nothing else. The rows keep the engine free of platforms and the
//! nouns free of everything, and they are what makes a crate readable on its own.

use super::Violation;
use super::manifest::{self, Dependency, Use};
use super::tree::Tree;

const ROWS: [(&str, u8); 11] = [
    ("kith-vocab", 0),
    ("kith-home", 1),
    ("kith-sessions", 1),
    ("kith-providers", 1),
    ("kith-shell", 1),
    ("kith-peers", 1),
    ("kith-engine", 2),
    ("kith-tools", 2),
    ("kith-channels", 2),
    ("kith-host", 3),
    ("kith-agent", 4),
];

/// The program, which asks the house through calls; outside tests it uses nothing beneath them.
const PROGRAM: &str = "kith-agent";
const USED_BY_THE_PROGRAM: [&str; 2] = ["kith-host", "kith-vocab"];

/// Beside the rows: made for tests, uses the nouns only.
const TESTKIT: &str = "kith-testkit";

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (folder, manifest) in tree.packages() {
        let path = format!("{folder}/Cargo.toml");
        let Some(package) = manifest::package_name(manifest) else { continue };
        if package != "xtask" && package != TESTKIT && row(package).is_none() {
            let text = format!("`{package}` has no row; give it one in xtask/src/tidy/rows.rs");
            violations.push(Violation::new(&path, 1, text));
            continue;
        }
        let ours = manifest::dependencies(manifest);
        for dependency in ours.iter().filter(|it| it.package.starts_with("kith-")) {
            if let Some(text) = objection(package, dependency) {
                violations.push(Violation::new(&path, dependency.line, text));
            }
        }
    }
    violations
}

fn row(package: &str) -> Option<u8> {
    ROWS.iter().find(|(name, _)| *name == package).map(|(_, row)| *row)
}

fn objection(package: &str, dependency: &Dependency) -> Option<String> {
    let used = dependency.package;
    if package == "xtask" {
        return Some(format!(
            "xtask uses `{used}`; it must build when nothing else does, so take it out"
        ));
    }
    if used == TESTKIT {
        let allowed = dependency.usage == Use::Dev && package != TESTKIT;
        let text = "kith-testkit is used outside tests; move it to [dev-dependencies]";
        return (!allowed).then(|| text.to_owned());
    }
    if package == TESTKIT {
        let text = format!("kith-testkit uses `{used}`; it may use kith-vocab only");
        return (used != "kith-vocab").then_some(text);
    }
    match (row(package), row(used)) {
        (Some(_), Some(_))
            if package == PROGRAM
                && dependency.usage != Use::Dev
                && !USED_BY_THE_PROGRAM.contains(&used) =>
        {
            Some(format!("the program uses `{used}`; make what it needs a call of kith-host"))
        }
        (Some(own), Some(other)) if other < own => None,
        (Some(own), Some(other)) => Some(format!(
            "`{package}` (row {own}) uses `{used}` (row {other}); only smaller rows are allowed, so \
             put what both need into a port of kith-vocab"
        )),
        (_, None) => Some(format!("`{used}` has no row; give it one in xtask/src/tidy/rows.rs")),
        (None, _) => None,
    }
}
