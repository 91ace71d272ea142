//! Empty files that stand for protected paths that do not exist.
//!
//! A name that does not exist cannot be covered by a mount, and without a cover a command in a
//! writable folder could create it. So an empty file takes its place while the sandbox runs, and is
//! removed afterwards. Its mode marks it: a file that a killed supervisor left behind is taken for what
//! it is and removed by the next run.
//!
//! Several sandboxes may run in one folder. Each holds a shared lock on the file, and only the last
//! one removes it: a mount is gone when the file beneath it is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kith_home::beneath::{PLACEHOLDER_MODE, is_placeholder};
use rustix::fs::FlockOperation;

/// Attempts to take hold of a file that another supervisor is about to remove.
const TRIES_MAX: u32 = 100;

/// A placeholder, kept while this lives.
pub(super) struct Placeholder {
    path: PathBuf,
    file: File,
}

impl Placeholder {
    /// Takes hold of the placeholder at `path`, and makes it if nothing is there. `None` if something
    /// else is.
    pub(super) fn hold(path: &Path) -> io::Result<Option<Placeholder>> {
        for _ in 0..TRIES_MAX {
            match fs::symlink_metadata(path) {
                Ok(metadata) if !is_placeholder(&metadata) => return Ok(None),
                Ok(_) => (),
                Err(error) if error.kind() == io::ErrorKind::NotFound => match create(path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    created => created?,
                },
                Err(error) => return Err(error),
            }
            let file = match OpenOptions::new().read(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
                Err(rustix::io::Errno::WOULDBLOCK) => continue,
                locked => locked?,
            }
            if is_at(path, &file) {
                return Ok(Some(Placeholder { path: path.to_owned(), file }));
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let alone = rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive);
        if alone.is_ok() && is_at(&self.path, &self.file) {
            // One that stays is recognized by the next run.
            fs::remove_file(&self.path).ok();
        }
    }
}

fn create(path: &Path) -> io::Result<()> {
    // Created with the mark, so that nobody sees it without. No umask takes the mark away.
    OpenOptions::new().write(true).create_new(true).mode(PLACEHOLDER_MODE).open(path).map(drop)
}

/// Whether the path still leads to this file.
fn is_at(path: &Path, file: &File) -> bool {
    match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(there), Ok(held)) => {
            (there.dev(), there.ino()) == (held.dev(), held.ino()) && is_placeholder(&held)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_lasts_as_long_as_the_last_sandbox_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("SOUL.md");
        let first = Placeholder::hold(&path).unwrap().unwrap();
        let second = Placeholder::hold(&path).unwrap().unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_the_owner_is_never_taken_for_a_placeholder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("SOUL.md");
        fs::write(&path, "").unwrap();
        assert!(Placeholder::hold(&path).unwrap().is_none());
        assert!(path.exists());
    }

    #[test]
    fn a_placeholder_left_by_a_killed_supervisor_is_removed_by_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("SOUL.md");
        create(&path).unwrap();
        drop(Placeholder::hold(&path).unwrap().unwrap());
        assert!(!path.exists());
    }
}
