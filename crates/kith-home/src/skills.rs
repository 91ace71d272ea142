//! Skills: folders of instructions that a model loads when it needs them.
//!
//! A skill is a folder with a `SKILL.md`. Its folder's name is its key, and of two with the same key
//! the nearer one counts. The model reads what is listed, so a skill of another user or of an
//! untrusted repository is left out and reported.
//! Read in this order:
//!
//! - `roots`: the folders that hold skills, from near to far.
//! - [`manifest`]: what a `SKILL.md` says of itself.
//! - `reading`: one skill, from its folder to its entry.
//! - [`news`]: what a session is told about skills, and when.

pub mod manifest;
pub mod news;

mod reading;
mod roots;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kith_vocab::event::control::SkillEntry;
use kith_vocab::invisible::is_deceptive;

use crate::error::Problem;
use crate::skills::manifest::ManifestProblem;
use crate::skills::reading::read_skill;
use crate::skills::roots::{SkillRoot, roots};

/// Skills in force at once; each costs a line of every conversation.
pub const SKILLS_MAX: usize = 128;
/// Entries of one folder of skills. A fuller one is left out whole: which of its skills were taken
/// would be chance.
pub const SKILL_FOLDER_ENTRIES_MAX: usize = 1024;
/// Configured folders of skills.
pub const SKILL_EXTRAS_MAX: usize = 32;
/// A longer `SKILL.md` belongs into several files.
pub const SKILL_FILE_BYTES_MAX: u64 = 1024 * 1024;
pub const SKILL_NAME_CHARS_MAX: usize = 64;

/// The folders to search for skills, and for whom. None of them has to exist.
#[derive(Clone, Copy)]
pub struct SkillRequest<'a> {
    pub home: &'a Path,
    /// The folder that the home's own skills must lie in, links resolved; without one, anywhere.
    pub home_skills_within: Option<&'a Path>,
    pub cwd: &'a Path,
    /// `~`; without one there are no skills for every agent.
    pub user_home: Option<&'a Path>,
    /// Further folders of skills, from near to far.
    pub extra: &'a [PathBuf],
    /// The agent's allow-list; without one, every skill is in force.
    pub allowed: Option<&'a [String]>,
    /// Whether the owner has said that the repository with this root may speak.
    pub trusted: &'a dyn Fn(&Path) -> bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillIndex {
    /// The skills in force, by name.
    pub entries: Vec<SkillEntry>,
    /// Folders that were looked at, used or not.
    pub n_checked: usize,
    /// In the order in which they were met.
    pub issues: Vec<SkillIssue>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillIssue {
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    pub problem: SkillProblem,
}

/// A problem with a skill, in words that follow its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillProblem {
    #[error(transparent)]
    File(Problem),
    #[error(transparent)]
    Manifest(ManifestProblem),
    #[error("has no `SKILL.md`; add one, or move the folder elsewhere")]
    NoSkillFile,
    #[error(
        "is not a valid skill name (1 to {SKILL_NAME_CHARS_MAX} visible characters, no spaces \
         around them); rename the folder"
    )]
    Name,
    #[error(
        "differs from `{other}` only in upper and lower case, so it is ignored; rename one of them"
    )]
    SameName { other: String },
    #[error(
        "is longer than {SKILL_FILE_BYTES_MAX} bytes, so it is ignored; move parts into other files"
    )]
    TooLong,
    #[error("does not exist; correct `extra` in `[skills]`")]
    NoExtra,
    #[error("is ignored: `extra` lists more than {SKILL_EXTRAS_MAX} folders")]
    TooManyExtras,
    #[error("has more than {SKILL_FOLDER_ENTRIES_MAX} entries, so all of it is ignored")]
    TooManyEntries,
    #[error(
        "is ignored: more than {SKILLS_MAX} skills would be active; choose with `skills` in `[agent]`"
    )]
    TooManySkills,
}

