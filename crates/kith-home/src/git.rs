//! What a repository says of itself, read without running git.
//!
//! Running it would obey the repository's own configuration, which may name programs to start.
//! Only `HEAD` is read, and only a branch or a commit is believed: `.git` may point anywhere.

use std::io::Read;
use std::path::Path;

use crate::prompt_file::{Opened, open};
use crate::rendering::one_line;

/// `HEAD` and a `.git` file are one line.
const GIT_FILE_BYTES_MAX: u64 = 8 * 1024;
const BRANCH_CHARS_MAX: usize = 255;
const COMMIT_CHARS_SHOWN: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitFacts {
    pub(crate) head: Option<Head>,
    /// The name of a linked worktree; `None` in the main one.
    pub(crate) worktree: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Branch(String),
    Commit(String),
}

pub(crate) fn facts(root: &Path) -> GitFacts {
    let git = root.join(".git");
    let linked = first_line(&git).and_then(|line| {
        let folder = line.strip_prefix("gitdir:")?.trim();
        Some(root.join(folder))
    });
    let folder = linked.unwrap_or(git);
    GitFacts {
        head: first_line(&folder.join("HEAD")).and_then(|it| head(&it)),
        worktree: worktree(&folder),
    }
}

fn head(line: &str) -> Option<Head> {
    if let Some(branch) = line.strip_prefix("ref: refs/heads/") {
        return Some(Head::Branch(one_line(branch.trim(), BRANCH_CHARS_MAX)));
    }
    let is_hash = matches!(line.len(), 40 | 64) && line.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash.then(|| Head::Commit(line[..COMMIT_CHARS_SHOWN].to_owned()))
}

/// Git keeps a linked worktree's files in `worktrees/<name>` of the repository; those of a
/// submodule lie elsewhere.
fn worktree(git_folder: &Path) -> Option<String> {
    let parent = git_folder.parent()?.file_name()?;
    let name = git_folder.file_name()?;
    (parent == "worktrees").then(|| one_line(&name.to_string_lossy(), BRANCH_CHARS_MAX))
}

/// A file that cannot be read tells nothing, which is no reason to refuse a session.
fn first_line(path: &Path) -> Option<String> {
    let Ok(Opened::File(file, _)) = open(path) else { return None };
    let mut bytes = Vec::new();
    file.take(GIT_FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().next().map(|line| line.trim_end().to_owned())
}
