//! The settings as they are now, read again only when a file has changed.
//!
//! A host lives for days. A tightened policy, a new limit or a withdrawn trust must count from the
//! next turn on, so both files and the trust in the house are looked at before a message is accepted
//! and before a turn begins. That costs a few system calls while nothing has changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_home::ownership::FileStamp;
use kith_vocab::clock::Clock;

use super::Settings;
use crate::clock::SystemClock;
use crate::error::CallError;
use crate::house::House;
use crate::trust::HouseClaim;

/// Maximum age of settings that are asked for many times in a turn.
const RECENT_MS: u64 = 1_000;

pub struct SettingsWatch {
    /// Whose files are looked at; `None` if the settings were given.
    house: Option<House>,
    kept: Mutex<KeptSettings>,
}

struct KeptSettings {
    settings: Arc<Settings>,
    seen: Option<Sources>,
    /// When the files were looked at last, by the clock that never goes back.
    looked_at: u64,
}

impl KeptSettings {
    fn new(settings: Arc<Settings>, seen: Option<Sources>) -> KeptSettings {
        KeptSettings { settings, seen, looked_at: SystemClock.monotonic() }
    }
}

/// What the settings depend on, as it was before they were read.
#[derive(PartialEq, Eq)]
struct Sources {
    claim: HouseClaim,
    files: Vec<FileStamp>,
    /// Whether another change of a file would show.
    is_settled: bool,
}

impl SettingsWatch {
    /// Reads the settings for the first time.
    pub fn open(house: &House) -> Result<Arc<SettingsWatch>, CallError> {
        let seen = Some(Sources::of(house));
        let settings = Arc::new(Settings::load(house)?);
        let kept = Mutex::new(KeptSettings::new(settings, seen));
        Ok(Arc::new(SettingsWatch { house: Some(house.clone()), kept }))
    }

    /// Settings that stand in no file. They stay until others are given.
    pub fn given(settings: Settings) -> Arc<SettingsWatch> {
        let kept = KeptSettings::new(Arc::new(settings), None);
        Arc::new(SettingsWatch { house: None, kept: Mutex::new(kept) })
    }

    /// Takes these settings in place of the ones before.
    pub fn give(&self, settings: Settings) {
        *self.kept() = KeptSettings::new(Arc::new(settings), None);
    }

    /// Returns the settings as they are now. A changed file that cannot be read is an error until
    /// it is mended; [`SettingsWatch::last_good`] stays as it was.
    pub fn current(&self) -> Result<Arc<Settings>, CallError> {
        let Some(house) = &self.house else { return Ok(self.last_good()) };
        let seen = Sources::of(house);
        let mut kept = self.kept();
        kept.looked_at = SystemClock.monotonic();
        if seen.is_settled && kept.seen.as_ref() == Some(&seen) {
            return Ok(Arc::clone(&kept.settings));
        }
        let settings = Arc::new(Settings::load(house)?);
        *kept = KeptSettings::new(Arc::clone(&settings), Some(seen));
        Ok(settings)
    }

    /// Returns the newest settings that could be read. Turns that run go on with them.
    pub fn last_good(&self) -> Arc<Settings> {
        Arc::clone(&self.kept().settings)
    }

    /// Looks again, and returns the newest settings that can be read.
    pub fn newest(&self) -> Arc<Settings> {
        // Who sends a message is told why they cannot be read; a turn that was accepted runs.
        self.current().unwrap_or_else(|_| self.last_good())
    }

    /// Returns the settings as they were a second ago or later. For what is asked many times in a
    /// turn: the files were looked at when the turn began.
    pub fn recent(&self) -> Arc<Settings> {
        self.recent_at(SystemClock.monotonic())
    }

    fn recent_at(&self, now: u64) -> Arc<Settings> {
        let age = now.saturating_sub(self.kept().looked_at);
        if age < RECENT_MS { self.last_good() } else { self.newest() }
    }

    fn kept(&self) -> MutexGuard<'_, KeptSettings> {
        // It is replaced as a whole, so a panic elsewhere does not spoil it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sources {
    fn of(house: &House) -> Sources {
        let near = Some(house.dir.join("kith.toml"));
        let far = house.user_home.as_ref().map(|it| it.join(".kith/config.toml"));
        let paths = [near, far];
        let files: Vec<_> = paths.iter().flatten().map(|path| FileStamp::of(path)).collect();
        let now = SystemClock.now();
        let is_settled = files.iter().all(|it| it.is_settled(now));
        Sources { claim: HouseClaim::of(house), files, is_settled }
    }
}

#[cfg(test)]
mod tests;
