//! Takes a repository that a command has made away from git, by another name for its `.git` or `HEAD`.
//!
//! The command could write every folder on the way, and another command may still: so no link is followed, and nothing is
//! renamed but where a command may write.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::spec::{GuardKind, MountKind, SandboxView};
use crate::random_name::random_name;

/// What the renamed file is called, after its name.
const RENAMED: &str = "-made-in-sandbox";

/// Whether a command with this view could make something at this path.
pub(super) fn could_make(path: &Path, view: &SandboxView) -> bool {
    let around = view.mounts.iter().filter(|it| path.starts_with(&it.path));
    let mount = around.max_by_key(|it| it.path.components().count());
    let is_covered =
        view.guards.iter().any(|it| it.kind != GuardKind::Pinned && path.starts_with(&it.path));
    mount.is_some_and(|it| it.kind == MountKind::Writable) && !is_covered
}

/// Renames what lies at this path, if the command could have made it, and says so where its errors go.
pub(super) fn disarm(path: &Path, view: &SandboxView) {
    disarm_left(path, view, "git would run what its repository says");
}

/// The same for any file, with the reason.
pub(super) fn disarm_left(path: &Path, view: &SandboxView, why: &str) {
    if !could_make(path, view) {
        return;
    }
    let shown = path.display();
    match renamed(path, view) {
        Ok(name) => {
            say(&format!(
                "`{shown}` was made in the sandbox, and {why}; it is called `{name}` now"
            ));
        }
        // There is nothing, or a link leads there, which git does not follow either.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => (),
        Err(error) => warn(path, &error),
    }
}

fn warn(path: &Path, error: &dyn Display) {
    let shown = path.display();
    say(&format!("do not run git here before you have removed `{shown}`: {error}"));
}

/// Makes a folder readable that a command has made and then closed to its owner. True if it is open now.
pub(super) fn make_readable(folder: &Path, view: &SandboxView) -> bool {
    // The folder of whatever lies in it.
    let opened = folder_of(&folder.join("entry"), view);
    could_make(folder, view)
        && opened.is_ok_and(|it| {
            let held = format!("/proc/self/fd/{}", it.as_raw_fd());
            rustix::fs::chmodat(CWD, held, Mode::RWXU, AtFlags::empty()).is_ok()
        })
}

/// Tells the owner, where the command's errors go.
pub(super) fn say(text: &str) {
    // If nobody reads it, it is renamed all the same.
    io::stderr().write_all(format!("kith: {text}\n").as_bytes()).ok();
}

fn renamed(path: &Path, view: &SandboxView) -> Result<String, Errno> {
    let name = path.file_name().ok_or(Errno::NOENT)?;
    let folder = folder_of(path, view)?;
    rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    // Nobody can have taken it.
    let free = random_name(&format!("{}{RENAMED}", name.display()))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let rename = || rustix::fs::renameat(&folder, name, &folder, OsStr::new(&free));
    match rename() {
        Err(Errno::ACCESS) => {
            // The command may have taken away the right to write there.
            let held = format!("/proc/self/fd/{}", folder.as_raw_fd());
            rustix::fs::chmodat(CWD, held, Mode::RWXU, AtFlags::empty())?;
            rename()?;
        }
        done => done?,
    }
    Ok(free)
}

/// The folder of a path, opened from the outermost one that can be written, above which nothing could be
/// replaced.
fn folder_of(path: &Path, view: &SandboxView) -> Result<OwnedFd, Errno> {
    let writable = view.mounts.iter().filter(|it| it.kind == MountKind::Writable);
    let around = writable.map(|it| it.path.as_path()).filter(|it| path.starts_with(it));
    let root = around.min_by_key(|it| it.components().count()).ok_or(Errno::NOENT)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(root, flags, Mode::empty())?;
    let relative = path.strip_prefix(root).ok().and_then(Path::parent).ok_or(Errno::NOENT)?;
    for part in relative.components() {
        let Component::Normal(part) = part else { return Err(Errno::LOOP) };
        folder = rustix::fs::openat(&folder, part, flags, Mode::empty())?;
    }
    Ok(folder)
}
