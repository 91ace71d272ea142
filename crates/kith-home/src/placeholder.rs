//! What stands for a protected path that does not exist, while a sandbox runs.
//!
//! No mount can cover a name that does not exist, and without a cover a command in a writable folder
//! could create it. So something empty takes its place while the sandbox runs, and is removed
//! afterwards. Mostly it is a folder, because git neither shows nor commits empty folders.
//!
//! Its mode marks it. To the readers of a home it does not exist, and one that a power cut left behind
//! is taken for what it is, and removed by the next sandbox there and by the next start of a host.
//!
//! Several sandboxes may run in one folder. Each holds a shared lock on the placeholder, and only the
//! last one removes it: a mount is gone when what is beneath it is.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

/// The sticky bit and no right to write: nobody gives that to a file or an empty folder of their own.
const FOLDER_MODE: u32 = 0o1555;
const FILE_MODE: u32 = 0o1444;
/// Bytes of a placeholder, at most.
const PLACEHOLDER_BYTES_MAX: u64 = 2;
/// Attempts to take hold of a placeholder that another supervisor is about to remove.
const TRIES_MAX: u32 = 100;
/// Between two attempts: some disks take milliseconds to remove a folder.
const TRY_PAUSE: Duration = Duration::from_millis(2);

/// What a placeholder is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StandIn {
    /// An empty folder. Git does not see it.
    #[default]
    Folder,
    /// For files in `.git`, where git would stumble over a folder.
    EmptyFile,
    /// The `commondir` of a repository that says what is so without it: everything is here.
    OwnCommonDir,
}

/// Whether this is a placeholder.
pub fn is_placeholder(metadata: &Metadata) -> bool {
    let is_small = metadata.is_dir() || metadata.len() <= PLACEHOLDER_BYTES_MAX;
    is_marked(metadata.mode()) && is_small && (metadata.is_dir() || metadata.is_file())
}

/// Whether this mode is that of a placeholder.
pub fn is_marked(mode: u32) -> bool {
    // A umask may take the right to read away, never the mark.
    mode & 0o7222 == 0o1000
}

/// Whether a placeholder lies at the path.
pub fn is_placeholder_at(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| is_placeholder(&it))
}

/// Makes way for the owner: removes the placeholder at the path, if there is one. An error says that a
/// sandbox needs it still.
pub fn make_way(path: &Path) -> io::Result<()> {
    for _ in 0..TRIES_MAX {
        if !is_placeholder_at(path) {
            return Ok(());
        }
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => remove_if_alone(path, &opened?),
        }
        // The supervisor of a command that has ended may be about to remove it.
        std::thread::sleep(TRY_PAUSE);
    }
    let reason = "a command of the agent runs in this folder, and must not be able to make this file; \
                  try again when it has ended";
    Err(io::Error::new(ErrorKind::ResourceBusy, reason))
}

/// Removes the placeholder at the path if a power cut left it there.
pub fn remove_abandoned(path: &Path) {
    if let (true, Ok(file)) = (is_placeholder_at(path), File::open(path)) {
        remove_if_alone(path, &file);
    }
}

/// A placeholder, kept while this lives.
pub struct Placeholder {
    path: PathBuf,
    file: File,
}

impl Placeholder {
    /// Takes hold of the placeholder at `path`, and makes it if nothing is there. `None` if something
    /// else is.
    pub fn hold(path: &Path, stand_in: StandIn) -> io::Result<Option<Placeholder>> {
        for _ in 0..TRIES_MAX {
            match fs::symlink_metadata(path) {
                Ok(metadata) if !is_placeholder(&metadata) => return Ok(None),
                Ok(_) => (),
                Err(error) if error.kind() == ErrorKind::NotFound => match create(path, stand_in) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                    created => created?,
                },
                Err(error) => return Err(error),
            }
            let mut file = match File::open(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened?,
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    std::thread::sleep(TRY_PAUSE);
                    continue;
                }
                locked => locked?,
            }
            if !is_at(path, &file) {
                continue;
            }
            if is_whole(&mut file, stand_in) {
                return Ok(Some(Placeholder { path: path.to_owned(), file }));
            }
            // A power cut may leave a file without its text.
            remove_if_alone(path, &file);
        }
        Err(ErrorKind::ResourceBusy.into())
    }
}

impl Placeholder {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        remove_if_alone(&self.path, &self.file);
    }
}

/// Removes a placeholder that no other process holds. One that stays is known by its mark.
fn remove_if_alone(path: &Path, file: &File) {
    let alone = rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
    if alone.is_err() || !is_at(path, file) {
        return;
    }
    // A folder in which something was made meanwhile is not empty, and stays.
    match file.metadata() {
        Ok(it) if it.is_dir() => fs::remove_dir(path).ok(),
        _ => fs::remove_file(path).ok(),
    };
}

/// Made with the mark, so that nobody sees it without.
fn create(path: &Path, stand_in: StandIn) -> io::Result<()> {
    let new_file =
        |path: &Path| OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path);
    match stand_in {
        StandIn::Folder => DirBuilder::new().mode(FOLDER_MODE).create(path),
        StandIn::EmptyFile => new_file(path).map(drop),
        StandIn::OwnCommonDir => {
            // Under its own name it is never without its text: git reads it at any time.
            let other = path.with_extension(format!("{}~", std::process::id()));
            let mut file = new_file(&other)?;
            let made = file.write_all(b".\n").and_then(|()| fs::hard_link(&other, path));
            fs::remove_file(&other)?;
            made
        }
    }
}

fn is_whole(file: &mut File, stand_in: StandIn) -> bool {
    let mut text = String::new();
    match stand_in {
        StandIn::Folder | StandIn::EmptyFile => true,
        StandIn::OwnCommonDir => file.read_to_string(&mut text).is_ok() && text == ".\n",
    }
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
mod tests;
