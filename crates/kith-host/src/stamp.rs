//! What shows, without reading it, whether a file or folder has changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use kith_vocab::clock::Clock;

use crate::clock::SystemClock;

/// Coarser than the clock of any disk in use: within it a file may change twice and look the same.
const TICK_SECS: i64 = 2;

#[derive(PartialEq, Eq)]
pub(crate) struct FileStamp {
    bytes: u64,
    modified_ns: (i64, i64),
    changed_ns: (i64, i64),
    node: (u64, u64),
    /// Whoever may write to the file could have written it.
    owner: (u32, u32),
}

impl FileStamp {
    pub(crate) fn of(metadata: &Metadata) -> FileStamp {
        FileStamp {
            bytes: metadata.len(),
            modified_ns: (metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: (metadata.ctime(), metadata.ctime_nsec()),
            node: (metadata.dev(), metadata.ino()),
            owner: (metadata.uid(), metadata.mode()),
        }
    }

    /// Whether another change would show.
    pub(crate) fn is_settled(&self) -> bool {
        let now = i64::try_from(SystemClock.now() / 1000).unwrap_or_default();
        self.changed_ns.0.max(self.modified_ns.0) + TICK_SECS < now
    }
}
