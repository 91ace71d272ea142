//! Thread files: what a thread looks like to others, one message per line.
//!
//! They are derived from the logs, so nothing here is synced: a file that is missing, torn or old is
//! made again by the caller. This module does not look into the lines.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::digest::{hex, sha256_hex};
use kith_vocab::files::{FileSystem, if_found};
use kith_vocab::ids::ThreadId;

use crate::blob::write_all;
use crate::last_line::{LastLine, last_line};

/// Names are kept this short, so that they fit on disks that take fewer than 255 bytes.
const NAME_BYTES_MAX: usize = 128;
/// Bytes of a longer name that stand before its hash.
const NAME_BEGINNING_BYTES: usize = 48;
/// A longer file is made again instead of being read.
pub const THREAD_FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The agent whose files lie in the folder itself.
const MAIN_AGENT_ID: &str = "main";
const SUFFIX: &str = ".jsonl";

#[derive(Clone)]
pub struct ThreadFiles {
    files: Arc<dyn FileSystem>,
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ThreadFileError {
    #[error("cannot read the thread file `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the thread file `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl ThreadFiles {
    /// `dir` is the `.kith` folder of a house; nothing is made before there is something to write.
    pub fn new(files: Arc<dyn FileSystem>, dir: &Path) -> ThreadFiles {
        ThreadFiles { files, folder: dir.join("threads") }
    }

    pub fn path(&self, agent_id: &str, thread_id: &ThreadId) -> PathBuf {
        let name = format!("{}{SUFFIX}", encoded(thread_id.as_str()));
        match agent_id {
            MAIN_AGENT_ID => self.folder.join(name),
            // A dot is encoded, so no folder can have the name of a file.
            other => self.folder.join(encoded(other)).join(name),
        }
    }

    /// The thread files in the folder of `main`, and in those of the agents named.
    pub fn list<'a>(
        &self,
        agent_ids: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<PathBuf>, ThreadFileError> {
        let mut folders = vec![self.folder.clone()];
        let others = agent_ids.into_iter().filter(|it| *it != MAIN_AGENT_ID);
        folders.extend(others.map(|it| self.folder.join(encoded(it))));
        let mut paths = Vec::new();
        for folder in folders {
            let found = if_found(self.files.list(&folder));
            paths.extend(found.map_err(|source| failed_read(&folder, source))?.unwrap_or_default());
        }
        let is_ours = |path: &PathBuf| path.to_string_lossy().ends_with(SUFFIX);
        paths.retain(is_ours);
        paths.sort();
        Ok(paths)
    }

    pub fn last(&self, path: &Path) -> Result<LastLine, ThreadFileError> {
        last_line(&*self.files, path).map_err(|source| failed_read(path, source))
    }

    /// The whole lines of the file; `None` if there is no file, or one too long to be ours.
    pub fn lines(&self, path: &Path) -> Result<Option<Vec<Vec<u8>>>, ThreadFileError> {
        let mut bytes = Vec::new();
        let failed = |source| failed_read(path, source);
        let source = if_found(self.files.open_read(path)).map_err(failed)?;
        let Some(source) = source else { return Ok(None) };
        source.take(THREAD_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > THREAD_FILE_BYTES_MAX {
            return Ok(None);
        }
        let lines = bytes.split_inclusive(|&byte| byte == b'\n');
        // What follows the last newline was cut short.
        let whole = lines.filter_map(|line| line.strip_suffix(b"\n")).map(<[u8]>::to_vec);
        Ok(Some(whole.collect()))
    }

    /// Appends lines to a file that ends with a whole one.
    pub fn append(&self, path: &Path, lines: &[u8]) -> Result<(), ThreadFileError> {
        let appended = || {
            let len = self.files.len(path)?;
            let mut file = self.files.open_append(path)?;
            write_all(&mut *file, lines).inspect_err(|_| {
                // As it was, if that is possible; otherwise the next one finds it torn.
                file.set_len(len).ok();
            })
        };
        appended().map_err(|source| failed_write(path, source))
    }

    /// Replaces the whole file by these lines, atomically for readers. Without lines the file is
    /// removed.
    pub fn replace(&self, path: &Path, lines: &[u8]) -> Result<(), ThreadFileError> {
        self.put(path, lines).map_err(|source| failed_write(path, source))
    }

    fn put(&self, path: &Path, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() {
            return self.remove(path);
        }
        self.files.create_dir_all(path.parent().unwrap_or(&self.folder))?;
        let mut beside = path.as_os_str().to_owned();
        beside.push(".tmp");
        let beside = PathBuf::from(beside);
        // Left by a crash: there is one writer, so no other process uses it.
        self.remove(&beside)?;
        let mut file = self.files.create_new(&beside)?;
        let written = write_all(&mut *file, lines).and_then(|()| self.files.rename(&beside, path));
        written.inspect_err(|_| {
            // That it failed is what gets reported.
            self.files.remove(&beside).ok();
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if_found(self.files.remove(path)).map(drop)
    }
}

fn failed_read(path: &Path, source: io::Error) -> ThreadFileError {
    ThreadFileError::Read { path: path.to_owned(), source }
}

fn failed_write(path: &Path, source: io::Error) -> ThreadFileError {
    ThreadFileError::Write { path: path.to_owned(), source }
}

/// A file name that no other text has, also where a disk takes upper and lower case for the same.
///
/// Only lower-case letters, digits, `-` and `_` stay; any other byte is `%` and two hex digits in
/// lower case. A name that gets too long is its beginning, `~` and the hash of the whole text, and
/// no short name has a `~`.
fn encoded(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => {
                name.push('%');
                name.push_str(&hex(&[byte]));
            }
        }
    }
    if name.len() > NAME_BYTES_MAX {
        name.truncate(NAME_BEGINNING_BYTES);
        name.push('~');
        name.push_str(&sha256_hex(text.as_bytes()));
    }
    name
}

#[cfg(test)]
mod tests;
