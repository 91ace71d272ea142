//! The folders that hold skills, from near to far.
//!
//! The home's own come first: they are the agent. A repository that the owner does not trust adds
//! none, and a folder that every user can write into counts as untrusted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{SKILL_EXTRAS_MAX, SkillIssue, SkillProblem, SkillRequest};
use crate::beneath::is_absent;
use crate::discovery::{project_folders, repository_root};
use crate::error::Problem;
use crate::ownership;

/// The folder of skills in a project and in the user's home.
const SHARED_SKILLS: &str = ".kith/skills";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SkillRoot {
    /// Free of links.
    pub(super) real: PathBuf,
    pub(super) scope: SkillScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkillScope {
    Home,
    Project,
    GlobalUser,
    Extra,
}

impl SkillScope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            SkillScope::Home => "home",
            SkillScope::Project => "project",
            SkillScope::GlobalUser => "global_user",
            SkillScope::Extra => "extra",
        }
    }
}

/// The roots that exist and may be used, each once.
pub(super) fn roots(request: &SkillRequest<'_>, issues: &mut Vec<SkillIssue>) -> Vec<SkillRoot> {
    let mut search = RootSearch { roots: Vec::new(), seen: BTreeSet::new(), issues };
    search.add(&request.home.join("skills"), SkillScope::Home, request.home_skills_within);
    project(request, &mut search);
    if let Some(user_home) = request.user_home {
        search.add(&user_home.join(SHARED_SKILLS), SkillScope::GlobalUser, None);
    }
    for (n_extra, extra) in request.extra.iter().enumerate() {
        if n_extra == SKILL_EXTRAS_MAX {
            search.issues.push(SkillIssue::of(extra, SkillProblem::TooManyExtras));
            break;
        }
        search.add(extra, SkillScope::Extra, None);
    }
    search.roots
}

/// Adds the folders from `cwd` up to the root of its repository.
fn project(request: &SkillRequest<'_>, search: &mut RootSearch<'_>) {
    // A folder that is gone has no project.
    let Ok(cwd) = fs::canonicalize(request.cwd) else { return };
    let Some(repository) = repository_root(&cwd) else { return };
    let is_trusted = (request.trusted)(&repository);
    for folder in project_folders(&cwd, Some(&repository), None).into_iter().rev() {
        let path = folder.join(SHARED_SKILLS);
        if is_trusted {
            search.add(&path, SkillScope::Project, Some(&repository));
        } else if path.symlink_metadata().is_ok() && !is_the_users(request, &path) {
            let problem = Problem::RepositoryNotTrusted { root: repository.clone() };
            search.issues.push(SkillIssue::file(&path, problem));
        }
    }
}

/// Whether the folder counts in any case: a home may itself be a repository.
fn is_the_users(request: &SkillRequest<'_>, path: &Path) -> bool {
    let users = request.user_home.map(|it| it.join(SHARED_SKILLS));
    users.and_then(|it| fs::canonicalize(it).ok()).is_some_and(|it| it == path)
}

struct RootSearch<'a> {
    roots: Vec<SkillRoot>,
    seen: BTreeSet<PathBuf>,
    issues: &'a mut Vec<SkillIssue>,
}

impl RootSearch<'_> {
    fn add(&mut self, path: &Path, scope: SkillScope, within: Option<&Path>) {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if is_absent(&error) && path.symlink_metadata().is_err() => {
                if scope == SkillScope::Extra {
                    self.issues.push(SkillIssue::of(path, SkillProblem::NoExtra));
                }
                return;
            }
            Err(error) => return self.issues.push(SkillIssue::unreadable(path, &error)),
        };
        if let Some(within) = within.filter(|within| !real.starts_with(within)) {
            let problem = Problem::LeadsOutside { within: within.to_owned() };
            return self.issues.push(SkillIssue::file(path, problem));
        }
        let doubt = match fs::metadata(&real) {
            Ok(metadata) if metadata.is_dir() => ownership::problem(&metadata),
            Ok(_) => Some(Problem::NotAFolder),
            Err(error) => Some(Problem::Unreadable { reason: error.to_string() }),
        };
        if let Some(problem) = doubt {
            let is_used = scope.tolerates(&problem);
            let problem = if is_used { Problem::LooseInHome } else { problem };
            self.issues.push(SkillIssue::file(path, problem));
            if !is_used {
                return;
            }
        }
        if self.seen.insert(real.clone()) {
            self.roots.push(SkillRoot { real, scope });
        }
    }
}

impl SkillScope {
    /// The home is the agent: loose permissions are told, but leaving its skills out would change
    /// what it can do.
    pub(super) fn tolerates(self, problem: &Problem) -> bool {
        self == SkillScope::Home && *problem == Problem::WritableByOthers
    }
}
