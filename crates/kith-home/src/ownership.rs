//! The owner, permissions and identity of a file.
//!
//! Text in an instruction file speaks to the model with the owner's voice. So a file that another
//! user owns, or could change, is not taken for the owner's.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Problem;

/// The permission bit that lets every user write.
const OTHERS_WRITE: u32 = 0o002;
const ROOT: u32 = 0;

/// The resolution of file times, coarser than that of any file system in use.
const TICK_MS: u128 = 2_000;

/// Two paths with equal keys are one file: by link, or by letters on a disk that ignores case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileKey(u64, u64);

impl FileKey {
    pub(crate) fn of(metadata: &Metadata) -> FileKey {
        FileKey(metadata.dev(), metadata.ino())
    }
}

/// Metadata by which a file is seen to be unchanged without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileStamp {
    Absent,
    /// A link that leads nowhere, or a place that may not be looked at.
    Unreadable,
    Present(FileStat),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStat {
    bytes: u64,
    modified: Option<SystemTime>,
    node: (u64, u64, i64, i64, u32, u32),
}

impl FileStamp {
    pub(crate) fn of(path: &Path) -> FileStamp {
        match fs::metadata(path) {
            Ok(metadata) => FileStamp::Present(FileStat::of(&metadata)),
            Err(_) if fs::symlink_metadata(path).is_ok() => FileStamp::Unreadable,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => FileStamp::Unreadable,
            Err(_) => FileStamp::Absent,
        }
    }

    /// Whether it was taken long enough after the file's last change that another change could not
    /// carry the same time. Disks count time in ticks, and a file can change twice within one.
    pub(crate) fn is_settled(&self, taken_ms: u64) -> bool {
        match self {
            FileStamp::Absent => true,
            FileStamp::Unreadable => false,
            FileStamp::Present(stat) => {
                let modified = stat.modified.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
                modified.is_some_and(|it| it.as_millis() + TICK_MS < u128::from(taken_ms))
            }
        }
    }
}

impl FileStat {
    fn of(metadata: &Metadata) -> FileStat {
        FileStat {
            bytes: metadata.len(),
            // Not every system tells; then the file is read each time.
            modified: metadata.modified().ok(),
            node: (
                metadata.dev(),
                metadata.ino(),
                metadata.ctime(),
                metadata.ctime_nsec(),
                metadata.mode(),
                metadata.uid(),
            ),
        }
    }
}

/// The inode number of a folder.
pub(crate) fn inode(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// The reason why the file may not be the owner's own, if there is one.
pub(crate) fn problem(metadata: &Metadata) -> Option<Problem> {
    problem_of(metadata.uid(), metadata.mode(), rustix::process::geteuid().as_raw())
}

/// Whether a walk from a folder of `start` may go on into this folder: it has the same owner, and
/// not everybody can plant files in it.
pub(crate) fn same_owner(start: &Metadata, folder: &Metadata) -> bool {
    start.uid() == folder.uid() && folder.mode() & OTHERS_WRITE == 0
}

fn problem_of(uid: u32, mode: u32, our_uid: u32) -> Option<Problem> {
    if uid != our_uid && uid != ROOT {
        return Some(Problem::ForeignOwner { uid });
    }
    // Writable by a group is usual where every user has a group of their own.
    (mode & OTHERS_WRITE != 0).then_some(Problem::WritableByOthers)
}

#[cfg(test)]
mod tests;
