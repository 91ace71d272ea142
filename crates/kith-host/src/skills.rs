//! The skills of an agent's sessions.

use std::path::{Path, PathBuf};

use kith_home::skills::{SkillIndex, SkillRequest, skill_folders, skills};

use crate::house::House;
use crate::team::Member;
use crate::trust::{HouseClaim, TrustView};

/// The agent whose skills are looked for, and the folder it works in.
pub struct SkillSearch<'a> {
    pub house: &'a House,
    pub member: &'a Member,
    /// Further folders of skills, which the settings name.
    pub extra: &'a [PathBuf],
    pub trust: &'a TrustView,
    pub cwd: &'a Path,
}

impl SkillSearch<'_> {
    /// The skills in force.
    pub fn skills(&self) -> SkillIndex {
        skills(&self.request(&|root| self.trust.trusts_repository(root)))
    }

    /// The folders that skills lie in, which tools may read.
    pub fn folders(&self) -> Vec<PathBuf> {
        skill_folders(&self.request(&|root| self.trust.trusts_repository(root)))
    }

    // As for `AGENTS.md`: a repository speaks only after the owner has said that it may.
    fn request<'a>(&'a self, trusted: &'a dyn Fn(&Path) -> bool) -> SkillRequest<'a> {
        let is_unclaimed = *self.trust.claim() == HouseClaim::Unclaimed;
        SkillRequest {
            home: &self.member.home,
            // A link in an unpacked archive must not open a folder of the owner's to the tools.
            home_skills_within: is_unclaimed.then_some(self.house.dir.as_path()),
            cwd: self.cwd,
            user_home: self.house.user_home.as_deref(),
            extra: self.extra,
            allowed: self.member.skills.as_deref(),
            trusted,
        }
    }
}
