//! What happened in a house, as lines for people and programs: `.kith/logs/<session>.log` and
//! `.kith/logs/host.log`.
//!
//! These files are no truth: nothing is read back from them, they are never synced, and a line that
//! cannot be written is lost. So they are bounded instead: a file is renamed when it is long, with one
//! before it kept, and the oldest files of sessions go when the folder holds too much. They are opened
//! like every other file of `.kith`: never through a link, never with a second name.

mod tail;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use kith_vocab::files::if_found;
use kith_vocab::ids::SessionId;

use crate::disk::owner_only;
use crate::own_file;

pub use tail::{LogTail, TAIL_BYTES_MAX};

/// A longer file is renamed, and another one begins. The one before is kept beside it.
pub const LOG_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of all logs of sessions together; the oldest files go first.
pub const LOG_FOLDER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Number of files of sessions.
pub const LOG_FILES_MAX: usize = 2_000;
/// Files that are kept open to be appended to.
const OPEN_LOGS_MAX: usize = 16;

/// All files are looked at when a log has grown by such a part of its bound.
const PIECES: u64 = 16;

const FOLDER: &str = "logs";
const HOST: &str = "host";
const SUFFIX: &str = ".log";
const OLDER_SUFFIX: &str = ".log.1";

/// Which log is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogName {
    /// What happened to the process that holds the house.
    Host,
    Session(SessionId),
}

impl LogName {
    /// Where the log stands.
    pub fn path(self, kith_dir: &Path) -> PathBuf {
        kith_dir.join(FOLDER).join(format!("{self}{SUFFIX}"))
    }

    /// Where the part stands that came before it.
    fn older_path(self, kith_dir: &Path) -> PathBuf {
        kith_dir.join(FOLDER).join(format!("{self}{OLDER_SUFFIX}"))
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogName::Host => f.write_str(HOST),
            LogName::Session(id) => id.fmt(f),
        }
    }
}

/// The files in which the log of a session is, and the part before it.
pub(crate) fn session_log_paths(kith_dir: &Path, id: SessionId) -> [PathBuf; 2] {
    let name = LogName::Session(id);
    [name.path(kith_dir), name.older_path(kith_dir)]
}

/// Bounds of the files, lower in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBounds {
    pub file_bytes_max: u64,
    pub folder_bytes_max: u64,
    pub files_max: usize,
}

impl Default for LogBounds {
    fn default() -> LogBounds {
        LogBounds {
            file_bytes_max: LOG_FILE_BYTES_MAX,
            folder_bytes_max: LOG_FOLDER_BYTES_MAX,
            files_max: LOG_FILES_MAX,
        }
    }
}

/// Appends to the logs of a house. One process at a time has one: the holder of the house.
#[derive(Debug)]
pub struct LogWriter {
    kith_dir: PathBuf,
    bounds: LogBounds,
    open: BTreeMap<LogName, AppendedLog>,
    n_used: u64,
}

#[derive(Debug)]
struct AppendedLog {
    file: File,
    n_bytes: u64,
    /// When it was used last.
    used: u64,
}

impl LogWriter {
    pub fn in_folder(kith_dir: &Path) -> LogWriter {
        LogWriter::with_bounds(kith_dir, LogBounds::default())
    }

    pub fn with_bounds(kith_dir: &Path, bounds: LogBounds) -> LogWriter {
        let (kith_dir, open) = (kith_dir.to_owned(), BTreeMap::new());
        LogWriter { kith_dir, bounds, open, n_used: 0 }
    }

    /// Appends whole lines. What fails is lost, and the next attempt opens the file anew.
    pub fn append(&mut self, name: LogName, lines: &[u8]) -> io::Result<()> {
        let written = self.try_append(name, lines);
        if written.is_err() {
            self.open.remove(&name);
        }
        written
    }

