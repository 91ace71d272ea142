//! Files beneath a folder, opened and written so that no link can lead out of it.
//!
//! A path names whatever lies there at the moment of the call; a descriptor names one folder for
//! good. So links are resolved and judged first, and what was judged is then opened from a
//! descriptor with no link allowed on the way. Otherwise anyone who may write into the folder could
//! make an agent read any file of its owner and send it to a model.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Temporary names that are tried: each crash may leave one behind.
const TEMPORARY_TRIES_MAX: u32 = 100;

/// Whether a file may take the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    Keep,
    Replace,
}

/// Flags for reading what may be a pipe or a terminal: a pipe does not block, a terminal does not
/// become ours, and a link in the last place is not followed.
pub const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Flags for the folders on the way: they must be searchable, but need not be readable.
#[cfg(target_os = "linux")]
const PASS: OFlags = READ.union(OFlags::DIRECTORY).union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = READ.union(OFlags::DIRECTORY);

/// Opens what lies at `relative` for reading. A link, `..` or `/` on the way is an error, so a folder
/// that is swapped for a link meanwhile cannot lead the reader elsewhere.
pub fn open_beneath(folder: impl AsFd, relative: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    match open_at_once(folder.as_fd(), relative, ResolveFlags::NO_SYMLINKS) {
        // Kernels before 5.6 do not know the call, and some containers forbid it.
        Err(Errno::NOSYS | Errno::PERM) => (),
        opened => return Ok(File::from(opened?)),
    }
    open_part_by_part(folder.as_fd(), relative)
}

#[cfg(target_os = "linux")]
fn open_at_once(
    folder: BorrowedFd<'_>,
    relative: &Path,
    resolve: ResolveFlags,
) -> Result<std::os::fd::OwnedFd, Errno> {
    let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = READ.difference(OFlags::NOFOLLOW);
    rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve)
}

fn open_part_by_part(folder: BorrowedFd<'_>, relative: &Path) -> io::Result<File> {
    let mut parts = relative.components().peekable();
    let flags = if parts.peek().is_some() { PASS } else { READ };
    let mut opened = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(Errno::XDEV.into());
        };
        let flags = if parts.peek().is_some() { PASS } else { READ };
        opened = rustix::fs::openat(opened.as_fd(), name, flags, Mode::empty())?;
    }
    Ok(File::from(opened))
}

/// Opens what a path without links names.
pub(crate) fn open_real(real: &Path) -> io::Result<File> {
    let root = real.ancestors().last().unwrap_or(real);
    let folder = rustix::fs::open(root, PASS, Mode::empty())?;
    open_beneath(folder, real.strip_prefix(root).unwrap_or(real))
}

/// Opens a file for reading. A link out of `folder` is an error of the kind [`is_outside`] knows,
/// whether it leads to something or not; one that stays in the folder is followed.
pub(crate) fn open(folder: &Path, relative: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        let folder = rustix::fs::open(folder, PASS.difference(OFlags::NOFOLLOW), Mode::empty())?;
        match open_at_once(folder.as_fd(), relative, ResolveFlags::empty()) {
            Err(Errno::NOSYS | Errno::PERM) => (),
            opened => return Ok(File::from(opened?)),
        }
    }
    let root = fs::canonicalize(folder)?;
    let real = fs::canonicalize(root.join(relative))?;
    if real.starts_with(root) { open_real(&real) } else { Err(outside()) }
}

pub(crate) fn is_outside(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// Whether the error says that nothing lies at the path.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn outside() -> io::Error {
    io::ErrorKind::CrossesDevices.into()
}

/// Makes the folders of `relative` one by one, none of them through a link out of `folder`.
pub(crate) fn make_folders(folder: &Path, relative: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let root = fs::canonicalize(folder)?;
    let mut path = root.clone();
    for part in relative {
        path.push(part);
        match DirBuilder::new().mode(0o755).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => (),
        }
        if !fs::canonicalize(&path)?.starts_with(&root) {
            return Err(outside());
        }
    }
    Ok(path)
}

/// Writes a file whole or not at all: under another name, synced, then moved to its own.
pub(crate) fn write(folder: &Path, name: &str, text: &str, existing: Existing) -> io::Result<()> {
    let target = folder.join(name);
    let (temporary, mut file) = temporary_file(folder, name)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let written = written.and_then(|()| match existing {
        Existing::Replace => fs::rename(&temporary, &target),
        Existing::Keep => move_to_new(&temporary, &target),
    });
    if written.is_err() || existing == Existing::Keep {
        // A file that stays behind has a name that no script can have; the first error is returned.
        fs::remove_file(&temporary).ok();
    }
    written?;
    File::open(folder)?.sync_all()
}

/// Unlike a rename, a link never replaces, not even a file made this moment. Where the disk has no
/// links, a check before the rename has to do.
fn move_to_new(temporary: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(target).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(temporary, target),
        Ok(()) => Ok(()),
    }
}

/// Its name contains a `~`, which no slug may, so it is never taken for a script.
fn temporary_file(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    for n in 0..TEMPORARY_TRIES_MAX {
        let path = folder.join(format!(".{name}.{n}~"));
        // Whatever the umask: records of trust count only if no other user could have written them.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            opened => return opened.map(|file| (path, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests;
