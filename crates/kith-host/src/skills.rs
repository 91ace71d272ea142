//! The skills of an agent's sessions.

use std::path::{Path, PathBuf};

use kith_home::skills::{SkillIndex, SkillRequest, skill_folders, skills};

use crate::house::House;
use crate::team::Member;
use crate::trust::{HouseClaim, TrustView};

/// The skills in force for someone who works in this folder.
pub fn index(
    house: &House,
    member: &Member,
    extra: &[PathBuf],
    trust: &TrustView,
    cwd: &Path,
) -> SkillIndex {
    with_request((house, member), extra, trust, cwd, skills)
}

/// The folders they lie in, which tools may read.
pub fn folders(
    house: &House,
    member: &Member,
    extra: &[PathBuf],
    trust: &TrustView,
    cwd: &Path,
) -> Vec<PathBuf> {
    with_request((house, member), extra, trust, cwd, skill_folders)
}

fn with_request<T>(
    (house, member): (&House, &Member),
    extra: &[PathBuf],
    trust: &TrustView,
    cwd: &Path,
    look: impl FnOnce(&SkillRequest<'_>) -> T,
) -> T {
    let is_unclaimed = *trust.claim() == HouseClaim::Unclaimed;
    look(&SkillRequest {
        home: &member.home,
        // A link in an unpacked archive must not open a folder of the owner's to the tools.
        home_skills_within: is_unclaimed.then_some(house.dir.as_path()),
        cwd,
        user_home: house.user_home.as_deref(),
        extra,
        allowed: member.skills.as_deref(),
        // As for `AGENTS.md`: a repository speaks only after the owner has said that it may.
        trusted: &|root| trust.trusts_repository(root),
    })
}
