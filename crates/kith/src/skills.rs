//! Which skills the sessions of this house have.

use std::path::{Path, PathBuf};

use kith_home::skills::{SkillIndex, SkillRequest, skill_folders, skills};
use kith_home::trust::reaches;

use crate::house::House;
use crate::team::Member;

/// The skills in force for someone who works in this folder.
pub(crate) fn index(
    house: &House,
    member: &Member,
    extra: &[PathBuf],
    trusted: &[PathBuf],
    cwd: &Path,
) -> SkillIndex {
    with_request((house, member), extra, trusted, cwd, skills)
}

/// The folders they lie in, which tools may read.
pub(crate) fn folders(
    house: &House,
    member: &Member,
    extra: &[PathBuf],
    trusted: &[PathBuf],
    cwd: &Path,
) -> Vec<PathBuf> {
    with_request((house, member), extra, trusted, cwd, skill_folders)
}

fn with_request<T>(
    (house, member): (&House, &Member),
    extra: &[PathBuf],
    trusted: &[PathBuf],
    cwd: &Path,
    look: impl FnOnce(&SkillRequest<'_>) -> T,
) -> T {
    look(&SkillRequest {
        home: &member.home,
        cwd,
        user_home: house.user_home.as_deref(),
        extra,
        allowed: member.skills.as_deref(),
        // As for `AGENTS.md`: a repository speaks only after the owner has said that it may.
        trusted: &|root| reaches(trusted, root, root),
    })
}
