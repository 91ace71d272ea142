//! The packages of a monorepo, as its own files name them: folders beneath the root.
//!
//! Cargo, npm, pnpm, go and uv each list folders or patterns of folders in one file at the root. Only that
//! file is read, and only folders are looked at; a pattern is followed without links and within limits.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::rendering::one_line;

/// Bytes of a file that lists packages; a longer one is not read.
const MANIFEST_BYTES_MAX: u64 = 256 * 1024;
const PACKAGES_SHOWN_MAX: usize = 20;
const PACKAGE_CHARS_MAX: usize = 80;
/// Patterns of one file.
const PATTERNS_MAX: usize = 200;
/// Folders looked at for one workspace.
const FOLDERS_SCANNED_MAX: usize = 2_000;
/// Folders that `**` stands for, one beneath the other.
const DEPTH_MAX: usize = 3;

/// What one of the files lists.
struct PackageList {
    /// The file that makes a folder a package.
    manifest: &'static str,
    patterns: Vec<String>,
    excluded: Vec<String>,
}

/// The folders of the packages, or nothing where there is only one package.
pub(super) fn line(root: &Path) -> Option<String> {
    let lists = [cargo(root), npm(root), pnpm(root), go(root), uv(root)];
    let mut found = BTreeSet::new();
    let mut n_left = FOLDERS_SCANNED_MAX;
    for list in lists.into_iter().flatten() {
        let is_excluded = |path: &str| list.excluded.iter().any(|it| matches_path(it, path));
        for pattern in list.patterns.iter().take(PATTERNS_MAX) {
            let folders = folders(root, pattern, &mut n_left).into_iter();
            let packages = folders.filter(|it| root.join(it).join(list.manifest).is_file());
            found.extend(packages.filter(|it| !is_excluded(it)));
        }
    }
    if found.is_empty() {
        return None;
    }
    let n_more = found.len().saturating_sub(PACKAGES_SHOWN_MAX);
    let shown: Vec<String> =
        found.iter().take(PACKAGES_SHOWN_MAX).map(|it| one_line(it, PACKAGE_CHARS_MAX)).collect();
    let shown = shown.join(", ");
    Some(match (n_left, n_more) {
        (0, _) => format!("Packages: {shown} … and perhaps more"),
        (_, 0) => format!("Packages: {shown}"),
        _ => format!("Packages: {shown} … and {n_more} more"),
    })
}

fn cargo(root: &Path) -> Option<PackageList> {
    #[derive(Deserialize)]
    struct CargoManifest {
        workspace: CargoWorkspace,
    }
    #[derive(Deserialize)]
    struct CargoWorkspace {
        #[serde(default)]
        members: Vec<String>,
        #[serde(default)]
        exclude: Vec<String>,
    }
    let manifest: CargoManifest = toml::from_str(&read(&root.join("Cargo.toml"))?).ok()?;
    let CargoWorkspace { members, exclude } = manifest.workspace;
    Some(PackageList { manifest: "Cargo.toml", patterns: members, excluded: exclude })
}

fn npm(root: &Path) -> Option<PackageList> {
    #[derive(Deserialize)]
    struct PackageJson {
        workspaces: NpmWorkspaces,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum NpmWorkspaces {
        List(Vec<String>),
        Table { packages: Vec<String> },
    }
    let manifest: PackageJson = serde_json::from_str(&read(&root.join("package.json"))?).ok()?;
    let (NpmWorkspaces::List(patterns) | NpmWorkspaces::Table { packages: patterns }) =
        manifest.workspaces;
    Some(with_exclusions("package.json", patterns))
}

fn pnpm(root: &Path) -> Option<PackageList> {
    #[derive(Deserialize)]
    struct PnpmWorkspace {
        packages: Vec<String>,
    }
    let text = read(&root.join("pnpm-workspace.yaml"))?;
    let manifest: PnpmWorkspace = serde_saphyr::from_str(&text).ok()?;
    Some(with_exclusions("package.json", manifest.packages))
}

fn go(root: &Path) -> Option<PackageList> {
    let text = read(&root.join("go.work"))?;
    let mut patterns = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        match (is_inside, line.strip_prefix("use")) {
            (true, _) if line == ")" => is_inside = false,
            (true, _) => patterns.push(line.to_owned()),
            (false, Some(rest)) if rest.trim() == "(" => is_inside = true,
            (false, Some(rest)) if rest.starts_with([' ', '\t']) => {
                patterns.push(rest.trim().to_owned());
            }
            (false, _) => (),
        }
    }
    patterns.retain(|it| !it.is_empty());
    Some(PackageList { manifest: "go.mod", patterns, excluded: Vec::new() })
}

