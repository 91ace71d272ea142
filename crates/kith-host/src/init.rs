//! Creates an agent: a folder with its files. Existing files are not changed.

use std::path::{Path, PathBuf};

use kith_home::house::{find_house, is_house};
use kith_home::placeholder::is_placeholder;
use kith_home::protected::HOME_FILES;
use kith_home::trust::record_trust;
use kith_vocab::clock::Clock;

use crate::call::{Reply, Response};
use crate::clock::SystemClock;
use crate::error::{CallError, quoted};
use crate::house::{AGENT_ID, refuse_users_home, user_home};
use crate::settings::edit::set_default_house;
use crate::trust::HouseClaim;

/// A house that was made or completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitReport {
    pub house: PathBuf,
    pub agent_id: String,
    /// The files that were made.
    pub files: Vec<PathBuf>,
    /// Whether it has become the user's default house.
    pub is_default: bool,
}

/// Makes the files that are missing.
pub fn init(dir: &Path) -> Reply<InitReport> {
    refuse_users_home(dir, user_home().as_deref())?;
    let had_settings = is_owners(&dir.join("kith.toml"));
    let was_house = is_house(dir);
    let made = kith_home::init::init(dir, AGENT_ID)?;
    let house = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mut notes = Vec::from_iter(note_whose(&house, was_house, had_settings));
    // A house that is not known to be the owner's must not answer in every folder.
    let is_default = notes.is_empty() && become_default(&house, &mut notes);
    let files = made.iter().filter_map(|path| path.file_name()).map(|name| house.join(name));
    let (files, agent_id) = (files.collect(), AGENT_ID.to_owned());
    let report = InitReport { house, agent_id, files, is_default };
    Ok(Response::new(report).with_notes(notes))
}

/// The house around a folder that is none itself yet: an agent made there could join it.
pub fn house_around(dir: &Path) -> Option<PathBuf> {
    let is_there = |it: &&Path| it.is_dir();
    let dir = std::path::absolute(dir).ok()?;
    if is_house(&dir) {
        return None;
    }
    let nearest = dir.ancestors().skip(1).find(is_there)?;
    find_house(nearest, user_home().as_deref()).filter(|house| is_house(house))
}

/// Makes the first house the user's default one, and tells whether it is that now.
fn become_default(house: &Path, notes: &mut Vec<String>) -> bool {
    let Some(user_home) = user_home().and_then(|it| it.canonicalize().ok()) else { return false };
    set_default_house(&user_home, house).unwrap_or_else(|error| {
        notes.push(format!("could not make it your default agent: {}", error.message()));
        false
    })
}

/// What lies in the folder already and would speak as the owner once it is made a house: the files of
/// an agent that came with a repository.
pub fn adopted_files(dir: &Path) -> Vec<&'static str> {
    let (Ok(dir), false) = (dir.canonicalize(), is_house(dir)) else { return Vec::new() };
    let user_home = user_home().and_then(|it| it.canonicalize().ok());
    match HouseClaim::recorded(&dir, user_home.as_deref()) {
        HouseClaim::ForeignRepository(_) => {
            let is_there = |name: &&str| is_owners(&dir.join(name));
            HOME_FILES.into_iter().filter(is_there).collect()
        }
        HouseClaim::Recorded(_) | HouseClaim::Unclaimed => Vec::new(),
    }
}

/// Whether something lies there that does not only stand for an absent file while a sandbox runs.
fn is_owners(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| !is_placeholder(&it))
}

/// Notes that this house is the owner's own. But one that came from elsewhere is not made by
/// completing it: its settings may say where keys go.
fn note_whose(house: &Path, was_house: bool, had_settings: bool) -> Option<String> {
    let user_home = user_home().and_then(|it| it.canonicalize().ok())?;
    let claim = HouseClaim::recorded(house, Some(&user_home));
    if matches!(claim, HouseClaim::Recorded(_)) {
        return None;
    }
    let here = quoted(house);
    if was_house && matches!(claim, HouseClaim::ForeignRepository(_)) {
        return Some(format!(
            "`kith.toml` here came with the repository; run `kith trust {here}` if you trust it"
        ));
    }
    if had_settings {
        return Some(format!(
            "`kith.toml` was here already; run `kith trust {here}` if it is yours"
        ));
    }
    let error = record_trust(&user_home, house, SystemClock.now()).err()?;
    let why = CallError::from(error).message();
    Some(format!("could not record this agent as yours ({why}); run `kith trust {here}`"))
}