    fn try_append(&mut self, name: LogName, lines: &[u8]) -> io::Result<()> {
        let (n_new, bytes_max) = (lines.len() as u64, self.bounds.file_bytes_max);
        let is_full = |log: &mut AppendedLog| log.n_bytes > 0 && log.n_bytes + n_new > bytes_max;
        if self.opened(name)?.is_some_and(is_full) {
            self.rotate(name)?;
        }
        self.n_used += 1;
        let used = self.n_used;
        let Some(log) = self.opened(name)? else { return Ok(()) };
        // One `write`, so that a line is there whole or not at all as long as the disk has room.
        log.file.write_all(lines)?;
        let (before, after) = (log.n_bytes, log.n_bytes + n_new);
        (log.n_bytes, log.used) = (after, used);
        let piece = (bytes_max / PIECES).max(1);
        let has_grown = before / piece != after / piece;
        // Only names are counted for a new file: a command that writes a few lines looks at no others.
        if has_grown || (before == 0 && self.has_many_files()?) {
            self.remove_oldest()?;
        }
        Ok(())
    }

    /// Removes the log of a session.
    pub fn remove(&mut self, id: SessionId) -> io::Result<()> {
        self.open.remove(&LogName::Session(id));
        for path in session_log_paths(&self.kith_dir, id) {
            own_file::check_folder_of(&path)?;
            if_found(fs::remove_file(path))?;
        }
        Ok(())
    }

    fn opened(&mut self, name: LogName) -> io::Result<Option<&mut AppendedLog>> {
        if !self.open.contains_key(&name) {
            let file = self.open_file(name)?;
            let n_bytes = file.metadata()?.len();
            if self.open.len() >= OPEN_LOGS_MAX {
                let oldest =
                    self.open.iter().min_by_key(|(_, log)| log.used).map(|(name, _)| *name);
                oldest.map(|name| self.open.remove(&name));
            }
            self.open.insert(name, AppendedLog { file, n_bytes, used: self.n_used });
        }
        Ok(self.open.get_mut(&name))
    }

    fn open_file(&self, name: LogName) -> io::Result<File> {
        let path = name.path(&self.kith_dir);
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        owner_only(&mut options);
        match own_file::open(&path, &mut options) {
            // Not synced, as nothing in it is.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.kith_dir.join(FOLDER);
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                own_file::open(&path, &mut options)
            }
            opened => opened,
        }
    }

    fn rotate(&mut self, name: LogName) -> io::Result<()> {
        self.open.remove(&name);
        fs::rename(name.path(&self.kith_dir), name.older_path(&self.kith_dir))
    }

    fn has_many_files(&self) -> io::Result<bool> {
        Ok(fs::read_dir(self.kith_dir.join(FOLDER))?.count() > self.bounds.files_max)
    }

    /// Keeps the logs of sessions within their bounds.
    fn remove_oldest(&mut self) -> io::Result<()> {
        let mut logs = session_logs(&self.kith_dir)?;
        logs.sort_unstable_by_key(|log| log.changed);
        let mut n_bytes: u64 = logs.iter().map(|log| log.n_bytes).sum();
        let mut n_files = logs.len();
        for log in logs {
            if n_bytes <= self.bounds.folder_bytes_max && n_files <= self.bounds.files_max {
                break;
            }
            self.open.remove(&LogName::Session(log.id));
            if_found(fs::remove_file(&log.path))?;
            n_bytes -= log.n_bytes;
            n_files -= 1;
        }
        Ok(())
    }
}

/// A file of the folder that is the log of a session, or the part before it.
struct SessionLogFile {
    path: PathBuf,
    id: SessionId,
    n_bytes: u64,
    changed: SystemTime,
}

fn session_logs(kith_dir: &Path) -> io::Result<Vec<SessionLogFile>> {
    let folder = kith_dir.join(FOLDER);
    own_file::check_folder(&folder)?;
    let mut logs = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let id = name.strip_suffix(OLDER_SUFFIX).or_else(|| name.strip_suffix(SUFFIX));
        let Some(id) = id.and_then(|it| SessionId::from_str(it).ok()) else { continue };
        // One that has gone meanwhile takes no room.
        let Ok(metadata) = entry.metadata() else { continue };
        let changed = metadata.modified()?;
        logs.push(SessionLogFile { path: entry.path(), id, n_bytes: metadata.len(), changed });
    }
    Ok(logs)
}

#[cfg(test)]
mod tests;
