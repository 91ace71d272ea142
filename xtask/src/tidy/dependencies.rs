//! Every dependency has a line that says what it does for us, and none is kept unused.

use std::collections::BTreeSet;

use super::Violation;
use super::manifest::{self, Dependency, Use};
use super::tree::Tree;

const WORKSPACE: &str = "Cargo.toml";
const DOCUMENT: &str = "docs/dependencies.md";

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(workspace) = tree.text(WORKSPACE) else { return Vec::new() };
    let is_foreign = |package: &str| !package.starts_with("kith-");
    let mut offered = manifest::dependencies(workspace);
    offered.retain(|it| it.usage == Use::Workspace && is_foreign(it.package));
    let mut taken: Vec<(&str, Dependency)> = Vec::new();
    for (folder, manifest) in tree.packages() {
        let of_package = manifest::dependencies(manifest).into_iter();
        taken.extend(of_package.filter(|it| is_foreign(it.package)).map(|it| (folder, it)));
    }
    let mut violations = not_inherited(&offered, &taken);
    violations.extend(not_used(&offered, &taken));
    violations.extend(not_documented(&offered, &rows(tree)));
    violations
}

fn not_inherited(offered: &[Dependency], taken: &[(&str, Dependency)]) -> Vec<Violation> {
    let names: BTreeSet<&str> = offered.iter().map(|it| it.package).collect();
    let strangers = taken.iter().filter(|(_, it)| !names.contains(it.package));
    strangers
        .map(|(folder, it)| {
            let text = format!(
                "`{}` is not in [workspace.dependencies]; name it there and inherit it",
                it.package
            );
            Violation::new(&format!("{folder}/Cargo.toml"), it.line, text)
        })
        .collect()
}

fn not_used(offered: &[Dependency], taken: &[(&str, Dependency)]) -> Vec<Violation> {
    let names: BTreeSet<&str> = taken.iter().map(|(_, it)| it.package).collect();
    let idle = offered.iter().filter(|it| !names.contains(it.package));
    idle.map(|it| {
        let text = format!("no crate uses `{}`; take the line out", it.package);
        Violation::new(WORKSPACE, it.line, text)
    })
    .collect()
}

fn not_documented(offered: &[Dependency], rows: &[(usize, &str)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for it in offered.iter().filter(|it| !rows.iter().any(|(_, row)| *row == it.package)) {
        let text = format!(
            "`{}` has no row in {DOCUMENT}; say there what it does for us and what it replaced",
            it.package
        );
        violations.push(Violation::new(WORKSPACE, it.line, text));
    }
    for (line, row) in rows.iter().filter(|(_, row)| !offered.iter().any(|it| it.package == *row)) {
        let text = format!("`{row}` is not in [workspace.dependencies]; take the row out");
        violations.push(Violation::new(DOCUMENT, *line, text));
    }
    violations
}

/// The first cells of the table's rows: `| tokio | … |`.
fn rows(tree: &Tree) -> Vec<(usize, &str)> {
    let text = tree.text(DOCUMENT).map_or("", String::as_str);
    let cells = text.lines().enumerate().filter_map(|(index, line)| {
        let cell = line.strip_prefix('|')?.split('|').next()?.trim().trim_matches('`');
        let is_row = cell != "crate" && !cell.starts_with('-');
        is_row.then_some((index + 1, cell))
    });
    cells.collect()
}
