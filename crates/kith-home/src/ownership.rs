//! The owner, permissions and identity of a file.
//!
//! Text in an instruction file speaks to the model with the owner's voice. So a file that another
//! user owns, or could change, is not taken for the owner's.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::Problem;

/// The permission bit that lets every user write.
const OTHERS_WRITE: u32 = 0o002;
const ROOT: u32 = 0;

/// The resolution of file times, coarser than that of any file system in use.
const TICK_SECS: i64 = 2;

/// Device and inode number. Two paths with equal keys are one file: by link, or by letters on a disk
/// that ignores case.
pub(crate) fn file_key(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Metadata by which a file or folder is seen to be unchanged without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStamp {
    Absent,
    /// A link that leads nowhere, or a place that may not be looked at.
    Unreadable,
    Present(FileStat),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    bytes: u64,
    /// Seconds since 1970 and nanoseconds, like `changed`.
    modified: (i64, i64),
    changed: (i64, i64),
    node: (u64, u64, u32, u32),
    is_folder: bool,
}

impl FileStamp {
    pub fn of(path: &Path) -> FileStamp {
        match fs::metadata(path) {
            Ok(metadata) => FileStamp::Present(FileStat::of(&metadata)),
            Err(_) if fs::symlink_metadata(path).is_ok() => FileStamp::Unreadable,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => FileStamp::Unreadable,
            Err(_) => FileStamp::Absent,
        }
    }

    pub fn is_folder(&self) -> bool {
        matches!(self, FileStamp::Present(FileStat { is_folder: true, .. }))
    }

    /// Whether it was taken long enough after the file's last change that another change could not
    /// carry the same time. Disks count time in ticks, and a file can change twice within one.
    pub fn is_settled(&self, taken_ms: u64) -> bool {
        match self {
            FileStamp::Absent => true,
            FileStamp::Unreadable => false,
            FileStamp::Present(stat) => {
                let changed_secs = stat.modified.0.max(stat.changed.0);
                i64::try_from(taken_ms / 1000)
                    .is_ok_and(|taken| changed_secs.saturating_add(TICK_SECS) < taken)
            }
        }
    }
}

impl FileStat {
    fn of(metadata: &Metadata) -> FileStat {
        FileStat {
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            node: (metadata.dev(), metadata.ino(), metadata.mode(), metadata.uid()),
            is_folder: metadata.is_dir(),
        }
    }
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
