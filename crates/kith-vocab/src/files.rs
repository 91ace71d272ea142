//! The files a session log lives in.
//!
//! All access of the log to the disk goes through here, so that a test can fail, tear or forget
//! any single write.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// `None` where there is no such file.
pub fn if_found<T>(looked_up: io::Result<T>) -> io::Result<Option<T>> {
    match looked_up {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

pub trait FileSystem: Send + Sync {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;

    /// Opens a file for reading from `offset` on; nothing is read where the file is shorter.
    fn open_read_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = self.open_read(path)?;
        io::copy(&mut (&mut file).take(offset), &mut io::sink())?;
        Ok(file)
    }

    /// Opens an existing file for appending.
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Makes a file that must not exist yet, readable by its owner only.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    fn len(&self, path: &Path) -> io::Result<u64>;

    /// Replaces `to` if it exists.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes a folder and those above it, readable by their owner only.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// The files of a folder, in no particular order.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
}

/// A file that is only ever written at its end.
pub trait AppendFile: Send + Sync {
    /// Like `write(2)`: may take fewer bytes than given.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Like `fdatasync(2)`: when it returns `Ok`, what was written is on the disk.
    fn sync_data(&mut self) -> io::Result<()>;

    fn set_len(&mut self, len: u64) -> io::Result<()>;

    /// Whether the file at the path still is this one, and has this length: another program may have
    /// replaced or changed it. No other process can change files in memory.
    fn is_at(&self, _path: &Path, _len: u64) -> io::Result<bool> {
        Ok(true)
    }
}
