//! Steps that a command adds to a rebase of the owner's repository, and locks that it leaves there: the
//! owner's next `git rebase --continue` would run the steps, and git stops at the locks.
//!
//! A rebase in the sandbox must work, also over several commands, so its folder can be written. What was
//! added is taken away when the command has ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::disarm::disarm_left;
use super::spec::SandboxView;
use super::submodules::bytes_of;

/// Bytes of a list of steps. What a longer one holds is not known.
const STEPS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Lists of steps, in folders below `.git`.
const STEPS: [(&str, &str); 2] = [("rebase-merge", "git-rebase-todo"), ("sequencer", "todo")];

/// Locks of what a command cannot change, below `.git`.
const LOCKS: [&str; 2] = ["config.lock", "config.worktree.lock"];

/// The steps and locks of repositories as they were before a command.
pub(super) struct GitSteps {
    /// Steps that run a program, by the path of their list.
    programs: Vec<(StepList, BTreeSet<Vec<u8>>)>,
    /// Locks that were absent.
    locks: Vec<PathBuf>,
}

/// A list of steps, and the folder that it lies in.
struct StepList {
    folder: PathBuf,
    path: PathBuf,
}

impl GitSteps {
    /// Of the repositories with these `.git`.
    pub(super) fn of(gits: &[PathBuf]) -> GitSteps {
        let lists = gits.iter().flat_map(|git| {
            STEPS.map(|(folder, name)| {
                let folder = git.join(folder);
                StepList { path: folder.join(name), folder }
            })
        });
        let known = lists.map(|it| {
            let programs = programs_in(&it.path).unwrap_or_default();
            (it, programs)
        });
        let locks = gits.iter().flat_map(|git| LOCKS.map(|it| git.join(it)));
        GitSteps {
            programs: known.collect(),
            locks: locks.filter(|it| fs::symlink_metadata(it).is_err()).collect(),
        }
    }

    /// Renames what the command has added. Says so where the command's errors go.
    pub(super) fn disarm_new(&self, view: &SandboxView) {
        for (list, before) in &self.programs {
            // What cannot be read may hold anything.
            if programs_in(&list.path).is_some_and(|it| it.is_subset(before)) {
                continue;
            }
            let is_link = fs::symlink_metadata(&list.folder).is_ok_and(|it| it.is_symlink());
            let path = if is_link { &list.folder } else { &list.path };
            disarm_left(path, view, "git would run the programs that it names as steps");
        }
        for lock in &self.locks {
            disarm_left(lock, view, "git could change no settings while it is there");
        }
    }
}

/// The steps of a list that run a program, none if there is no list; `None` if it cannot be read.
fn programs_in(path: &Path) -> Option<BTreeSet<Vec<u8>>> {
    if fs::symlink_metadata(path).is_err() {
        return Some(BTreeSet::new());
    }
    let bytes = bytes_of(path, STEPS_BYTES_MAX)?;
    let steps = bytes.split(|it| *it == b'\n').map(<[u8]>::trim_ascii);
    Some(steps.filter(|it| runs_program(it)).map(<[u8]>::to_owned).collect())
}

fn runs_program(step: &[u8]) -> bool {
    let rest = step.strip_prefix(b"exec").or_else(|| step.strip_prefix(b"x"));
    rest.is_some_and(|it| it.first().is_some_and(u8::is_ascii_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_run_a_program_are_known_as_git_knows_them() {
        for step in ["exec make", "x make", "exec\tmake"] {
            assert!(runs_program(step.as_bytes()), "{step}");
        }
        for step in ["pick 123 exec", "# exec make", "executed", "xyz", "edit 1", "", "x"] {
            assert!(!runs_program(step.as_bytes()), "{step}");
        }
    }
}
