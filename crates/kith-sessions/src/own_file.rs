//! Files of `.kith`, opened only if they are plain files of this user.
//!
//! A folder can come out of an archive with a `.kith` in it, made to mislead: a link there would
//! have us write to any file of the user, and a pipe would be waited for. So nothing in `.kith` is
//! opened through a link, and a file there has one name and belongs to the user.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kith_vocab::files::if_found;
use rustix::fs::OFlags;

const KITH_DIR: &str = ".kith";

const LINK: &str = "is a symbolic link";
const NOT_PLAIN: &str = "is not a regular file";
const SECOND_NAME: &str = "has a second name (a hard link)";
const OTHER_OWNER: &str = "belongs to another user";

/// The file at the path may not be used: it is a link, or another user's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {problem}; check what it is, then remove it", path.display())]
pub struct ForeignFile {
    pub path: PathBuf,
    pub problem: &'static str,
}

/// Opens the file if it is a plain one, ours and with one name. Never waits for a pipe.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    check_folder_of(path)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match options.custom_flags(flags.bits().cast_signed()).open(path) {
        Ok(file) => file,
        Err(error) => {
            // A link, a pipe without a reader or a socket fails in words of its own.
            let foreign = fs::symlink_metadata(path).ok().and_then(|it| problem_of(&it));
            return Err(foreign.map_or(error, |problem| refused(path, problem)));
        }
    };
    match problem_of(&file.metadata()?) {
        Some(problem) => Err(refused(path, problem)),
        None => Ok(file),
    }
}

/// Looks at a file that others open by its name. `None` if there is none.
pub(crate) fn metadata(path: &Path) -> io::Result<Option<Metadata>> {
    check_folder_of(path)?;
    metadata_in_checked(path, our_uid())
}

/// The same in a folder that was checked before: for who looks at thousands of files in it.
pub(crate) fn metadata_in_checked(path: &Path, our_uid: u32) -> io::Result<Option<Metadata>> {
    let Some(metadata) = if_found(fs::symlink_metadata(path))? else { return Ok(None) };
    match problem_for(&metadata, our_uid) {
        Some(problem) => Err(refused(path, problem)),
        None => Ok(Some(metadata)),
    }
}

/// Refuses a folder that is a link or another user's; so must be those above it, up to `.kith`.
/// Missing folders are accepted, and folders outside of any `.kith` are not checked.
pub(crate) fn check_folder(folder: &Path) -> io::Result<()> {
    let Some(depth) = folder.ancestors().position(|it| it.ends_with(KITH_DIR)) else {
        return Ok(());
    };
    for folder in folder.ancestors().take(depth + 1) {
        let Ok(metadata) = fs::symlink_metadata(folder) else { continue };
        if metadata.is_symlink() {
            return Err(refused(folder, LINK));
        }
        if metadata.uid() != our_uid() {
            return Err(refused(folder, OTHER_OWNER));
        }
    }
    Ok(())
}

/// Device and number of a file, which tell it from every other.
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The refused file, if that is why opening failed.
pub(crate) fn foreign_file(error: &io::Error) -> Option<&ForeignFile> {
    error.get_ref()?.downcast_ref()
}

fn refused(path: &Path, problem: &'static str) -> io::Error {
    io::Error::other(ForeignFile { path: path.to_owned(), problem })
}

/// The same for the folder of a file.
pub(crate) fn check_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), check_folder)
}

fn problem_of(metadata: &Metadata) -> Option<&'static str> {
    problem_for(metadata, our_uid())
}

fn problem_for(metadata: &Metadata, our_uid: u32) -> Option<&'static str> {
    if metadata.is_symlink() {
        return Some(LINK);
    }
    // A folder is reported by the caller that wanted a file there.
    if metadata.is_dir() {
        return None;
    }
    if !metadata.is_file() {
        return Some(NOT_PLAIN);
    }
    if metadata.uid() != our_uid {
        return Some(OTHER_OWNER);
    }
    // One that was removed while it was open has none.
    (metadata.nlink() > 1).then_some(SECOND_NAME)
}

pub(crate) fn our_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests;
