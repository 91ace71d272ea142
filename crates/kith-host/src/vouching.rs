//! Marks the house itself as the owner's, or takes that back.
//!
//! It is noted in the user's own folder, which no clone brings along, and must work in a house that
//! is not trusted yet. So these are functions and no calls: such a house has no host.

use std::path::{Path, PathBuf};

use kith_home::trust::{record_trust, remove_trust, trusted_folders};
use kith_vocab::clock::Clock;

use crate::call::{Reply, Response};
use crate::calls::trust::TrustedFolder;
use crate::clock::SystemClock;
use crate::error::CallError;
use crate::house::House;
use crate::trust::{HouseClaim, TrustView};

/// Whose a folder is.
pub enum FolderOwner {
    /// The house belongs to it.
    House(PathBuf),
    Repository(PathBuf),
}

/// Whose a folder is; `None` if it needs no trust.
pub fn owner_of(house: &House, dir: &Path) -> Option<FolderOwner> {
    match TrustView::new(house, &[]).repository_of(dir) {
        Some(root) if house.dir.starts_with(&root) => Some(FolderOwner::House(root)),
        Some(root) => Some(FolderOwner::Repository(root)),
        None if dir.starts_with(&house.dir) => Some(FolderOwner::House(house.dir.clone())),
        None => None,
    }
}

/// The repository that the house came with, if nobody vouched for it.
pub fn stranger(house: &House) -> Option<PathBuf> {
    match HouseClaim::of(house) {
        HouseClaim::ForeignRepository(root) if house.real_user_home().is_some() => Some(root),
        _ => None,
    }
}

/// Notes that the folder of the house is the owner's, and the house itself: the settings of a house count
/// in full only if it was meant.
pub fn vouch(house: &House, folder: &Path) -> Reply<TrustedFolder> {
    let user_home = user_home(house)?;
    record_trust(&user_home, folder, SystemClock.now())?;
    if folder != house.dir {
        record_trust(&user_home, &house.dir, SystemClock.now())?;
    }
    Ok(Response::new(trusted(folder)))
}

/// Takes back everything that was said of the house.
pub fn take_back(house: &House, folder: &Path) -> Reply<TrustedFolder> {
    let user_home = user_home(house)?;
    let mut was_trusted = false;
    for said in trusted_folders(&user_home, &house.dir) {
        was_trusted |= remove_trust(&user_home, &said.folder)?;
    }
    let note = (!was_trusted).then(|| "this house was not trusted".to_owned());
    Ok(Response::new(trusted(folder)).with_notes(note))
}

fn trusted(folder: &Path) -> TrustedFolder {
    TrustedFolder { path: folder.to_string_lossy().into_owned() }
}

fn user_home(house: &House) -> Result<PathBuf, CallError> {
    house.real_user_home().ok_or_else(|| {
        let message = "cannot record it: you have no home folder";
        CallError::filesystem(message).hint("set HOME to your home folder")
    })
}
