//! Whether the process at the other end of a socket runs outside of every sandbox.
//!
//! A sandbox keeps its user, so the user's id does not tell; but it has a user namespace of its own. The
//! process is held while its namespace is looked up: another one could get its id meanwhile.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::raw::peer_pidfd;

/// Whether the peer of a connected socket shares this process's user namespace. A peer that cannot be seen from here,
/// or that has ended, counts as one that does not.
pub(super) fn shares_user_namespace(socket: impl AsFd) -> bool {
    // A kernel without user namespaces has no sandbox either.
    let Ok(own) = fs::read_link("/proc/self/ns/user") else { return true };
    let Ok(credentials) = rustix::net::sockopt::socket_peercred(&socket) else { return false };
    let process = match peer_pidfd(socket.as_fd()) {
        // Kernels before 6.5 have only the id.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOPROTOOPT) => {
            pidfd_open(credentials.pid, PidfdFlags::empty()).map_err(Into::into)
        }
        held => held,
    };
    let Ok(process) = process else { return false };
    // The process must be alive after the look: then the look was at it.
    is_in(&own, credentials.pid) && is_alive(&process)
}

fn is_in(own: &Path, pid: Pid) -> bool {
    let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    match fs::read_link(folder.join("ns/user")) {
        Ok(link) => link == own,
        // The kernel does not show it of a process with another group or with further rights. What ids a
        // namespace has is told of all; that of a sandbox has one.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let ids_of = |folder: &Path| fs::read_to_string(folder.join("uid_map")).ok();
            let ids = ids_of(&folder);
            ids.as_deref().is_some_and(has_many_ids) && ids == ids_of("/proc/self".as_ref())
        }
        Err(_) => false,
    }
}

/// Whether a map of ids, as the kernel prints it, has more than one.
fn has_many_ids(map: &str) -> bool {
    let counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    counts.sum::<u64>() > 1
}

fn is_alive(process: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)) == Ok(0)
}

#[cfg(test)]
mod tests;
