//! Changes of the agent's files since the model of a session was last told of them.
//!
//! Every message asks, so the last look at the files is kept, for each agent, folder and audience, and
//! taken again only when something may have changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kith_engine::state::knowledge::ModelKnowledge;
use kith_home::error::HomeError;
use kith_home::reminders::{KnownFacts, reminders};
use kith_home::skills::{SkillIndex, news as skill_news};
use kith_home::snapshot::current::CurrentFiles;
use kith_home::user::UserFacts;
use kith_vocab::event::Body;
use kith_vocab::event::messages::{HarnessItemEvent, HarnessKind, Trust};
use kith_vocab::header::{Audience, SessionHeader};

use super::{Voices, reading, system_zone};
use crate::house::House;
use crate::team::Member;

/// Maximum number of cached looks; the cache is cleared when it is full.
const LOOKS_KEPT_MAX: usize = 64;

#[derive(Default)]
pub(super) struct Looks(Mutex<HashMap<Place, Arc<CurrentFiles>>>);

/// What decides which files a session is given: agent, folder, audience, and whose words count.
type Place = (String, PathBuf, Audience, Vec<PathBuf>);

/// The house, the agent, and whose files speak for the owner.
type Whose<'a> = (&'a House, &'a Member, Voices<'a>);

impl Looks {
    pub(super) fn news(
        &self,
        whose: Whose<'_>,
        header: &SessionHeader,
        told: &ModelKnowledge<'_>,
        now: u64,
    ) -> Vec<Body> {
        // Without instructions there is nothing that could have changed; a clock that shows no
        // date keeps nobody from an answer, and `kith doctor` tells of it.
        let (Some(frozen), Ok(look)) = (told.snapshot, self.look(whose, header, now)) else {
            return Vec::new();
        };
        let dates = told.data(HarnessKind::DateChange);
        let heard = KnownFacts::of(dates, told.data(HarnessKind::RuntimeNotice));
        let reminder = |item| {
            // Only the owner's own files are looked at, so they need no block.
            let trust = Trust::Owner;
            Body::HarnessItem(HarnessItemEvent::new(item, trust))
        };
        reminders(frozen, &heard, &look, now).into_iter().map(reminder).collect()
    }

    fn look(
        &self,
        whose: Whose<'_>,
        header: &SessionHeader,
        now: u64,
    ) -> Result<Arc<CurrentFiles>, HomeError> {
        let (house, member, voices) = whose;
        let cwd = PathBuf::from(&header.cwd);
        let key = (header.agent_id.clone(), cwd, header.audience, voices.folders.to_vec());
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = kept().get(&key).map(Arc::clone).filter(|look| look.is_current(now)) {
            return Ok(look);
        }
        // A USER.md that cannot be read names no zone; that it cannot is told by the look.
        let user = UserFacts::read(&member.home).unwrap_or_default();
        let zone = user.time_zone.unwrap_or_else(system_zone);
        let cwd = Path::new(&header.cwd);
        let look = reading(
            (house, member),
            cwd,
            header.audience,
            (now, &zone),
            voices,
            CurrentFiles::read,
        )?;
        let look = Arc::new(look);
        let mut kept = kept();
        if kept.len() == LOOKS_KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&look));
        Ok(look)
    }
}

/// The skills that the model does not know of, or not as they are now.
pub(super) fn of_skills(disk: &SkillIndex, told: &ModelKnowledge<'_>) -> Vec<Body> {
    let listing = told.data(HarnessKind::SkillListing).last();
    let known = skill_news::told(listing, told.data(HarnessKind::SkillDelta));
    skill_news::skill_news(known.as_deref(), &disk.entries)
}

#[cfg(test)]
mod tests;
