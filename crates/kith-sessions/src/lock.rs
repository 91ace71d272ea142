//! The lock of a house: only its holder writes.
//!
//! The kernel gives it back when the holder ends, however it ends, so there is no stale lock to
//! clean up. The text in the file says who holds it and where that one listens, and keeps the desk's
//! generation outside the desk, so that an old copy of the desk shows.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;

use kith_vocab::files::FileSystem;

use crate::disk::{DiskFiles, owner_only};
use crate::own_file::{self, ForeignFile};
use crate::socket::choose_socket_path;

/// Held until it is dropped.
#[derive(Debug)]
pub struct HouseLock {
    file: File,
    path: PathBuf,
    text: LockText,
    previous_generation: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another kith is running in `{}` ({holder})", house.display())]
    Held { house: PathBuf, holder: String },
    /// The file is a link or another user's, so it is neither locked nor written to.
    #[error(transparent)]
    NotOurs(#[from] ForeignFile),
    #[error("`{}` was removed or replaced while kith was running", path.display())]
    Lost { path: PathBuf },
    #[error("cannot take the lock `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
}

const LOCK_NAME: &str = "host.lock";
/// No path of a socket is longer than the rest of this.
const LOCK_BYTES_MAX: u64 = 1024;

const SOCKET_WORD: &[u8] = b" at ";
const GENERATION_WORD: &[u8] = b" generation ";

/// What stands in the file: `pid N since MS at SOCKET generation G`. Of older hosts the end is
/// missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LockText {
    /// `pid N since MS`
    holder: String,
    socket: Option<PathBuf>,
    generation: Option<u64>,
}

