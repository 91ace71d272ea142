//! Which repository holds a path, remembered per folder.
//!
//! Every tool result asks. What was found out about a folder holds until the folder changes:
//! making a repository in it adds an entry, and that moves its times.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kith_home::discovery::{REPOSITORY_ENTRIES, WALK_FOLDERS_MAX, holds_repository};
use kith_vocab::clock::Clock;

use crate::clock::SystemClock;

/// Beyond that all are looked at again.
const FOLDERS_KEPT_MAX: usize = 10_000;
/// Coarser than the clock of any disk in use: within it a folder may change twice and look the same.
const TICK_SECS: i64 = 2;

#[derive(Default)]
pub(super) struct RepositoryRoots {
    kept: Mutex<HashMap<PathBuf, (FolderStamp, bool)>>,
}

/// By which one sees that no entry was added to a folder.
#[derive(PartialEq, Eq)]
struct FolderStamp {
    node: (u64, u64),
    modified_ns: (i64, i64),
    changed_ns: (i64, i64),
}

impl RepositoryRoots {
    /// The root of the innermost repository that holds a canonical path.
    pub(super) fn innermost(&self, path: &Path) -> Option<PathBuf> {
        let mut folders = path.ancestors().take(WALK_FOLDERS_MAX);
        folders.find(|folder| self.is_root(folder)).map(Path::to_owned)
    }

    /// The roots beneath a folder, or `None` if there is too much to look through. Links are not
    /// followed.
    pub(super) fn beneath(&self, folder: &Path, folders_max: usize) -> Option<Vec<PathBuf>> {
        let mut roots = Vec::new();
        let mut open = vec![folder.to_owned()];
        let mut n_folders = 0;
        while let Some(folder) = open.pop() {
            n_folders += 1;
            if n_folders > folders_max {
                return None;
            }
            // What may not be looked into cannot be read by a tool either.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
                let is_inner = REPOSITORY_ENTRIES.iter().any(|it| entry.file_name() == *it);
                if !is_folder || is_inner {
                    continue;
                }
                let path = entry.path();
                if self.is_root(&path) {
                    roots.push(path.clone());
                }
                open.push(path);
            }
        }
        Some(roots)
    }

    fn is_root(&self, folder: &Path) -> bool {
        let Ok(metadata) = fs::metadata(folder) else { return false };
        if !metadata.is_dir() {
            return false;
        }
        let stamp = FolderStamp::of(&metadata);
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, is_root)) = kept.get(folder)
            && *before == stamp
        {
            return *is_root;
        }
        let is_root = holds_repository(folder);
        if stamp.is_settled() {
            if kept.len() == FOLDERS_KEPT_MAX {
                kept.clear();
            }
            kept.insert(folder.to_owned(), (stamp, is_root));
        }
        is_root
    }
}

impl FolderStamp {
    fn of(metadata: &Metadata) -> FolderStamp {
        FolderStamp {
            node: (metadata.dev(), metadata.ino()),
            modified_ns: (metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether another change would show.
    fn is_settled(&self) -> bool {
        let now = i64::try_from(SystemClock.now() / 1000).unwrap_or_default();
        self.changed_ns.0.max(self.modified_ns.0) + TICK_SECS < now
    }
}
