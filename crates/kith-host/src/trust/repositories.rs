//! Which repository holds a path, remembered per folder.
//!
//! Every tool result asks. What was found out about a folder holds until the folder changes:
//! making a repository in it adds an entry, and that moves its times.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kith_home::discovery::{WALK_FOLDERS_MAX, holds_repository};
use kith_home::ownership::FileStamp;
use kith_vocab::clock::Clock;

use crate::clock::SystemClock;

/// Maximum number of cached folders; the cache is cleared when it is full.
const FOLDERS_KEPT_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct RepositoryRoots {
    kept: Mutex<HashMap<PathBuf, (FileStamp, bool)>>,
}

impl RepositoryRoots {
    /// The root of the innermost repository that holds a canonical path.
    pub(super) fn innermost(&self, path: &Path) -> Option<PathBuf> {
        let mut folders = path.ancestors().take(WALK_FOLDERS_MAX);
        folders.find(|folder| self.is_root(folder)).map(Path::to_owned)
    }

    fn is_root(&self, folder: &Path) -> bool {
        let stamp = FileStamp::of(folder);
        if !stamp.is_folder() {
            return false;
        }
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, is_root)) = kept.get(folder)
            && *before == stamp
        {
            return *is_root;
        }
        let is_root = holds_repository(folder);
        if stamp.is_settled(SystemClock.now()) {
            if kept.len() == FOLDERS_KEPT_MAX {
                kept.clear();
            }
            kept.insert(folder.to_owned(), (stamp, is_root));
        }
        is_root
    }
}
