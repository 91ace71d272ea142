//! Files with several names.
//!
//! A second name (a hard link) shows what lies elsewhere without leading there, so a path says
//! nothing about where such a file came from: its text is untrusted. And it must not be a way into
//! `.kith`, whose files are known by their numbers on the disk.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

/// With more entries in `.kith` than this, no file with several names is read.
const PRIVATE_ENTRIES_MAX: usize = 1_000_000;

/// Whether a file has other names than the one it was opened by.
pub(crate) fn has_hard_links(metadata: &Metadata) -> bool {
    metadata.nlink() > 1
}

/// The files of `.kith` folders, looked up when the first file with several names is met.
pub(crate) struct PrivateFiles<'a> {
    folders: &'a [PathBuf],
    /// Device and number of each; `None` if they could not all be looked up.
    found: OnceCell<Option<HashSet<(u64, u64)>>>,
}

impl<'a> PrivateFiles<'a> {
    pub(crate) fn of(folders: &'a [PathBuf]) -> PrivateFiles<'a> {
        PrivateFiles { folders, found: OnceCell::new() }
    }

    /// Whether the file is also one of these, or may be.
    pub(crate) fn hold(&self, metadata: &Metadata) -> bool {
        has_hard_links(metadata) && {
            let found = self.found.get_or_init(|| numbers_beneath(self.folders).ok());
            found.as_ref().is_none_or(|it| it.contains(&(metadata.dev(), metadata.ino())))
        }
    }
}

fn numbers_beneath(folders: &[PathBuf]) -> io::Result<HashSet<(u64, u64)>> {
    let mut numbers = HashSet::new();
    let mut open: Vec<PathBuf> = folders.iter().filter(|it| is_folder(it)).cloned().collect();
    while let Some(folder) = open.pop() {
        let device = fs::symlink_metadata(&folder)?.dev();
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
            numbers.insert((device, entry.ino()));
            if numbers.len() > PRIVATE_ENTRIES_MAX {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
        }
    }
    Ok(numbers)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
}

#[cfg(test)]
mod tests;
