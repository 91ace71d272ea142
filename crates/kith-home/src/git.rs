//! The branch, worktree and tracked files of a repository, read without running git.
//!
//! Running it would obey the repository's own configuration, which may name programs to start.
//! Only `HEAD` is read, and only a branch or a commit is believed: `.git` may point anywhere.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::prompt_file::{FileLookup, OpenFile, open};
use crate::rendering::one_line;

/// `HEAD` and a `.git` file are one line.
const GIT_FILE_BYTES_MAX: u64 = 8 * 1024;
const BRANCH_CHARS_MAX: usize = 255;
const COMMIT_CHARS_SHOWN: usize = 12;
/// A longer index is not looked through.
const INDEX_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The fixed part of an index entry: times, owner, size and the SHA-1 of the file.
const ENTRY_STAT_BYTES: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitFacts {
    pub(crate) head: Option<GitHead>,
    /// The name of a linked worktree; `None` in the main one.
    pub(crate) worktree: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitHead {
    Branch(String),
    Commit(String),
}

pub(crate) fn facts(root: &Path) -> GitFacts {
    let folder = git_folder(root);
    GitFacts {
        head: first_line(&folder.join("HEAD")).and_then(|it| head(&it)),
        worktree: worktree(&folder),
    }
}

fn git_folder(root: &Path) -> PathBuf {
    let git = root.join(".git");
    let linked = first_line(&git).and_then(|line| {
        let folder = line.strip_prefix("gitdir:")?.trim();
        Some(root.join(folder))
    });
    linked.unwrap_or(git)
}

/// The files beneath a folder of the repository that git tracks, as paths from its root. An index
/// that is not understood tells nothing.
pub fn tracked_beneath(root: &Path, folder: &Path) -> Vec<String> {
    let Ok(relative) = folder.strip_prefix(root) else { return Vec::new() };
    let prefix = format!("{}/", relative.display());
    let bytes = read_up_to(&git_folder(root).join("index"), INDEX_BYTES_MAX);
    let names = bytes.and_then(|it| names_of_index(&it)).unwrap_or_default().into_iter();
    let names = names.map(|it| String::from_utf8_lossy(&it).into_owned());
    names.filter(|it| it.starts_with(&prefix)).collect()
}

/// The names in an index of version 2, 3 or 4; `None` if it is none.
fn names_of_index(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut names, mut at) = (Vec::new(), 12);
    for _ in 0..number(8)? {
        let start = at;
        at += ENTRY_STAT_BYTES;
        let is_extended = *bytes.get(at)? & 0x40 != 0;
        at += if is_extended && version > 2 { 4 } else { 2 };
        // Version 4 leaves out what a name has in common with the one before.
        let mut name = Vec::new();
        if version == 4 {
            let (n_dropped, n_bytes) = offset_number(bytes.get(at..)?)?;
            at += n_bytes;
            let before: &[u8] = names.last().map_or(&[], Vec::as_slice);
            name.extend_from_slice(before.get(..before.len().checked_sub(n_dropped)?)?);
        }
        let rest = bytes.get(at..)?;
        let rest = rest.get(..rest.iter().position(|it| *it == 0)?)?;
        name.extend_from_slice(rest);
        at += rest.len() + 1;
        if version < 4 {
            // Filled up with zeros to a multiple of eight.
            at = start + (at - start).next_multiple_of(8);
        }
        names.push(name);
    }
    Some(names)
}

/// A number as git writes offsets: seven bits per byte, and one is added for each that follows.
fn offset_number(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut number: usize = 0;
    for (n_read, byte) in bytes.iter().take(4).enumerate() {
        number = number << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, n_read + 1));
        }
        number += 1;
    }
    None
}

fn head(line: &str) -> Option<GitHead> {
    if let Some(branch) = line.strip_prefix("ref: refs/heads/") {
        return Some(GitHead::Branch(one_line(branch.trim(), BRANCH_CHARS_MAX)));
    }
    let is_hash = matches!(line.len(), 40 | 64) && line.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash.then(|| GitHead::Commit(line[..COMMIT_CHARS_SHOWN].to_owned()))
}

/// Git keeps a linked worktree's files in `worktrees/<name>` of the repository; those of a
/// submodule lie elsewhere.
fn worktree(git_folder: &Path) -> Option<String> {
    let parent = git_folder.parent()?.file_name()?;
    let name = git_folder.file_name()?;
    (parent == "worktrees").then(|| one_line(&name.to_string_lossy(), BRANCH_CHARS_MAX))
}

/// `None` for a file that cannot be read: a session can begin without these facts.
pub(crate) fn read_up_to(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let Ok(FileLookup::File(OpenFile { file, .. })) = open(path) else { return None };
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn first_line(path: &Path) -> Option<String> {
    let bytes = read_up_to(path, GIT_FILE_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().next().map(|line| line.trim_end().to_owned())
}
