//! Repositories that a command has made where the owner's next `git status` would run what their settings
//! say: added to the owner's as submodules, spread out in a folder that is worked in, or anywhere beneath
//! it if their settings are not those of a new repository.
//!
//! They cannot be kept from being made: no mount covers a name in a folder that does not exist yet, and
//! the files of a repository have ordinary names. So they are renamed when the command has ended.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kith_home::placeholder::Placeholder;

use super::disarm::{could_make, disarm, make_readable, say};
use super::git_settings::{LEADING, is_harmless};
use super::git_steps::GitSteps;
use super::plan::repositories::{FoundRepository, NESTED_FOLDERS_MAX, WorkspaceContents, is_bare};
use super::spec::{MountKind, SandboxView};
use super::submodules::{Submodules, named_by_git_file};

/// What decides in a repository whether git runs something.
const DECIDING: [&str; 5] = ["config", "config.worktree", "commondir", "hooks", "modules"];

/// The repositories of a view as they were before a command.
pub(super) struct Repositories {
    /// The `.git` of those that were there. Their settings are the owner's.
    gits: Vec<PathBuf>,
    /// Folders that are worked in and that git does not take for the inside of a repository.
    not_bare: Vec<PathBuf>,
    steps: GitSteps,
    /// In seconds since 1970, a little before the command.
    began: i64,
}

impl Repositories {
    pub(super) fn of(view: &SandboxView) -> Repositories {
        let writable = view.mounts.iter().filter(|it| it.kind == MountKind::Writable);
        let roots = writable.map(|it| it.path.join(".git"));
        let guarded = view.guards.iter().filter(|it| it.is_writable_place);
        let guarded: Vec<&Path> =
            guarded.map(|it| it.path.as_path()).filter(|it| it.ends_with(".git")).collect();
        let gits = roots.chain(guarded.iter().map(|it| (*it).to_owned()));
        let folders = guarded.iter().filter_map(|it| it.parent());
        let not_bare = folders.filter(|it| !is_bare(it)).map(Path::to_owned);
        let gits: Vec<PathBuf> = gits.filter(|it| it.exists()).collect();
        Repositories {
            steps: GitSteps::of(&gits),
            gits,
            not_bare: not_bare.collect(),
            // The clock of a file system may be a little late.
            began: now().map_or(0, |it| it - 1),
        }
    }

    /// Renames what the command has added. Says so where the command's errors go.
    /// Nothing can have been made in the placeholders that were `held` meanwhile.
    pub(super) fn disarm_new(&self, view: &SandboxView, held: &[Placeholder]) {
        self.steps.disarm_new(view);
        for folder in self.not_bare.iter().filter(|it| is_bare(it)) {
            disarm(&folder.join("HEAD"), view);
        }
        // Those that were there before have guards.
        let submodules =
            Submodules::of(self.gits.clone(), |git| self.gits.iter().any(|it| it == git));
        for git in submodules.gits.iter().filter(|it| could_make(it, view)) {
            if submodules.unread.contains(git) || !is_harmless(git) {
                disarm(git, view);
            }
        }
        self.disarm_beneath(view, held);
    }

    /// Renames repositories elsewhere in which git would run something. What was there before has guards,
    /// or lay further down than is looked, and then it did not change. A folder that the command has closed
    /// to its owner is opened for the look.
    fn disarm_beneath(&self, view: &SandboxView, held: &[Placeholder]) {
        let is_guarded = |path: &Path| view.guards.iter().any(|it| it.path == path);
        let writable = || view.mounts.iter().filter(|it| it.kind == MountKind::Writable);
        // What lies in another one is looked through with that.
        let is_inner =
            |path: &Path| writable().any(|it| it.path != path && path.starts_with(&it.path));
        let outermost = writable().filter(|it| !is_inner(&it.path));
        let empty: HashSet<&Path> = held.iter().map(Placeholder::path).collect();
        let open = |it: &Path| self.has_changed(it) && make_readable(it, view);
        let contents = outermost.map(|it| WorkspaceContents::except(&it.path, &empty, open));
        let contents: Vec<WorkspaceContents> = contents.collect();
        if contents.iter().any(|it| it.is_cut) {
            say(&format!(
                "the workspace has more than the {NESTED_FOLDERS_MAX} folders that are looked through for \
                 repositories; before you run git in a folder further down, look at its settings"
            ));
        }
        for repository in contents.into_iter().flat_map(|it| it.repositories) {
            let (folder, name, deciding) = match repository {
                // The file cannot have changed, but what it leads to.
                FoundRepository::Git(path) if is_guarded(&path) => match led_to(&path) {
                    Some(folder) => (folder.clone(), folder.join("HEAD"), &LEADING[..]),
                    None => continue,
                },
                FoundRepository::Git(path) => (path.clone(), path, &DECIDING[..]),
                FoundRepository::Bare(path) if is_guarded(&path.join("config")) => {
                    (path.clone(), path.join("HEAD"), &LEADING[..])
                }
                FoundRepository::Bare(path) => (path.clone(), path.join("HEAD"), &DECIDING[..]),
            };
            // One that was moved here with the folder around it is no younger than before.
            let is_moved = !view.has_unseen && !is_guarded(&folder.join("hooks"));
            let is_new =
                deciding.len() == DECIDING.len() && (is_moved || self.has_changed(&folder));
            let has_changed =
                is_new || deciding.iter().any(|it| self.has_changed(&folder.join(it)));
            if has_changed && !is_harmless(&folder) {
                disarm(&name, view);
            }
        }
    }

    /// The time of change cannot be set.
    fn has_changed(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|it| it.ctime() >= self.began)
    }
}

/// Where a `.git` file leads, if something is there.
fn led_to(git: &Path) -> Option<PathBuf> {
    fs::canonicalize(named_by_git_file(git)?).ok()
}

/// The time that a file would have that was made now.
fn now() -> io::Result<i64> {
    let (made, _) = io::pipe()?;
    fs::File::from(OwnedFd::from(made)).metadata().map(|it| it.ctime())
}

#[cfg(test)]
mod tests;
