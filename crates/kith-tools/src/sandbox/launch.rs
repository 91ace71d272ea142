//! A supervisor started from the host, and the command it runs.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::early::{EarlySupervisor, NEXT};
use super::message::send;
use super::spec::{CommandEnd, CommandSpec, SPEC_BYTES_MAX};
use super::{EARLY, SUPERVISOR_COMMAND};

/// Bytes of a supervisor's answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long the answer is waited for at once, before it is asked whether the command was stopped.
const ANSWER_ROUND: Duration = Duration::from_secs(1);
/// Rounds that a supervisor may take to answer when its command was stopped. It may list the index of git.
const STOPPED_ROUNDS_MAX: u32 = 30;

/// A supervisor with a command. Dropping it ends both, and everything that was started.
pub struct RunningCommand {
    control: UnixStream,
    is_stopped: Arc<AtomicBool>,
    /// Until it is reaped.
    supervisor: Option<Child>,
    /// The program to start again when this command has ended, for the next one.
    next: Option<PathBuf>,
}

/// Starts a command. Its output goes to `stdout` and `stderr`.
pub fn launch(
    supervisor: &Path,
    spec: &CommandSpec,
    stdout: Stdio,
    stderr: Stdio,
) -> io::Result<RunningCommand> {
    launch_line((fitting(supervisor, spec), None), &line_of(spec)?, stdout, stderr)
}

/// The same for a host in which further commands follow: the next supervisor is started meanwhile, and waits for its
/// own.
pub fn launch_one_of_many(
    supervisor: &Path,
    spec: &CommandSpec,
    stdout: OwnedFd,
    stderr: OwnedFd,
) -> io::Result<RunningCommand> {
    let line = line_of(spec)?;
    let next = Some(supervisor.to_owned());
    let waiting = NEXT.take(supervisor);
    // One that was not told all of it starts nothing.
    let told = waiting.and_then(|it| {
        let is_told = send(&it.control, &line, &[stdout.as_fd(), stderr.as_fd()]).is_ok();
        if is_told { Some(it) } else { it.end().ok().and(None) }
    });
    let running = match told {
        Some(EarlySupervisor { control, process, .. }) => {
            RunningCommand::of(control, process, next)
        }
        None => launch_line(
            (fitting(supervisor, spec), next),
            &line,
            Stdio::from(stdout),
            Stdio::from(stderr),
        )?,
    };
    let supervisor = supervisor.to_owned();
    // Without it the next command only takes longer.
    std::thread::Builder::new().spawn(move || NEXT.fill(&supervisor)).ok();
    Ok(running)
}

fn line_of(spec: &CommandSpec) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(spec)?;
    line.push(b'\n');
    if line.len() > SPEC_BYTES_MAX {
        return Err(io::Error::new(ErrorKind::InvalidInput, "the command is too long"));
    }
    Ok(line)
}

fn launch_line(
    (mut supervisor, next): (Command, Option<PathBuf>),
    line: &[u8],
    stdout: Stdio,
    stderr: Stdio,
) -> io::Result<RunningCommand> {
    let (control, theirs) = UnixStream::pair()?;
    let supervisor = supervisor
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    let mut running = RunningCommand::of(control, supervisor, next);
    // A supervisor that was not told all of it starts nothing.
    running.control.write_all(line)?;
    Ok(running)
}

/// The supervisor for a command that comes at once. Most commands have no network; then it makes the sandbox in the same
/// way as one that has waited.
fn fitting(program: &Path, spec: &CommandSpec) -> Command {
    let mut command = supervisor_command(program);
    if spec.view.as_ref().is_some_and(|it| !it.has_network) {
        command.arg(EARLY);
    }
    command
}

/// The supervisor's program, without its input and output.
pub(super) fn supervisor_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    // Its own group, so that Ctrl-C in a terminal reaches the host alone, which then ends it.
    command.arg(SUPERVISOR_COMMAND).env_clear().current_dir("/").process_group(0);
    command
}

