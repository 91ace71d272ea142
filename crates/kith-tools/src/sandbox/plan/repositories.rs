//! What makes git run programs: the owner's next `git status` reads it, outside of the sandbox.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use kith_home::placeholder::StandIn;
use kith_home::protected::{HOUSE_SETTINGS, KITH_FOLDER};

use super::super::submodules::{Submodules, named_by_git_file};

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

/// What makes a folder a house, or the home of an agent.
const HOUSE_SIGNS: [&str; 3] = [KITH_FOLDER, HOUSE_SETTINGS, "Agent.md"];

/// Folders that are looked through for nested repositories and other houses.
pub(in crate::sandbox) const NESTED_FOLDERS_MAX: usize = 20_000;

/// Entries of these folders, so that files without end are none to a look.
const NESTED_ENTRIES_MAX: usize = 1_000_000;

/// Whether git takes this folder for the inside of a repository.
pub(in crate::sandbox) fn is_bare(folder: &Path) -> bool {
    let is_there = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    is_there("HEAD") && (is_there("refs") || is_there("commondir"))
}

/// Whether a folder is a house or the home of an agent.
pub(super) fn is_house(folder: &Path) -> bool {
    HOUSE_SIGNS.iter().any(|it| fs::symlink_metadata(folder.join(it)).is_ok())
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

/// What must not change of a repository beneath the workspace: its `.git`, or what runs code of one without.
/// They can be read and not changed: a command that is to work in one is started there.
pub(super) fn guarded_of(repository: &FoundRepository) -> Vec<(PathBuf, StandIn)> {
    match repository {
        FoundRepository::Git(path) => guarded_git(path),
        FoundRepository::Bare(path) => guarded_bare(path).collect(),
    }
}

/// The `.git` of submodules, of the repository in this folder and of those beneath it.
pub(super) fn submodules(folder: &Path, beneath: &[FoundRepository]) -> Vec<(PathBuf, StandIn)> {
    let own = folder.join(GIT);
    let beneath = beneath.iter().filter_map(|it| match it {
        FoundRepository::Git(path) => Some(path.clone()),
        FoundRepository::Bare(_) => None,
    });
    let found = Submodules::of(beneath.chain([own.clone()]), |git| git == own);
    let there = found.gits.iter().filter(|it| fs::symlink_metadata(it).is_ok());
    there.flat_map(|it| guarded_git(it)).collect()
}

/// What must not change where git finds this `.git`.
fn guarded_git(git: &Path) -> Vec<(PathBuf, StandIn)> {
    let mut guarded = vec![(git.to_owned(), StandIn::Folder)];
    match named_by_git_file(git) {
        Some(folder) if folder.is_dir() => guarded.extend(guarded_bare(&folder)),
        // Nobody may make it.
        Some(folder) => guarded.push((folder, StandIn::Folder)),
        None => (),
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

/// What was found beneath a folder, in its first folders, the nearest first.
#[derive(Default)]
pub(in crate::sandbox) struct WorkspaceContents {
    pub(in crate::sandbox) repositories: Vec<FoundRepository>,
    /// Folders that are houses or homes of agents, perhaps the folder itself.
    pub(in crate::sandbox) houses: Vec<PathBuf>,
    /// There is more than was looked through.
    pub(in crate::sandbox) is_cut: bool,
}

impl WorkspaceContents {
    pub(in crate::sandbox) fn of(folder: &Path) -> WorkspaceContents {
        WorkspaceContents::except(folder, &HashSet::new(), |_| false)
    }

    /// The same, in so many folders.
    #[cfg(test)]
    pub(in crate::sandbox) fn among(folder: &Path, folders_max: usize) -> WorkspaceContents {
        WorkspaceContents::look(folder, &HashSet::new(), |_| false, folders_max)
    }

    /// The same without a look into these folders, in which nothing is. `is_opened` may make a folder
    /// readable that is not.
    pub(in crate::sandbox) fn except(
        folder: &Path,
        empty: &HashSet<&Path>,
        is_opened: impl Fn(&Path) -> bool,
    ) -> WorkspaceContents {
        WorkspaceContents::look(folder, empty, is_opened, NESTED_FOLDERS_MAX)
    }

    fn look(
        folder: &Path,
        empty: &HashSet<&Path>,
        is_opened: impl Fn(&Path) -> bool,
        folders_max: usize,
    ) -> WorkspaceContents {
        let mut found = WorkspaceContents::default();
        let mut folders = VecDeque::from([folder.to_owned()]);
        let (mut n_folders, mut n_entries) = (0, 0);
        while let Some(current) = folders.pop_front() {
            n_folders += 1;
            if n_folders > folders_max {
                found.is_cut = true;
                return found;
            }
            let entries = fs::read_dir(&current);
            let entries = entries.or_else(|error| {
                if is_opened(&current) { fs::read_dir(&current) } else { Err(error) }
            });
            let Ok(entries) = entries else {
                // Git needs no list of what is in it.
                let git = current.join(GIT);
                if fs::symlink_metadata(&git).is_ok() && current != folder {
                    found.repositories.push(FoundRepository::Git(git));
                }
                continue;
            };
            for entry in entries.flatten() {
                n_entries += 1;
                if n_entries > NESTED_ENTRIES_MAX {
                    found.is_cut = true;
                    return found;
                }
                if found.is_told_by(&entry, &current, folder) {
                    folders.extend(Some(entry.path()).filter(|it| !empty.contains(it.as_path())));
                }
            }
        }
        found
    }

    /// Notes what an entry says about its folder; true if it is to be looked into.
    fn is_told_by(&mut self, entry: &fs::DirEntry, current: &Path, top: &Path) -> bool {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        if HOUSE_SIGNS.iter().any(|it| name == *it)
            && self.houses.last().is_none_or(|it| it != current)
        {
            self.houses.push(current.to_owned());
        }
        if name == GIT {
            if current != top {
                self.repositories.push(FoundRepository::Git(entry.path()));
            }
        } else if !is_folder && name == "HEAD" && current != top && is_bare(current) {
            self.repositories.push(FoundRepository::Bare(current.to_owned()));
        }
        is_folder && name != GIT
    }
}
