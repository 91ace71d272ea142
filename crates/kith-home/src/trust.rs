//! Which folders speak with the owner's voice.
//!
//! Instruction files are taken as the owner's word, and settings say where keys go. A repository
//! came from elsewhere, so it has neither right until the owner gives it.
//!
//! Trust in houses is recorded in `~/.kith/houses/`: a record inside a house could have come with a
//! clone. Each folder has a small file of its own, so two programs never write the same one. A
//! record is for one folder: another folder with the same path later is not trusted.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kith_vocab::digest::sha256_hex;
use kith_vocab::files::if_found;
use serde::{Deserialize, Serialize};

use crate::beneath::{Existing, make_folders, write};
use crate::discovery::{WALK_FOLDERS_MAX, repository_root};
use crate::error::{HomeError, Problem};
use crate::ownership;
use crate::prompt_file::{FileLookup, OpenFile, open};

/// A longer record is ignored: it was not written by Kith.
const RECORD_BYTES_MAX: u64 = 64 * 1024;
/// Records that are read at once.
const RECORDS_MAX: usize = 1_000;
/// Where the records are, beneath the user's home.
const HOUSES: &str = ".kith/houses";

/// A folder that the owner made a home in or trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderTrust {
    pub folder: PathBuf,
    pub since_ms: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TrustRecord {
    /// For people who read the file; only its name and `mark` are checked.
    path: String,
    mark: String,
    trusted_at: u64,
}

/// The repository that holds a folder, as far as trust goes. The user's own home is
/// always the owner's, also where it is kept in a repository.
pub fn repository_of(folder: &Path, user_home: Option<&Path>) -> Option<PathBuf> {
    repository_root(folder).filter(|root| Some(root.as_path()) != user_home)
}

/// Whether trust in one of these folders extends to this one: it is the same folder or lies beneath
/// it, and no other repository begins in between. All paths are canonical.
pub fn covers(trusted: &[PathBuf], folder: &Path, repository: &Path) -> bool {
    trusted.iter().any(|it| folder.starts_with(it) && it.starts_with(repository))
}

/// Identifies a folder, so that another one with the same path later is not taken for it. The device
/// is not part of it: its number may change when the machine starts.
pub fn folder_fingerprint(folder: &Path) -> io::Result<String> {
    let metadata = fs::metadata(folder)?;
    // Some disks do not record when a folder was made; there only its inode identifies it.
    let made = metadata.created().ok();
    let since_1970 = made.and_then(|it| it.duration_since(std::time::UNIX_EPOCH).ok());
    let made = since_1970.map_or_else(|| "-".to_owned(), |it| it.as_nanos().to_string());
    Ok(format!("{}:{made}", metadata.ino()))
}

/// The reason why a file may not be the owner's own, if there is one.
pub fn ownership_problem(metadata: &Metadata) -> Option<Problem> {
    ownership::problem(metadata)
}

/// Records that the owner made a home in this folder or trusts it. The path is canonical.
pub fn record_trust(user_home: &Path, folder: &Path, now_ms: u64) -> Result<(), HomeError> {
    let path = record_path(user_home, folder);
    let noted = || -> io::Result<()> {
        let record = TrustRecord {
            path: folder.to_string_lossy().into_owned(),
            mark: folder_fingerprint(folder)?,
            trusted_at: now_ms,
        };
        let text = serde_json::to_string(&record)?;
        let houses = make_folders(user_home, Path::new(HOUSES))?;
        write(&houses, &record_name(folder), &format!("{text}\n"), Existing::Replace)
    };
    noted().map_err(|source| HomeError::WriteFile { path, source })
}

/// Makes `~/.kith`, where the user's own settings are.
pub fn make_user_folder(user_home: &Path) -> Result<(), HomeError> {
    let made = make_folders(user_home, Path::new(".kith"));
    let path = user_home.join(".kith");
    made.map(|_| ()).map_err(|source| HomeError::WriteFile { path, source })
}

/// Removes the record of a folder, and tells whether there was one.
pub fn remove_trust(user_home: &Path, folder: &Path) -> Result<bool, HomeError> {
    let path = record_path(user_home, folder);
    let removed = if_found(fs::remove_file(&path));
    removed.map(|it| it.is_some()).map_err(|source| HomeError::WriteFile { path, source })
}

/// The trusted folders among this one and those above it, the nearest first.
pub fn trusted_folders(user_home: &Path, folder: &Path) -> Vec<FolderTrust> {
    let folders = folder.ancestors().take(WALK_FOLDERS_MAX);
    let said = |folder: &Path| {
        let since_ms = trusted_since(user_home, folder)?;
        Some(FolderTrust { folder: folder.to_owned(), since_ms })
    };
    folders.filter_map(said).collect()
}

/// The folders of which there is a record, whether it still counts or not: for whoever must leave them alone.
pub fn recorded_folders(user_home: &Path) -> Vec<PathBuf> {
    let records = fs::read_dir(user_home.join(HOUSES)).into_iter().flatten().flatten();
    let paths = records.take(RECORDS_MAX).filter_map(|it| record_at(&it.path()));
    paths.map(|it| PathBuf::from(it.path)).collect()
}

/// `None` for a record that is missing, unreadable, or that another user could have written.
fn trusted_since(user_home: &Path, folder: &Path) -> Option<u64> {
    let record = record_at(&record_path(user_home, folder))?;
    (folder_fingerprint(folder).ok()? == record.mark).then_some(record.trusted_at)
}

fn record_at(path: &Path) -> Option<TrustRecord> {
    let Ok(FileLookup::File(OpenFile { file, metadata, .. })) = open(path) else { return None };
    if ownership::problem(&metadata).is_some() {
        return None;
    }
    let mut text = String::new();
    file.take(RECORD_BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn record_path(user_home: &Path, folder: &Path) -> PathBuf {
    user_home.join(HOUSES).join(record_name(folder))
}

/// A hash, because a path may be longer than a file name and contain other characters.
fn record_name(folder: &Path) -> String {
    let hash = sha256_hex(folder.as_os_str().as_encoded_bytes());
    format!("{}.json", &hash[..32])
}

#[cfg(test)]
mod tests;
