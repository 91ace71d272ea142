//! Guards that are lost while a command runs.
//!
//! A guard is a mount on a protected path. When somebody outside replaces or removes what is there, as
//! git and editors do, the kernel takes the mount away, and when they rename it, the mount goes along:
//! the path is open to the command from then on. The command itself can do neither, so either means
//! that everything in the sandbox must end at once.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::inside::SandboxFault;
use super::spec::{PathGuard, SandboxView};

/// What the kernel says of the mounts of this process, and that they have changed.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Hears when a guarded path is renamed.
pub(super) struct MoveWatch(Option<OwnedFd>);

impl MoveWatch {
    /// Before the guards are there: they may cover what is to be watched.
    pub(super) fn of(guards: &[PathGuard]) -> MoveWatch {
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        // Where the user has too many of them, a rename is seen when the command has ended.
        let watch = inotify::init(flags).ok();
        for guard in guards.iter().filter(|it| it.is_writable_place) {
            if let Some(watch) = &watch {
                let flags = WatchFlags::MOVE_SELF | WatchFlags::DONT_FOLLOW;
                inotify::add_watch(watch, &guard.path, flags).ok();
            }
        }
        MoveWatch(watch)
    }
}

/// The guards of a sandbox, seen from its first process.
pub(super) struct GuardWatch {
    paths: Vec<PathBuf>,
    mounts: File,
    moves: MoveWatch,
}

impl GuardWatch {
    /// An error means that a guard was lost already.
    pub(super) fn new(view: &SandboxView, moves: MoveWatch) -> Result<GuardWatch, SandboxFault> {
        // From here on the kernel tells of changes; what was lost before is seen below.
        let mounts = File::open(MOUNTS)
            .map_err(|error| SandboxFault(format!("cannot watch the mounts: {error}")))?;
        let guards = view.guards.iter().filter(|it| it.is_writable_place || it.path.exists());
        let paths = guards.map(|it| it.path.clone()).collect();
        let watch = GuardWatch { paths, mounts, moves };
        match watch.lost() {
            Some(path) => {
                let path = path.display();
                Err(SandboxFault(format!("`{path}` was replaced meanwhile; try again")))
            }
            None => Ok(watch),
        }
    }

    /// Ends every other process of the sandbox when a guard is lost. Never returns before.
    pub(super) fn end_all_when_lost(&self) {
        let mut polled = vec![PollFd::new(&self.mounts, PollFlags::PRI)];
        polled.extend(self.moves.0.as_ref().map(|it| PollFd::new(it, PollFlags::IN)));
        while poll(&mut polled, None) == Err(Errno::INTR) {}
        kill_all_others();
    }

    /// Why the command must not count as ended by itself: a sentence.
    pub(super) fn reason(&self) -> Option<String> {
        let path = self.lost()?.display();
        Some(format!(
            "a protected file was replaced while the command ran: `{path}`; the command was ended. Look \
             at that file: the command may have changed it"
        ))
    }

    /// The first path that is not covered any more.
    fn lost(&self) -> Option<&Path> {
        self.paths.iter().map(PathBuf::as_path).find(|it| !is_covered(it))
    }
}

/// Kills every other process of this PID namespace. None of them can start another one meanwhile.
pub(super) fn kill_all_others() {
    // To the first process of a namespace that means all others in it; to any other one it would
    // mean all of the user's.
    if rustix::process::getpid().is_init() {
        // If there is none left, that is what was wanted.
        rustix::process::kill_process_group(Pid::INIT, Signal::KILL).ok();
    }
}

fn is_covered(path: &Path) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let found = rustix::fs::statx(CWD, path, flags, StatxFlags::empty());
    found.is_ok_and(|it| it.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
