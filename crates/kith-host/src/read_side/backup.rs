//! Backs up a house. The copy is a house of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use kith_home::house::HOUSE_FILES;
use kith_home::placeholder::is_placeholder_at;
use kith_home::protected::HOME_FILES;
use kith_sessions::backup::{Backup, BackupCounts, BackupError};
use kith_sessions::storage::StorageError;
use kith_vocab::blocking::blocking;

use super::ReadSide;
use super::scripts::as_text;
use crate::call::{Delivery, Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::house::{BackUpHouse, BackupProgress, BackupSummary};
use crate::error::CallError;
use crate::house::House;

pub async fn back_up_house(
    side: Arc<ReadSide>,
    _: Caller,
    call: BackUpHouse,
    follower: Follower<BackupProgress>,
) -> Reply<BackupSummary> {
    // Not through the journal: a copy of the files is what is asked for.
    let house = &side.house;
    let target = blocking(|| target(house, Path::new(&call.dir)))?;
    let mut notes = Vec::new();
    let report = move |copied: &BackupCounts| {
        let so_far = BackupProgress { sessions: copied.sessions, bytes: copied.bytes };
        // Nobody relies on it.
        follower.push(so_far, Delivery::IfRoom).ok();
    };
    let mut backup = blocking(|| begin(&side, &target, &mut notes))?.reporting(report);
    backup.add_kith_dir(&house.dir).await.map_err(in_words)?;
    let copied = blocking(|| backup.finish()).map_err(in_words)?;
    let BackupCounts { sessions, files, bytes, left_out } = copied;
    notes.extend(left_out.iter().map(|it| format!("{it}; it was left out")));
    let summary = BackupSummary { path: as_text(&target), sessions, files, bytes };
    Ok(Response { data: summary, notes })
}

/// Begins the copy with the files of the house and of every home in it.
fn begin(side: &ReadSide, target: &Path, notes: &mut Vec<String>) -> Result<Backup, CallError> {
    let house = &side.house;
    let mut backup = Backup::begin(target).map_err(in_words)?;
    let mut names: Vec<PathBuf> =
        HOUSE_FILES.iter().chain(&HOME_FILES).map(PathBuf::from).collect();
    for home in homes_beneath(side, notes) {
        names.extend(HOME_FILES.map(|name| home.join(name)));
    }
    // Where a sandbox runs, something stands for files that are absent.
    for name in names.iter().filter(|it| !is_placeholder_at(&house.dir.join(it))) {
        backup.add(&house.dir, name).map_err(in_words)?;
    }
    Ok(backup)
}

/// The homes of the other agents. A copy must not be impossible because of a bad line in the
/// settings, but it must not look whole either.
fn homes_beneath(side: &ReadSide, notes: &mut Vec<String>) -> Vec<PathBuf> {
    let house = &side.house;
    let config = match side.settings() {
        Ok(config) => config,
        Err(report) => {
            let why = report.message();
            notes.push(format!("only the agent of this folder was copied, because {why}"));
            return Vec::new();
        }
    };
    let homes = config.team.members().filter_map(|it| it.home.strip_prefix(&house.dir).ok());
    homes.filter(|home| !home.as_os_str().is_empty()).map(Path::to_owned).collect()
}

/// A folder that is not there yet, or is empty, and lies outside of the house.
fn target(house: &House, dir: &Path) -> Result<PathBuf, CallError> {
    let failed = |source: io::Error| cannot_make(dir, &source);
    let target = if let Ok(target) = dir.canonicalize() {
        target
    } else {
        let name = dir.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        let parent = dir.parent().filter(|it| !it.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).canonicalize().map_err(failed)?.join(name)
    };
    let is_empty = match fs::read_dir(&target) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(failed(error)),
    };
    let refuse = |message: String, hint: &str| Err(CallError::invalid(message).hint(hint));
    if !is_empty {
        let message = format!("`{}` is not empty", target.display());
        return refuse(message, "name a new or empty folder");
    }
    if target.starts_with(&house.dir) {
        let message = format!("`{}` is inside the house being copied", target.display());
        return refuse(message, "name a folder outside the house");
    }
    Ok(target)
}

fn in_words(error: BackupError) -> CallError {
    match error {
        BackupError::Desk(error) => error.into(),
        BackupError::Storage(error) => error.into(),
        BackupError::Sessions(error) => StorageError::from(error).into(),
        BackupError::Make { ref path, ref source } => cannot_make(path, source),
        BackupError::Copy { ref source, .. } => CallError::filesystem(format!("{error}: {source}"))
            .hint("nothing was left behind; fix the cause and try again"),
    }
}

fn cannot_make(dir: &Path, source: &io::Error) -> CallError {
    let message = format!("cannot create the folder `{}`: {source}", dir.display());
    CallError::filesystem(message).hint("check that its parent is a writable folder")
}
