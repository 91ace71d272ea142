//! A supervisor started from the host, and the command it runs.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::SUPERVISOR_COMMAND;
use super::spec::{CommandEnd, CommandSpec, SPEC_BYTES_MAX};

/// Bytes of a supervisor's answer.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// Time that a supervisor may take to answer when its command was stopped. It may list the index of git.
const STOPPED_ANSWER_MAX: Duration = Duration::from_secs(30);

/// A supervisor with a command. Dropping it ends both, and everything that was started.
pub struct RunningCommand {
    control: UnixStream,
    /// Until it is reaped.
    supervisor: Option<Child>,
}

/// Starts a command. Its output goes to `stdout` and `stderr`.
pub fn launch(
    supervisor: &Path,
    spec: &CommandSpec,
    stdout: Stdio,
    stderr: Stdio,
) -> io::Result<RunningCommand> {
    let mut line = serde_json::to_vec(spec)?;
    line.push(b'\n');
    if line.len() > SPEC_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is too long"));
    }
    let (control, theirs) = UnixStream::pair()?;
    let supervisor = Command::new(supervisor)
        .arg(SUPERVISOR_COMMAND)
        .env_clear()
        .current_dir("/")
        // Its own group, so that Ctrl-C in a terminal reaches the host alone, which then ends it.
        .process_group(0)
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    let mut running = RunningCommand { control, supervisor: Some(supervisor) };
    // A supervisor that was not told all of it starts nothing.
    running.control.write_all(&line)?;
    Ok(running)
}

impl RunningCommand {
    /// A second handle to the socket: shutting it down ends the command.
    pub fn stopper(&self) -> io::Result<CommandStopper> {
        Ok(CommandStopper(self.control.try_clone()?))
    }

    /// Waits until the command has ended and everything it started is gone. The supervisor may tidy up
    /// the workspace a moment longer, which another command does not wait for.
    pub fn wait(mut self) -> CommandEnd {
        let end = self.answer();
        if let Some(mut supervisor) = self.supervisor.take() {
            // Reaped, so that no dead process stays in the table. Nothing can be done about a failure.
            std::thread::spawn(move || supervisor.wait().ok());
        }
        end
    }

    /// The same, and until the workspace is as it was.
    pub fn wait_until_tidy(mut self) -> CommandEnd {
        self.answer()
    }

    fn answer(&mut self) -> CommandEnd {
        let mut answer = Vec::new();
        let read = Read::by_ref(&mut self.control).take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
        match (read, serde_json::from_slice(&answer)) {
            (Ok(_), Ok(end)) => end,
            (Err(error), _) => CommandEnd::Unknown(format!("lost the supervisor: {error}")),
            (_, Err(_)) => CommandEnd::Unknown("the supervisor of the command died".to_owned()),
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.control.shutdown(std::net::Shutdown::Both).ok();
        if let Some(supervisor) = &mut self.supervisor {
            // It has answered, or kills and leaves at once.
            supervisor.wait().ok();
        }
    }
}

/// Ends a command from another thread.
pub struct CommandStopper(UnixStream);

impl CommandStopper {
    pub fn stop(&self) {
        // A supervisor that cannot end everything must not be waited for without end.
        self.0.set_read_timeout(Some(STOPPED_ANSWER_MAX)).ok();
        // If it has ended already, that is what was wanted.
        self.0.shutdown(std::net::Shutdown::Write).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn after_a_supervisor_that_died_nobody_knows_whether_the_command_ran() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("supervisor");
        fs::write(&path, "#!/bin/sh\nread line\nexit 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let spec = CommandSpec {
            argv: vec!["true".to_owned()],
            cwd: folder.path().to_owned(),
            environment: Vec::new(),
            stdin: None,
            view: None,
        };
        let running = launch(&path, &spec, Stdio::null(), Stdio::null()).unwrap();
        let end = running.wait();
        assert!(matches!(end, CommandEnd::Unknown(_)), "{end:?}");
    }
}