impl RunningCommand {
    fn of(control: UnixStream, supervisor: Child, next: Option<PathBuf>) -> RunningCommand {
        let is_stopped = Arc::default();
        RunningCommand { control, is_stopped, supervisor: Some(supervisor), next }
    }

    /// A second handle to the socket: shutting it down ends the command.
    pub fn stopper(&self) -> io::Result<CommandStopper> {
        let is_stopped = Arc::clone(&self.is_stopped);
        Ok(CommandStopper { control: self.control.try_clone()?, is_stopped })
    }

    /// Waits until the command has ended and everything it started is gone. The supervisor may tidy up
    /// the workspace a moment longer, which another command does not wait for.
    pub fn wait(mut self) -> CommandEnd {
        let end = self.answer(ANSWER_ROUND);
        if let Some(mut supervisor) = self.supervisor.take() {
            let next = self.next.take();
            // Nothing can be done about a failure, and what fails is tried again with the next command.
            std::thread::spawn(move || {
                // The one that was started with this command may have waited too long.
                next.map(|it| NEXT.fill(&it).ok());
                // Reaped, so that no dead process stays in the table.
                supervisor.wait().ok();
            });
        }
        end
    }

    /// The same, and until the workspace is as it was.
    pub fn wait_until_tidy(mut self) -> CommandEnd {
        self.answer(ANSWER_ROUND)
    }

    fn answer(&mut self, round: Duration) -> CommandEnd {
        match self.read_answer(round).map(|it| serde_json::from_slice(&it)) {
            Ok(Ok(end)) => end,
            Ok(Err(_)) => CommandEnd::Unknown("the supervisor of the command died".to_owned()),
            Err(error) => CommandEnd::Unknown(format!("lost the supervisor: {error}")),
        }
    }

    /// A supervisor that cannot end everything is not waited for without end: it may be suspended.
    fn read_answer(&mut self, round: Duration) -> io::Result<Vec<u8>> {
        self.control.set_read_timeout(Some(round))?;
        let (mut answer, mut chunk) = (Vec::new(), [0; 1024]);
        let mut n_rounds = 0;
        while answer.len() <= ANSWER_BYTES_MAX {
            match self.control.read(&mut chunk) {
                Ok(0) => break,
                Ok(n_bytes) => answer.extend_from_slice(&chunk[..n_bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    n_rounds += u32::from(self.is_stopped.load(Ordering::SeqCst));
                    if n_rounds >= STOPPED_ROUNDS_MAX {
                        return Err(io::Error::new(ErrorKind::TimedOut, "it does not answer"));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(answer)
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
pub struct CommandStopper {
    control: UnixStream,
    is_stopped: Arc<AtomicBool>,
}

impl CommandStopper {
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        // If it has ended already, that is what was wanted.
        self.control.shutdown(std::net::Shutdown::Write).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    /// A command with this script in place of its supervisor.
    fn supervised_by(script: &str) -> (RunningCommand, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("supervisor");
        fs::write(&path, format!("#!/bin/sh\nread line\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let spec = CommandSpec {
            argv: vec!["true".to_owned()],
            cwd: folder.path().to_owned(),
            environment: Vec::new(),
            stdin: None,
            view: None,
        };
        (launch(&path, &spec, Stdio::null(), Stdio::null()).unwrap(), folder)
    }

    #[test]
    fn after_a_supervisor_that_died_nobody_knows_whether_the_command_ran() {
        let (running, _folder) = supervised_by("exit 1");
        let end = running.wait();
        assert!(matches!(end, CommandEnd::Unknown(_)), "{end:?}");
    }

    #[test]
    fn a_supervisor_that_does_not_answer_a_stop_is_given_up() {
        let (mut running, _folder) = supervised_by("exec sleep 1000");
        let stopper = running.stopper().unwrap();
        // Whether or not the answer is waited for by then.
        let stopping = std::thread::spawn(move || stopper.stop());
        let end = running.answer(Duration::from_millis(1));
        stopping.join().unwrap();
        running.supervisor.as_mut().unwrap().kill().unwrap();
        let given_up = "lost the supervisor: it does not answer".to_owned();
        assert_eq!(end, CommandEnd::Unknown(given_up));
    }
}
