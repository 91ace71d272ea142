//! The lock of a house: whoever holds it writes.
//!
//! The kernel gives it back when the holder ends, however it ends, so there is no stale lock to
//! clean up. The text in the file is for people who want to know who it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;

use kith_vocab::files::FileSystem;

use crate::disk::{DiskFiles, owner_only};
use crate::socket::socket_path;

/// Held until it is dropped.
#[derive(Debug)]
pub struct HouseLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another kith is at work in `{}` ({holder})", house.display())]
    Held { house: PathBuf, holder: String },
    #[error("cannot take the lock `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
}

const HOLDER_BYTES_MAX: u64 = 1024;

impl HouseLock {
    /// Takes the lock of the house whose `.kith` folder this is, and makes the folder if need be.
    pub fn take(kith_dir: &Path, now: u64) -> Result<HouseLock, LockError> {
        let path = kith_dir.join("host.lock");
        let failed = |source| LockError::Io { path: path.clone(), source };
        DiskFiles.create_dir_all(kith_dir).map_err(failed)?;
        let mut options = OpenOptions::new();
        // Not truncated on opening: it may be another's, and says who that is.
        options.read(true).write(true).create(true).truncate(false);
        owner_only(&mut options);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => {
                let house = kith_dir.parent().unwrap_or(kith_dir).to_owned();
                return Err(LockError::Held { house, holder: holder(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let socket = socket_path(kith_dir);
        writeln!(file, "pid {} since {now} at {}", process::id(), socket.display())
            .map_err(failed)?;
        Ok(HouseLock { _file: file })
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // The text is a courtesy; the lock itself has already answered.
    match file.take(HOLDER_BYTES_MAX).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => {
            // Where it listens is for those who look into the file.
            text.trim().split(" at ").next().unwrap_or_default().to_owned()
        }
        _ => "it does not say who it is".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_house_has_one_holder_at_a_time() {
        let house = tempfile::tempdir().unwrap();
        let kith_dir = house.path().join(".kith");
        let first = HouseLock::take(&kith_dir, 7).unwrap();
        let error = HouseLock::take(&kith_dir, 8).unwrap_err();
        let pid = process::id();
        let socket = socket_path(&kith_dir).display().to_string();
        let holder = format!("(pid {pid} since 7)");
        assert!(error.to_string().ends_with(&holder), "{error}");
        drop(first);
        HouseLock::take(&kith_dir, 9).unwrap();
        let text = std::fs::read_to_string(kith_dir.join("host.lock")).unwrap();
        assert_eq!(text, format!("pid {pid} since 9 at {socket}\n"));
    }
}
