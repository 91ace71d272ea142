//! Files of one folder, opened so that no link can lead out of it.
//!
//! A slug cannot climb, but a link can: whoever may write into the folder could otherwise make an
//! agent read any file of its owner's as a script, and send it to a model.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// So many crashes may leave a half-written file of one name before writing gives up.
const TEMPORARY_TRIES_MAX: u32 = 100;

/// Whether a file may take the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    Keep,
    Replace,
}

/// Opens a file for reading. A link out of `folder` is an error of the kind [`is_outside`] knows.
pub(crate) fn open(folder: &Path, relative: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    match open_at_once(folder, relative) {
        // Kernels before 5.6 do not know the call, and some containers forbid it.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => (),
        opened => return Ok(File::from(opened?)),
    }
    let real = fs::canonicalize(folder.join(relative))?;
    if !real.starts_with(fs::canonicalize(folder)?) {
        return Err(outside());
    }
    let metadata = fs::metadata(&real)?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::open(real)
}

#[cfg(target_os = "linux")]
fn open_at_once(folder: &Path, relative: &Path) -> Result<std::os::fd::OwnedFd, rustix::io::Errno> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    // A pipe does not make us wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(&folder, relative, flags, Mode::empty(), resolve)
}

pub(crate) fn is_outside(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
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
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
        match builder.create(&path) {
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
        // What is left behind has a name that no script can have, and the first error is the one
        // to tell.
        fs::remove_file(&temporary).ok();
    }
    written?;
    sync_folder(folder)
}

/// Unlike a rename, a link never replaces, not even a file made this moment. Where the disk has no
/// links, a look has to do.
fn move_to_new(temporary: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(target).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(temporary, target),
        Ok(()) => Ok(()),
    }
}

/// Its name has a `~`, which stands in no slug: it is never taken for a script.
fn temporary_file(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    for n in 0..TEMPORARY_TRIES_MAX {
        let path = folder.join(format!(".{name}.{n}~"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Whatever the umask: records of trust count only if nobody else could have written them.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            opened => return opened.map(|file| (path, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
