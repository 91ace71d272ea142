//! A folder held by its descriptor.
//!
//! A path names whatever lies there at the moment of the call; a descriptor names one folder for
//! good. Everything beneath a root is reached from a descriptor and no link is ever followed, so
//! a folder that is swapped for a link meanwhile cannot lead a tool elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kith_home::beneath::{self, READ};
use kith_home::placeholder::is_marked;
use kith_home::protected::{HOME_FILES, HOUSE_SELF};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A NUL this near to the front makes a file binary, as it does for git.
const BINARY_HEAD_BYTES_MAX: u64 = 8 * 1024;

#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderEntry {
    pub(crate) name: OsString,
    pub(crate) kind: EntryKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

#[derive(Debug)]
pub(crate) struct FolderEntries {
    /// Sorted by name, byte by byte.
    pub(crate) entries: Vec<FolderEntry>,
    /// There are more than were asked for.
    pub(crate) is_cut: bool,
}

impl Folder {
    /// Opens a folder by its path, links included: for roots, which the owner chose.
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Takes a descriptor that is known to be a folder's.
    pub(crate) fn from_file(file: File) -> Folder {
        Folder(OwnedFd::from(file))
    }

    /// Opens what lies at `relative` for reading. A link, `..` or `/` on the way is an error.
    pub(crate) fn open_beneath(&self, relative: &Path) -> io::Result<File> {
        beneath::open_beneath(&self.0, relative)
    }

    pub(crate) fn open_folder(&self, name: &OsStr) -> io::Result<Folder> {
        let flags = READ | OFlags::DIRECTORY;
        let folder = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        if is_of_the_kernel(&folder) {
            return Err(Errno::ACCESS.into());
        }
        Ok(Folder(folder))
    }

    /// Opens a regular file of this folder, and tells what is known of it.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<(File, Metadata)> {
        let file = File::from(rustix::fs::openat(&self.0, name, READ, Mode::empty())?);
        let metadata = file.metadata()?;
        if !metadata.is_file() || is_of_the_kernel(&file) {
            return Err(Errno::ACCESS.into());
        }
        Ok((file, metadata))
    }

    pub(crate) fn entries(&self, entries_max: usize) -> io::Result<FolderEntries> {
        let mut entries = Vec::new();
        let mut is_cut = false;
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() == entries_max {
                is_cut = true;
                break;
            }
            let kind = self.kind_of(name, entry.file_type());
            if kind == EntryKind::Folder && self.is_placeholder(name) {
                continue;
            }
            entries.push(FolderEntry { name: name.to_owned(), kind });
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(FolderEntries { entries, is_cut })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The size of a file of this folder, if it can be told.
    pub(crate) fn bytes_of(&self, name: &OsStr) -> Option<u64> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().and_then(|stat| u64::try_from(stat.st_size).ok())
    }

    /// The first bytes of a file of this folder; `None` if it is not a file or cannot be read.
    pub(crate) fn head_of(&self, name: &str, bytes_max: u64) -> Option<Vec<u8>> {
        let (file, _) = self.open_file(OsStr::new(name)).ok()?;
        let mut head = Vec::new();
        file.take(bytes_max).read_to_end(&mut head).ok()?;
        Some(head)
    }

    /// Whether the folder stands for an absent file while a sandbox runs.
    fn is_placeholder(&self, name: &OsStr) -> bool {
        let may_be = HOME_FILES.iter().chain(&HOUSE_SELF).any(|it| name == *it);
        may_be
            && rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| is_marked(stat.st_mode))
    }

    fn kind_of(&self, name: &OsStr, listed: FileType) -> EntryKind {
        // Some file systems do not say in the listing what an entry is.
        let file_type = if listed == FileType::Unknown {
            rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
        } else {
            listed
        };
        match file_type {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        }
    }
}

/// Reads the first bytes of a file; none if they are not text.
pub(crate) fn text_head(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    file.take(BINARY_HEAD_BYTES_MAX).read_to_end(&mut head)?;
    Ok((!head.contains(&0)).then_some(head))
}

// With `/` for a root, as in a container, `/proc/self/environ` would hand out every key.
#[cfg(target_os = "linux")]
pub(crate) fn is_of_the_kernel(opened: impl AsFd) -> bool {
    rustix::fs::fstatfs(opened).is_ok_and(|stat| stat.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_of_the_kernel(_: impl AsFd) -> bool {
    false
}

#[cfg(test)]
mod tests;