fn uv(root: &Path) -> Option<PackageList> {
    #[derive(Deserialize)]
    struct PyProject {
        tool: PyTools,
    }
    #[derive(Deserialize)]
    struct PyTools {
        uv: UvSettings,
    }
    #[derive(Deserialize)]
    struct UvSettings {
        workspace: UvWorkspace,
    }
    #[derive(Deserialize)]
    struct UvWorkspace {
        #[serde(default)]
        members: Vec<String>,
        #[serde(default)]
        exclude: Vec<String>,
    }
    let manifest: PyProject = toml::from_str(&read(&root.join("pyproject.toml"))?).ok()?;
    let UvWorkspace { members, exclude } = manifest.tool.uv.workspace;
    Some(PackageList { manifest: "pyproject.toml", patterns: members, excluded: exclude })
}

/// npm and pnpm exclude by a `!` before a pattern.
fn with_exclusions(manifest: &'static str, patterns: Vec<String>) -> PackageList {
    let (excluded, patterns): (Vec<String>, Vec<String>) =
        patterns.into_iter().partition(|it| it.starts_with('!'));
    let excluded = excluded.into_iter().map(|it| it[1..].to_owned()).collect();
    PackageList { manifest, patterns, excluded }
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    // Whether it is a file is asked first: a pipe would be waited for.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let n_bytes = file.take(MANIFEST_BYTES_MAX + 1).read_to_string(&mut text).ok()?;
    (n_bytes as u64 <= MANIFEST_BYTES_MAX).then_some(text)
}

/// The folders beneath the root that a pattern names, by their paths from there.
fn folders(root: &Path, pattern: &str, n_left: &mut usize) -> Vec<String> {
    let Some(parts) = parts(pattern) else { return Vec::new() };
    let mut found = vec![PathBuf::new()];
    for part in parts {
        let mut next = Vec::new();
        for folder in found {
            match part {
                "**" => next.extend(beneath(root, folder, n_left)),
                part if part.contains('*') => {
                    let children = children(root, &folder, n_left).into_iter();
                    let name = |it: &PathBuf| it.file_name()?.to_str().map(str::to_owned);
                    next.extend(
                        children.filter(|it| name(it).is_some_and(|it| matches(part, &it))),
                    );
                }
                part => next.push(folder.join(part)),
            }
        }
        found = next;
    }
    let is_folder = |it: &PathBuf| fs::symlink_metadata(root.join(it)).is_ok_and(|it| it.is_dir());
    let found = found.into_iter().filter(is_folder);
    found.filter_map(|it| it.to_str().filter(|it| !it.is_empty()).map(str::to_owned)).collect()
}

/// The parts of a pattern; `None` if it would lead out of the root.
fn parts(pattern: &str) -> Option<Vec<&str>> {
    if pattern.starts_with(['/', '~']) || pattern.contains('\\') {
        return None;
    }
    let parts: Vec<&str> = pattern.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
    (!parts.contains(&"..")).then_some(parts)
}

/// The folder and those beneath it.
fn beneath(root: &Path, folder: PathBuf, n_left: &mut usize) -> Vec<PathBuf> {
    let (mut found, mut level) = (vec![folder.clone()], vec![folder]);
    for _ in 0..DEPTH_MAX {
        level = level.iter().flat_map(|it| children(root, it, n_left)).collect();
        found.extend(level.iter().cloned());
    }
    found
}

/// The folders in a folder that are neither hidden nor links nor what a package manager fills.
fn children(root: &Path, folder: &Path, n_left: &mut usize) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        if *n_left == 0 {
            break;
        }
        *n_left -= 1;
        let name = entry.file_name();
        let is_skipped = name.to_str().is_none_or(|it| it.starts_with('.') || it == "node_modules");
        if !is_skipped && entry.file_type().is_ok_and(|it| it.is_dir()) {
            found.push(folder.join(name));
        }
    }
    found
}

/// Whether a pattern, part by part, is that of the path or of a folder above it.
fn matches_path(pattern: &str, path: &str) -> bool {
    let Some(parts) = parts(pattern) else { return false };
    if let Some(after) = parts.iter().position(|it| *it == "**") {
        let last = parts[after + 1..].first();
        return path.split('/').any(|it| last.is_none_or(|last| matches(last, it)));
    }
    let mut names = path.split('/');
    parts.iter().all(|part| names.next().is_some_and(|name| matches(part, name)))
}

/// Whether a name has the pieces between the `*` of a pattern, in their order.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return left.ends_with(piece);
        }
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests;
