//! What makes git run programs: the owner's next `git status` reads it, outside of the sandbox.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use kith_home::placeholder::StandIn;

const GIT: &str = ".git";

/// What of a repository runs code, or leads git to where such things are.
const GIT_GUARDED: [(&str, StandIn); 6] = [
    ("config", StandIn::EmptyFile),
    ("config.worktree", StandIn::EmptyFile),
    ("commondir", StandIn::OwnCommonDir),
    ("hooks", StandIn::Folder),
    // Each of these holds further folders of the kind of `.git`.
    ("modules", StandIn::Folder),
    ("worktrees", StandIn::Folder),
];

/// Entries of folders that are looked at for nested repositories.
const NESTED_ENTRIES_MAX: usize = 5_000;

/// Whether git takes this folder for the inside of a repository.
pub(in crate::sandbox) fn is_bare(folder: &Path) -> bool {
    let is_there = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    is_there("HEAD") && (is_there("refs") || is_there("commondir"))
}

/// What must not change of the repository whose root this folder is or could become.
pub(super) fn git_folder(folder: &Path) -> Vec<(PathBuf, StandIn)> {
    let git = folder.join(GIT);
    let is_folder = fs::symlink_metadata(&git).is_ok_and(|it| it.is_dir());
    // An empty folder is no repository to git; so is what stands for an absent one.
    let mut found: Vec<(PathBuf, StandIn)> =
        if is_folder && fs::symlink_metadata(git.join("HEAD")).is_ok() {
            GIT_GUARDED.iter().map(|(name, stand_in)| (git.join(name), *stand_in)).collect()
        } else {
            vec![(git, StandIn::Folder)]
        };
    if is_bare(folder) {
        found.extend(GIT_GUARDED.iter().map(|(name, stand_in)| (folder.join(name), *stand_in)));
    }
    found
}

/// What of a repository without `.git` around it runs code. What stands for the rest would be seen in a
/// repository around it; if that is made, the repository is renamed.
fn guarded_bare(folder: &Path) -> impl Iterator<Item = (PathBuf, StandIn)> {
    let config = Some(folder.join("config")).filter(|it| fs::symlink_metadata(it).is_ok());
    config.into_iter().chain([folder.join("hooks")]).map(|it| (it, StandIn::Folder))
}

/// The `.git` of repositories beneath this folder, submodules among them, and what runs code of those
/// without. They can be read and not changed: a command that is to work in one is started there.
pub(super) fn nested(folder: &Path) -> Vec<(PathBuf, StandIn)> {
    let mut guarded = Vec::new();
    for repository in repositories_beneath(folder) {
        match repository {
            FoundRepository::Git(path) => guarded.push((path, StandIn::Folder)),
            FoundRepository::Bare(path) => guarded.extend(guarded_bare(&path)),
        }
    }
    guarded
}

/// A repository beneath a folder.
pub(in crate::sandbox) enum FoundRepository {
    /// Its `.git`, a folder or anything else.
    Git(PathBuf),
    /// The folder that git takes for the inside of one.
    Bare(PathBuf),
}

/// The repositories among the first entries beneath a folder, the nearest first.
pub(in crate::sandbox) fn repositories_beneath(folder: &Path) -> Vec<FoundRepository> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([folder.to_owned()]);
    let mut n_entries = 0;
    while let Some(current) = folders.pop_front() {
        // A folder that cannot be read holds nothing that git could read.
        let Ok(entries) = fs::read_dir(&current) else { continue };
        for entry in entries.flatten() {
            n_entries += 1;
            if n_entries > NESTED_ENTRIES_MAX {
                return found;
            }
            let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
            if entry.file_name() == GIT {
                if current != folder {
                    found.push(FoundRepository::Git(entry.path()));
                }
            } else if is_folder {
                folders.push_back(entry.path());
            } else if entry.file_name() == "HEAD" && current != folder && is_bare(&current) {
                found.push(FoundRepository::Bare(current.clone()));
            }
        }
    }
    found
}