impl HouseLock {
    /// Takes the lock of the house whose `.kith` folder this is, and makes the folder if need be.
    pub fn take(kith_dir: &Path, now: u64) -> Result<HouseLock, LockError> {
        let path = kith_dir.join(LOCK_NAME);
        let failed = |source| LockError::Io { path: path.clone(), source };
        DiskFiles.create_dir_all(kith_dir).map_err(|error| refused(&path, error))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = match open_ours(&path, &mut options) {
            Err(LockError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                // Not truncated: another may have made it meanwhile, and says who that is.
                options.create(true).truncate(false);
                owner_only(&mut options);
                open_ours(&path, &mut options)?
            }
            opened => opened?,
        };
        let locked = file.try_lock();
        // The lock itself answers; without its text it only says less.
        let before = read_text(&file).unwrap_or_default();
        match locked {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => {
                let house = kith_dir.parent().unwrap_or(kith_dir).to_owned();
                return Err(LockError::Held { house, holder: before.holder_in_words() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        keep_out_of_git(kith_dir).map_err(failed)?;
        let text = LockText {
            holder: format!("pid {} since {now}", process::id()),
            socket: Some(choose_socket_path(kith_dir).map_err(failed)?),
            generation: before.generation,
        };
        let previous_generation = before.generation;
        let lock = HouseLock { file, path, text, previous_generation };
        lock.write(&lock.text)?;
        Ok(lock)
    }

    /// Refuses if the file is no longer the one at its path: another may hold the house by now.
    pub fn check(&self) -> Result<(), LockError> {
        let failed = |source| LockError::Io { path: self.path.clone(), source };
        let here = self.file.metadata().map_err(failed)?;
        match fs::symlink_metadata(&self.path) {
            Ok(there) if own_file::identity(&here) == own_file::identity(&there) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Err(LockError::Lost { path: self.path.clone() }),
        }
    }

    /// The desk's generation as the host before this one wrote it. `None` if nothing says so: there
    /// was no lock, a power cut left one without its text, or a host ended before it wrote any.
    pub fn previous_generation(&self) -> Option<u64> {
        self.previous_generation
    }

    /// Notes the desk's generation. Nothing is synced: a lock that is behind the desk is no harm,
    /// unless the desk is being rebuilt.
    pub fn set_generation(&mut self, generation: u64) -> Result<(), LockError> {
        let text = LockText { generation: Some(generation), ..self.text.clone() };
        self.write(&text)?;
        self.text = text;
        Ok(())
    }

    /// Syncs the text of the lock.
    pub fn sync(&self) -> Result<(), LockError> {
        let failed = |source| LockError::Io { path: self.path.clone(), source };
        self.file.sync_all().map_err(failed)
    }

    fn write(&self, text: &LockText) -> Result<(), LockError> {
        let bytes = text.to_bytes();
        // Written over the old text, then truncated: a concurrent reader finds a whole line.
        self.file
            .write_all_at(&bytes, 0)
            .and_then(|()| self.file.set_len(bytes.len() as u64))
            .map_err(|source| LockError::Io { path: self.path.clone(), source })
    }
}

/// Describes the holder of the lock for people. Empty if it was never held.
pub fn holder(kith_dir: &Path) -> Result<String, LockError> {
    let path = kith_dir.join(LOCK_NAME);
    match open_ours(&path, OpenOptions::new().read(true)) {
        Ok(file) => {
            let text = read_text(&file);
            Ok(text.map_err(|source| LockError::Io { path, source })?.holder_in_words())
        }
        Err(LockError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(String::new())
        }
        Err(error) => Err(error),
    }
}

/// Whether a host holds the house. Looks by sharing the lock for a moment; a host that starts in
/// that moment looks again.
pub fn is_held(kith_dir: &Path) -> bool {
    let file = open_ours(&kith_dir.join(LOCK_NAME), OpenOptions::new().read(true));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Where the host of a house says that it listens. `None` if nothing says so, or if what says so is
/// not a file of ours: then [`socket_path`](crate::socket::socket_path) tells where it should.
pub fn socket_path_of_holder(kith_dir: &Path) -> Option<PathBuf> {
    let file = open_ours(&kith_dir.join(LOCK_NAME), OpenOptions::new().read(true)).ok()?;
    read_text(&file).ok()?.socket
}

/// Adds a `.gitignore`: a house may lie in a repository, and sessions must not be committed.
fn keep_out_of_git(kith_dir: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owner_only(&mut options);
    match own_file::open(&kith_dir.join(".gitignore"), &mut options) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // `kith doctor` reports the file that is there.
        Err(error) if own_file::foreign_file(&error).is_some() => Ok(()),
        Err(error) => Err(error),
    }
}

fn open_ours(path: &Path, options: &mut OpenOptions) -> Result<File, LockError> {
    own_file::open(path, options).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: io::Error) -> LockError {
    match own_file::foreign_file(&error) {
        Some(foreign) => LockError::NotOurs(foreign.clone()),
        None => LockError::Io { path: path.to_owned(), source: error },
    }
}

fn read_text(file: &File) -> io::Result<LockText> {
    let mut bytes = Vec::new();
    file.take(LOCK_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(LockText::parse(&bytes))
}

impl LockText {
    fn parse(bytes: &[u8]) -> LockText {
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        // From its end: a path may hold any words, but it ends in the name of a socket.
        let (line, generation) = match rfind(line, GENERATION_WORD) {
            Some((rest, digits)) => match str::from_utf8(digits).map(str::parse) {
                Ok(Ok(generation)) => (rest, Some(generation)),
                _ => (line, None),
            },
            None => (line, None),
        };
        let (holder, socket) = match find(line, SOCKET_WORD) {
            Some((holder, path)) => (holder, Some(PathBuf::from(OsStr::from_bytes(path)))),
            None => (line, None),
        };
        let holder = String::from_utf8_lossy(holder).trim().to_owned();
        LockText { holder, socket, generation }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.holder.clone().into_bytes();
        let socket = self.socket.as_ref().map(|path| path.as_os_str().as_bytes());
        // A line break in a path would end the line; then clients work out the path themselves.
        if let Some(socket) = socket.filter(|path| !path.contains(&b'\n')) {
            bytes.extend_from_slice(SOCKET_WORD);
            bytes.extend_from_slice(socket);
        }
        if let Some(generation) = self.generation {
            bytes.extend_from_slice(GENERATION_WORD);
            bytes.extend_from_slice(generation.to_string().as_bytes());
        }
        bytes.push(b'\n');
        bytes
    }

    fn holder_in_words(&self) -> String {
        match self.holder.as_str() {
            "" => "unknown process".to_owned(),
            holder => holder.to_owned(),
        }
    }
}

fn find<'a>(line: &'a [u8], word: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = line.windows(word.len()).position(|it| it == word)?;
    Some((line.get(..at)?, line.get(at + word.len()..)?))
}

fn rfind<'a>(line: &'a [u8], word: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = line.windows(word.len()).rposition(|it| it == word)?;
    Some((line.get(..at)?, line.get(at + word.len()..)?))
}

#[cfg(test)]
mod tests;
