//! A supervisor that is started before there is a command for it, when another command has begun or ended.
//!
//! To start this program, and to make the namespaces of a sandbox, takes longer than what follows. So one supervisor at
//! most waits for the next command of this host, and not for long. It holds nothing of the command before.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};

use super::EARLY;
use super::launch::supervisor_command;

/// How long a supervisor waits for a command.
pub(super) const EARLY_SECS_MAX: i64 = 60;

/// The place for the supervisor of a host's next command.
pub(super) static NEXT: EarlySlot = EarlySlot(Mutex::new(None));

pub(super) struct EarlySlot(Mutex<Option<EarlySupervisor>>);

/// A supervisor that waits.
pub(super) struct EarlySupervisor {
    program: PathBuf,
    pub(super) control: UnixStream,
    pub(super) process: Child,
}

impl EarlySlot {
    /// Starts one, unless one waits already.
    pub(super) fn fill(&self, program: &Path) -> io::Result<()> {
        if self.is_filled() {
            return Ok(());
        }
        let started = EarlySupervisor::start(program)?;
        // Of two that were started at once, one is enough.
        let unneeded = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(started);
        unneeded.map_or(Ok(()), EarlySupervisor::end)
    }

    /// Takes the one that waits, if it is of this program and lives.
    pub(super) fn take(&self, program: &Path) -> Option<EarlySupervisor> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        if waiting.program == program && waiting.lives() {
            return Some(waiting);
        }
        // It has ended, or ends with its socket.
        waiting.end().ok();
        None
    }

    /// Forgets one that has waited too long.
    fn is_filled(&self) -> bool {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.as_mut().is_some_and(EarlySupervisor::lives) {
            return true;
        }
        *waiting = None;
        false
    }
}

impl EarlySupervisor {
    fn start(program: &Path) -> io::Result<EarlySupervisor> {
        let (control, theirs) = UnixStream::pair()?;
        let mut command = supervisor_command(program);
        command.arg(EARLY).stdin(Stdio::from(OwnedFd::from(theirs)));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(EarlySupervisor { program: program.to_owned(), control, process })
    }

    fn lives(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Ends it, which is at once, because there is nothing that it has to end.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.control.shutdown(std::net::Shutdown::Both)?;
        self.process.wait().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    fn program(script: &str) -> (PathBuf, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("supervisor");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        (path, folder)
    }

    #[test]
    fn one_supervisor_waits_for_a_command_of_its_own_program() {
        let slot = EarlySlot(Mutex::new(None));
        let (waits, _folder) = program("read line");
        slot.fill(&waits).unwrap();
        let first = slot.0.lock().unwrap().as_ref().unwrap().process.id();
        slot.fill(&waits).unwrap();
        let taken = slot.take(&waits).unwrap();
        assert_eq!(taken.process.id(), first);
        assert!(slot.take(&waits).is_none());
        taken.end().unwrap();
        slot.fill(&waits).unwrap();
        assert!(slot.take(Path::new("/other")).is_none());
        assert!(slot.0.lock().unwrap().is_none());
    }

    #[test]
    fn one_that_has_ended_is_not_taken() {
        let slot = EarlySlot(Mutex::new(None));
        let (ends, _folder) = program("exit 0");
        slot.fill(&ends).unwrap();
        slot.0.lock().unwrap().as_mut().unwrap().process.wait().unwrap();
        assert!(slot.take(&ends).is_none());
    }
}