/// Reads the skills that are in force now.
///
/// Never fails: a session can begin without a skill that cannot be used.
pub fn skills(request: &SkillRequest<'_>) -> SkillIndex {
    let mut index = SkillIndex::default();
    // Some disks do not tell capitals from small letters, so no two keys differ by them alone.
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for root in roots(request, &mut index.issues) {
        for skill in folders_in(&root, &mut index) {
            if taken.insert(skill.to_lowercase()) {
                take(request, &root, &skill, &mut index);
            }
        }
    }
    index.entries.sort_by(|a, b| a.name.cmp(&b.name));
    index
}

/// The real folders that hold skills, from near to far: what a skill names must be readable.
pub fn skill_folders(request: &SkillRequest<'_>) -> Vec<PathBuf> {
    roots(request, &mut Vec::new()).into_iter().map(|root| root.real).collect()
}

fn take(request: &SkillRequest<'_>, root: &SkillRoot, name: &str, index: &mut SkillIndex) {
    if request.allowed.is_some_and(|allowed| !allowed.iter().any(|it| it == name)) {
        return;
    }
    let Some(entry) = read_skill(root, name, &mut index.issues) else { return };
    if index.entries.len() == SKILLS_MAX {
        index.issues.push(SkillIssue::of(&root.real.join(name), SkillProblem::TooManySkills));
        return;
    }
    index.entries.push(entry);
}

/// The names of the folders in a root that may be skills, in order.
fn folders_in(root: &SkillRoot, index: &mut SkillIndex) -> Vec<String> {
    let names = match names_in(&root.real) {
        Ok(Some(names)) => names,
        Ok(None) => {
            index.issues.push(SkillIssue::of(&root.real, SkillProblem::TooManyEntries));
            return Vec::new();
        }
        Err(error) => {
            index.issues.push(SkillIssue::unreadable(&root.real, &error));
            return Vec::new();
        }
    };
    index.n_checked += names.len();
    let mut good: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let path = root.real.join(&name);
        let Some(name) = name.to_str().filter(|name| is_name(name)) else {
            index.issues.push(SkillIssue::of(&path, SkillProblem::Name));
            continue;
        };
        let same = good.iter().find(|known| known.to_lowercase() == name.to_lowercase());
        if let Some(other) = same.cloned() {
            index.issues.push(SkillIssue::of(&path, SkillProblem::SameName { other }));
            continue;
        }
        good.push(name.to_owned());
    }
    good
}

/// Sorted by their bytes; `None` when there are too many. Hidden folders and files are skipped.
fn names_in(folder: &Path) -> io::Result<Option<Vec<std::ffi::OsString>>> {
    let mut names = Vec::new();
    for (n_entries, entry) in fs::read_dir(folder)?.enumerate() {
        if n_entries == SKILL_FOLDER_ENTRIES_MAX {
            return Ok(None);
        }
        let entry = entry?;
        let name = entry.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        // A link counts as what it leads to: one that leads out is reported, not passed over.
        if !is_hidden && fs::metadata(entry.path()).is_ok_and(|it| it.is_dir()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(Some(names))
}

fn is_name(name: &str) -> bool {
    let n_chars = name.chars().count();
    (1..=SKILL_NAME_CHARS_MAX).contains(&n_chars)
        && name.trim() == name
        && !name.chars().any(|ch| is_deceptive(ch) || ch == '`')
}

impl SkillIssue {
    fn of(path: &Path, problem: SkillProblem) -> SkillIssue {
        SkillIssue { path: path.to_owned(), line: 1, problem }
    }

    fn file(path: &Path, problem: Problem) -> SkillIssue {
        SkillIssue::of(path, SkillProblem::File(problem))
    }

    fn unreadable(path: &Path, error: &io::Error) -> SkillIssue {
        SkillIssue::file(path, Problem::Unreadable { reason: error.to_string() })
    }
}

#[cfg(all(test, unix))]
mod tests;
