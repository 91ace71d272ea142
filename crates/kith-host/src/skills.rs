//! The skills of an agent's sessions.

use std::path::{Path, PathBuf};

use kith_home::skills::SkillRequest;

use crate::house::House;
use crate::team::Member;
use crate::trust::{HouseClaim, TrustView};

/// Looks for the skills of someone who works in this folder, or for the folders they lie in.
pub fn look_for<T>(
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
