//! Which skills the sessions of this house have.

use std::path::{Path, PathBuf};

use kith_home::skills::{SkillIndex, SkillRequest, skill_folders, skills};
use kith_home::trust::reaches;

use crate::house::House;

/// The skills in force for someone who works in this folder.
pub(crate) fn index(house: &House, cwd: &Path, trusted: &[PathBuf]) -> SkillIndex {
    with_request(house, cwd, trusted, skills)
}

/// The folders they lie in, which tools may read.
pub(crate) fn folders(house: &House, cwd: &Path, trusted: &[PathBuf]) -> Vec<PathBuf> {
    with_request(house, cwd, trusted, skill_folders)
}

fn with_request<T>(
    house: &House,
    cwd: &Path,
    trusted: &[PathBuf],
    look: impl FnOnce(&SkillRequest<'_>) -> T,
) -> T {
    look(&SkillRequest {
        home: &house.dir,
        cwd,
        user_home: house.user_home.as_deref(),
        extra: &[],
        allowed: None,
        // As for `AGENTS.md`: a repository speaks only after the owner has said that it may.
        trusted: &|root| reaches(trusted, root, root),
    })
}
