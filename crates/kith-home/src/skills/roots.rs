//! The folders that hold skills, from near to far.
//!
//! The home's own come first: they are the agent. A repository that the owner does not trust adds
//! none, and a folder that every user could write into is nobody's own.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{SKILL_EXTRAS_MAX, SkillIssue, SkillProblem, SkillRequest};
use crate::discovery::{project_folders, repository_root};
use crate::error::Problem;
use crate::standing;

/// Where a project and a user keep theirs.
const SHARED_SKILLS: &str = ".kith/skills";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Root {
    /// Free of links.
    pub(super) real: PathBuf,
    pub(super) scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Home,
    Project,
    GlobalUser,
    Extra,
}

impl Scope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scope::Home => "home",
            Scope::Project => "project",
            Scope::GlobalUser => "global_user",
            Scope::Extra => "extra",
        }
    }
}

/// The roots that exist and may be used, each once.
pub(super) fn roots(request: &SkillRequest<'_>, issues: &mut Vec<SkillIssue>) -> Vec<Root> {
    let mut found = Found { roots: Vec::new(), seen: BTreeSet::new(), issues };
    found.look(&request.home.join("skills"), Scope::Home, request.home_skills_within);
    project(request, &mut found);
    if let Some(user_home) = request.user_home {
        found.look(&user_home.join(SHARED_SKILLS), Scope::GlobalUser, None);
    }
    for (n_extra, extra) in request.extra.iter().enumerate() {
        if n_extra == SKILL_EXTRAS_MAX {
            found.issues.push(SkillIssue::of(extra, SkillProblem::TooManyExtras));
            break;
        }
        found.look(extra, Scope::Extra, None);
    }
    found.roots
}

/// From `cwd` up to the root of its repository.
fn project(request: &SkillRequest<'_>, found: &mut Found<'_>) {
    // A folder that is gone has no project.
    let Ok(cwd) = fs::canonicalize(request.cwd) else { return };
    let Some(repository) = repository_root(&cwd) else { return };
    let is_trusted = (request.trusted)(&repository);
    for folder in project_folders(&cwd, Some(&repository), None).into_iter().rev() {
        let path = folder.join(SHARED_SKILLS);
        if is_trusted {
            found.look(&path, Scope::Project, Some(&repository));
        } else if path.symlink_metadata().is_ok() && !is_the_users(request, &path) {
            let problem = Problem::RepositoryNotTrusted { root: repository.clone() };
            found.issues.push(SkillIssue::file(&path, problem));
        }
    }
}

/// Whether the folder counts in any case: a home may itself be a repository.
fn is_the_users(request: &SkillRequest<'_>, path: &Path) -> bool {
    let users = request.user_home.map(|it| it.join(SHARED_SKILLS));
    users.and_then(|it| fs::canonicalize(it).ok()).is_some_and(|it| it == path)
}

struct Found<'a> {
    roots: Vec<Root>,
    seen: BTreeSet<PathBuf>,
    issues: &'a mut Vec<SkillIssue>,
}

impl Found<'_> {
    fn look(&mut self, path: &Path, scope: Scope, within: Option<&Path>) {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if is_absence(&error) && path.symlink_metadata().is_err() => {
                if scope == Scope::Extra {
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
            Ok(metadata) if metadata.is_dir() => standing::doubt(&metadata),
            Ok(_) => Some(Problem::NotAFolder),
            Err(error) => Some(Problem::Unreadable { reason: error.to_string() }),
        };
        if let Some(problem) = doubt {
            let is_used = scope.forgives(&problem);
            let problem = if is_used { Problem::LooseInHome } else { problem };
            self.issues.push(SkillIssue::file(path, problem));
            if !is_used {
                return;
            }
        }
        if self.seen.insert(real.clone()) {
            self.roots.push(Root { real, scope });
        }
    }
}

impl Scope {
    /// The home is the agent: loose permissions are told, but leaving its skills out would change
    /// what it can do.
    pub(super) fn forgives(self, problem: &Problem) -> bool {
        self == Scope::Home && *problem == Problem::WritableByOthers
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
