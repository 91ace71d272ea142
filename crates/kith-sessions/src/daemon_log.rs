//! What a daemon in the background says, for people: `.kith/logs/daemon.log`.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use kith_vocab::files::FileSystem;

use crate::disk::{DiskFiles, owner_only};
use crate::own_file;

/// A longer file begins anew.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

pub fn daemon_log_path(kith_dir: &Path) -> PathBuf {
    kith_dir.join("logs").join("daemon.log")
}

/// Opens the file to add to it.
pub fn open_daemon_log(kith_dir: &Path) -> io::Result<File> {
    let path = daemon_log_path(kith_dir);
    if let Some(folder) = path.parent() {
        DiskFiles.create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    owner_only(&mut options);
    let file = own_file::open(&path, &mut options)?;
    if file.metadata()?.len() > LOG_BYTES_MAX {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_said_before_stays_until_it_is_too_long() {
        let dir = tempfile::tempdir().unwrap();
        let kith_dir = dir.path().join(".kith");
        open_daemon_log(&kith_dir).unwrap().write_all(b"one\n").unwrap();
        open_daemon_log(&kith_dir).unwrap().write_all(b"two\n").unwrap();
        let path = daemon_log_path(&kith_dir);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        open_daemon_log(&kith_dir).unwrap().set_len(LOG_BYTES_MAX + 1).unwrap();
        open_daemon_log(&kith_dir).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    }
}
