//! The five system calls of the sandbox that no crate of ours offers, and the only `unsafe` code.
//!
//! All take plain numbers and memory that outlives the call, so each is sound on its own. They stand
//! here so that all of it can be read at once.

#![allow(
    unsafe_code,
    reason = "`clone` and `unshare` with namespaces, `mount_setattr`, `close_range` and `SO_PEERPIDFD` have no safe wrapper"
)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::Pid;

/// The process that a clone returned in.
pub(super) enum Cloned {
    Parent(Pid),
    Child,
}

/// Forks this process, the child in the new namespaces that `flags` name.
///
/// Unlike `unshare`, this puts the child itself into the new PID namespace, and leaves the parent
/// where it was.
///
/// The caller has one thread: in a copy of a process with several, a lock may be held for ever by a
/// thread that was not copied.
pub(super) fn clone_process(flags: libc::c_int) -> io::Result<Cloned> {
    // SAFETY: without CLONE_VM the child has its own copy of the memory, and a null stack means the
    // copy of ours, as `fork` does it. No pointer is passed.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    let pid = i32::try_from(pid).map_err(|_| io::ErrorKind::InvalidData)?;
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Pid::from_raw(pid).map_or(Cloned::Child, Cloned::Parent))
}

/// Gives this process mounts of its own: those that are there now.
pub(super) fn own_mounts() -> io::Result<()> {
    // SAFETY: only a number is passed. Which mounts this process sees is no matter of memory.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Adds `MOUNT_ATTR_…` flags to the mount at `path`, and with `AT_RECURSIVE` to all beneath it.
pub(super) fn add_mount_attributes(path: &Path, attributes: u64, at: i32) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let attributes =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    let at = at | libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` and `attributes` live until the call returns, and `size` is that of the
    // structure, which the kernel only reads.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            name.as_ptr(),
            at,
            std::ptr::from_ref(&attributes),
            size,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every descriptor above the standard ones.
///
/// The caller owns none of them: it has just been started, and what it inherited belongs to a program
/// that forgot to keep it to itself.
pub(super) fn close_inherited() -> io::Result<()> {
    let first = libc::c_uint::from(3_u8);
    // SAFETY: only numbers are passed. No value of this process stands for a descriptor yet, so none
    // is closed behind the back of its owner.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The process that made the connection of which this is the other end.
pub(super) fn peer_pidfd(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut pidfd: libc::c_int = -1;
    let mut size = libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes a number of this size into memory that lives until the call returns.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            std::ptr::from_mut(&mut pidfd).cast(),
            &raw mut size,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    if pidfd < 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: the kernel has just opened it for this call, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
}
