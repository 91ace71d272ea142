//! The supervisor: the process that makes a sandbox, waits for the command in it, and cleans up.
//!
//! It is this program, started again as `kith __sandbox`: only a process with one thread may be
//! copied into new namespaces. Its standard input is a socket. It reads the command from there,
//! answers how that ended, and kills everything when the other side goes away, so a host that is
//! killed leaves nothing running.
//!
//! A command that runs outside of a sandbox has a supervisor too. There is no namespace that ends with
//! it, so the supervisor adopts what the command leaves behind and kills that.
//!
//! A supervisor may be started before there is a command. It makes ready what it can meanwhile.

mod waiting;

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use kith_home::placeholder::Placeholder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};

use self::waiting::WaitingFirst;
use super::gitlinks::Repositories;
use super::inside::{self, SandboxFault};
use super::lost_guards::{GuardWatch, kill_all_others};
use super::message::{MessageReceived, receive};
use super::raw::{Cloned, clone_process, close_inherited};
use super::spec::{CommandEnd, CommandSpec, SandboxView};
use super::{EARLY, early};

/// Rounds of killing what a command outside of a sandbox has left behind. Each reaches the children of
/// those that the one before has killed.
const KILL_ROUNDS_MAX: usize = 4096;
/// Bytes of a reason why a command did not start.
const TROUBLE_BYTES_MAX: u64 = 4096;

/// Has no input, and takes any output.
const NOWHERE: &str = "/dev/null";

const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// Runs the supervisor, whose standard input is the socket of a host.
pub(super) fn run_supervisor() -> ExitCode {
    let is_early = std::env::args_os().nth(2).is_some_and(|it| it == EARLY);
    // Without an owner there is nobody to report to.
    serve(is_early).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn serve(is_early: bool) -> io::Result<()> {
    close_inherited()?;
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let mut control = UnixStream::from(control);
    let mut waiting = None;
    if is_early {
        waiting = WaitingFirst::start();
        wait_for_command(&control, early::EARLY_SECS_MAX)?;
    }
    let mut left = TidyWork::default();
    // Until it is cloned, nothing has run.
    let end = answer(&control, waiting, &mut left)
        .unwrap_or_else(|error| CommandEnd::NotStarted(error.to_string()));
    let mut answer = serde_json::to_vec(&end)?;
    answer.push(b'\n');
    control.write_all(&answer)?;
    control.shutdown(Shutdown::Both)?;
    left.finish()
}

/// Waits until the host sends something or has gone away, and not without end. From then on it can send no more, and
/// knows that; what it has sent in the last moment is still read.
fn wait_for_command(control: &UnixStream, secs_max: i64) -> io::Result<()> {
    let time = Timespec { tv_sec: secs_max, tv_nsec: 0 };
    let mut polled = [PollFd::new(control, PollFlags::IN)];
    while poll(&mut polled, Some(&time)) == Err(rustix::io::Errno::INTR) {}
    if polled[0].revents().is_empty() {
        control.shutdown(Shutdown::Read)?;
    }
    Ok(())
}

fn answer(
    control: &UnixStream,
    waiting: Option<WaitingFirst>,
    left: &mut TidyWork,
) -> io::Result<CommandEnd> {
    let MessageReceived { line, files } = receive(control)?;
    take_files(files)?;
    let spec: CommandSpec = serde_json::from_slice(&line).map_err(|error| {
        io::Error::other(format!("the supervisor cannot read its command: {error}"))
    })?;
    supervise((&spec, &line), waiting, control, left)
}

/// Takes files that came along for its own: as outputs, or as input and outputs.
fn take_files(files: Vec<OwnedFd>) -> io::Result<()> {
    let mut files = files.into_iter();
    if files.len() == 3 {
        files.next().map_or(Ok(()), rustix::stdio::dup2_stdin)?;
    }
    files.next().map_or(Ok(()), rustix::stdio::dup2_stdout)?;
    Ok(files.next().map_or(Ok(()), rustix::stdio::dup2_stderr)?)
}

/// What is done after the answer, because nobody needs to wait for it.
#[derive(Default)]
struct TidyWork {
    /// The first process of a sandbox in which nothing else runs any more. The kernel takes long to end
    /// it: it takes the namespaces down, and waits for all processors meanwhile.
    first: Option<Pid>,
    /// Some disks take long to remove a folder, and the next command may use it again.
    held: Vec<Placeholder>,
}

impl TidyWork {
    fn finish(self) -> io::Result<()> {
        // Whoever reads what the command prints waits until nobody can print any more.
        silence_output()?;
        if let Some(first) = self.first {
            rustix::process::waitpid(Some(first), WaitOptions::empty())?;
        }
        // Not before: a mount is gone when what is beneath it is.
        drop(self.held);
        Ok(())
    }
}

/// Lets go of what this process would print to.
fn silence_output() -> io::Result<()> {
    let nowhere = rustix::fs::open(NOWHERE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(rustix::stdio::dup2_stderr(&nowhere)?)
}

fn supervise(
    (spec, line): (&CommandSpec, &[u8]),
    waiting: Option<WaitingFirst>,
    control: &UnixStream,
    left: &mut TidyWork,
) -> io::Result<CommandEnd> {
    rustix::stdio::dup2_stdin(input(spec)?)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    if let Some(view) = &spec.view {
        hold_placeholders(view, &mut left.held)?;
    }
    let repositories = spec.view.as_ref().map(Repositories::of);
    let first = match waiting.map(|it| it.told(spec, line)) {
        Some(Ok(first)) => first,
        None => start_first(spec)?,
        Some(Err(unneeded)) => {
            let first = start_first(spec)?;
            unneeded.reap();
            first
        }
    };
    let end = run(first, control, left);
    // Where the first process of a sandbox is only about to end, nothing else is there.
    let cleaned = if left.first.is_none() { kill_what_is_left() } else { Ok(()) };
    if let (Some(repositories), Some(view)) = (repositories, &spec.view) {
        // Where a command ended by itself, no placeholder was lost, and so nothing was made in one.
        let held = if matches!(end, CommandEnd::Exited(_)) { &left.held[..] } else { &[] };
        repositories.disarm_new(view, held);
    }
    // With the first process of a sandbox the kernel has ended all others.
    Ok(match cleaned {
        Err(error) if spec.view.is_none() => {
            CommandEnd::Unknown(format!("cannot end what the command has started: {error}"))
        }
        _ => end,
    })
}

/// The file that the command reads from. A pipe that nobody writes to is not waited for.
fn input(spec: &CommandSpec) -> io::Result<File> {
    let path = spec.stdin.as_deref().unwrap_or(Path::new(NOWHERE));
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
    Ok(File::from(file))
}

/// While a process of the sandbox lives, its protected paths must stay covered.
fn hold_placeholders(view: &SandboxView, held: &mut Vec<Placeholder>) -> io::Result<()> {
    for guard in view.guards.iter().filter(|it| it.is_writable_place) {
        let path = &guard.path;
        match Placeholder::hold(path, guard.stand_in) {
            Ok(placeholder) => held.extend(placeholder),
            Err(error) => {
                let message = format!("cannot protect `{}`: {error}", path.display());
                return Err(io::Error::new(error.kind(), message));
            }
        }
    }
    Ok(())
}

/// Pipes between the supervisor and the processes it makes.
struct SupervisorPipes {
    /// Closes when the supervisor dies.
    alive: (PipeReader, PipeWriter),
    /// Why the command did not start; closes when it has.
    trouble: (PipeReader, PipeWriter),
    /// How it ended.
    status: (PipeReader, PipeWriter),
}

impl SupervisorPipes {
    fn new() -> io::Result<SupervisorPipes> {
        Ok(SupervisorPipes { alive: io::pipe()?, trouble: io::pipe()?, status: io::pipe()? })
    }

    /// The ends that the first process keeps.
    fn of_first(self) -> FirstPipes {
        FirstPipes { alive: self.alive.0, trouble: self.trouble.1, status: self.status.1 }
    }
}

struct FirstPipes {
    alive: PipeReader,
    trouble: PipeWriter,
    status: PipeWriter,
}

/// Who the supervisor is, outside of the sandbox.
struct OwnIds {
    uid: u32,
    gid: u32,
}

impl OwnIds {
    fn now() -> OwnIds {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        OwnIds { uid: uid.as_raw(), gid: gid.as_raw() }
    }

    fn map(&self) -> Result<(), SandboxFault> {
        inside::map_identity(self.uid, self.gid)
    }
}

/// An error means that nothing has run.
fn start_first(spec: &CommandSpec) -> io::Result<(Pid, SupervisorPipes)> {
    let pipes = SupervisorPipes::new()?;
    let flags = match &spec.view {
        Some(view) if view.has_network => NAMESPACES,
        Some(_) => NAMESPACES | libc::CLONE_NEWNET,
        None => 0,
    };
    let ids = OwnIds::now();
    match clone_process(flags) {
        Ok(Cloned::Child) => be_first(spec, pipes.of_first(), &ids),
        Ok(Cloned::Parent(pid)) => Ok((pid, pipes)),
        Err(error) => Err(io::Error::other(format!("this system allows no namespaces: {error}"))),
    }
}

fn run(
    (pid, pipes): (Pid, SupervisorPipes),
    control: &UnixStream,
    left: &mut TidyWork,
) -> CommandEnd {
    let followed = follow(pid, pipes, control, left);
    followed.unwrap_or_else(|error| {
        // It must not go on when nobody follows it.
        rustix::process::kill_process(pid, Signal::KILL).ok();
        CommandEnd::Unknown(format!("lost track of the command: {error}"))
    })
}

/// Follows the command to its end, and the first process too unless that said that it is alone.
fn follow(
    pid: Pid,
    pipes: SupervisorPipes,
    control: &UnixStream,
    left: &mut TidyWork,
) -> io::Result<CommandEnd> {
    let SupervisorPipes { alive, trouble, status } = pipes;
    // Kept open: the first process ends when it closes.
    let _alive = alive.1;
    drop((alive.0, trouble.1, status.1));
    if is_stopped_first(&status.0, control)? {
        rustix::process::kill_process(pid, Signal::KILL)?;
        rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
        return Ok(CommandEnd::Stopped);
    }
    // Both texts fit into the buffer of a pipe, so nobody has waited for a reader.
    let mut word = String::new();
    BufReader::new(status.0.take(TROUBLE_BYTES_MAX)).read_line(&mut word)?;
    let word: Option<FirstWord> = serde_json::from_str(&word).ok();
    if word.as_ref().is_some_and(|it| it.is_alone) {
        left.first = Some(pid);
    } else {
        rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
    }
    // Of those who held the other end, the command has ended and the first process has let go of it.
    let mut reason = String::new();
    trouble.0.take(TROUBLE_BYTES_MAX).read_to_string(&mut reason)?;
    if !reason.is_empty() {
        return Ok(CommandEnd::NotStarted(reason));
    }
    // Without a word the first process was killed, by the system for want of memory.
    let killed = CommandEnd::Killed(Signal::KILL.as_raw());
    Ok(word.map_or(killed, |it| it.end))
}

/// What the first process says when the command has ended.
#[derive(Serialize, Deserialize)]
struct FirstWord {
    end: CommandEnd,
    /// Nothing that the command has started is left.
    is_alone: bool,
}

/// Waits until the first process has said something or has ended, or until the host goes away or asks
/// for the end, also while the sandbox is being made. True if the host was first.
fn is_stopped_first(status: &PipeReader, control: &UnixStream) -> io::Result<bool> {
    loop {
        let mut polled = [PollFd::new(status, PollFlags::IN), PollFd::new(control, PollFlags::IN)];
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => (),
            ready => {
                ready?;
                return Ok(polled[0].revents().is_empty());
            }
        }
    }
}

/// Kills everything that was started and has lost its parent: this process has adopted it.
fn kill_what_is_left() -> io::Result<()> {
    for _ in 0..KILL_ROUNDS_MAX {
        let own = rustix::process::getpid().as_raw_nonzero();
        let children = std::fs::read_to_string(format!("/proc/self/task/{own}/children"))?;
        let children = children.split_ascii_whitespace().filter_map(|it| it.parse().ok());
        for pid in children.filter_map(Pid::from_raw) {
            // It may have ended meanwhile.
            rustix::process::kill_process(pid, Signal::KILL).ok();
        }
        // A child that died may have left others; they are ours now.
        let mut options = WaitOptions::empty();
        loop {
            match rustix::process::wait(options) {
                Err(rustix::io::Errno::CHILD) => return Ok(()),
                Err(rustix::io::Errno::INTR) => (),
                Err(error) => return Err(error.into()),
                Ok(Some(_)) => options = WaitOptions::NOHANG,
                Ok(None) => break,
            }
        }
    }
    Err(io::Error::other("it starts others faster than they can be ended"))
}

/// The first process of the sandbox. It makes the sandbox, starts the command, reaps what ends, and
/// ends with the command.
fn be_first(spec: &CommandSpec, pipes: FirstPipes, ids: &OwnIds) -> ! {
    let entered = tie_to_supervisor(&pipes.alive).and_then(|()| enter(spec, ids));
    be_first_in(spec, pipes, entered)
}

/// The same, in the sandbox that was made for it.
fn be_first_in(
    spec: &CommandSpec,
    pipes: FirstPipes,
    entered: Result<Option<GuardWatch>, SandboxFault>,
) -> ! {
    let FirstPipes { alive: _alive, trouble, status } = pipes;
    let started = entered.and_then(|watch| {
        let command = start(spec, &trouble)?;
        Ok((command, watch))
    });
    let (command, watch) = started.unwrap_or_else(|SandboxFault(reason)| {
        tell(&trouble, &reason);
        std::process::exit(1)
    });
    // Open in the command until it has started, and no longer here.
    drop(trouble);
    // If it fails, whoever reads what the command prints waits until this process has ended too.
    silence_output().ok();
    let word = match watch {
        Some(watch) => watched(command, watch),
        None => FirstWord { end: reap_until(command), is_alone: false },
    };
    tell(&status, &(serde_json::to_string(&word).unwrap_or_default() + "\n"));
    std::process::exit(0)
}

/// Waits for the end of the command, and brings it about when a guard is lost. Ends what it left behind.
fn watched(command: Pid, watch: GuardWatch) -> FirstWord {
    let watch = Arc::new(watch);
    let watching = Arc::clone(&watch);
    // Not in a process of its own: the command could end that one.
    let thread = std::thread::Builder::new().spawn(move || watching.end_all_when_lost());
    let end = match thread {
        Ok(_) => reap_until(command),
        Err(error) => CommandEnd::Ended(format!("cannot watch what is protected: {error}")),
    };
    let is_alone = end_all_others();
    // Also if it was quicker to end than to be ended.
    FirstWord { end: watch.reason().map_or(end, CommandEnd::Ended), is_alone }
}

/// Ends every other process of the sandbox, and waits until they are gone. Said here, because the host
/// need not wait then until the kernel has taken the sandbox down.
fn end_all_others() -> bool {
    kill_all_others();
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => (),
            // Whoever loses its parent becomes a child of the first process: without one it is alone.
            Err(error) => return error == rustix::io::Errno::CHILD,
        }
    }
}

fn tie_to_supervisor(alive: &PipeReader) -> Result<(), SandboxFault> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| SandboxFault(format!("cannot be tied to the supervisor: {error}")))?;
    if is_closed(alive) {
        return Err(SandboxFault("the supervisor has ended".to_owned()));
    }
    Ok(())
}

fn enter(spec: &CommandSpec, ids: &OwnIds) -> Result<Option<GuardWatch>, SandboxFault> {
    let Some(view) = &spec.view else {
        // What loses its parent while the command runs is reaped here when it ends.
        return rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map(|()| None)
            .map_err(|error| SandboxFault(format!("cannot adopt processes: {error}")));
    };
    ids.map()?;
    inside::enter(view).map(Some)
}

fn start(spec: &CommandSpec, trouble: &PipeWriter) -> Result<Pid, SandboxFault> {
    let given_up = |error| SandboxFault(format!("cannot give up capabilities: {error}"));
    if spec.view.is_some() {
        // Once for both processes.
        inside::bound_capabilities().map_err(given_up)?;
    }
    let command = match clone_process(0) {
        Ok(Cloned::Child) => {
            let SandboxFault(reason) = inside::become_command(spec);
            tell(trouble, &reason);
            std::process::exit(127)
        }
        Ok(Cloned::Parent(pid)) => pid,
        Err(error) => return Err(SandboxFault(format!("cannot start a process: {error}"))),
    };
    if spec.view.is_some() {
        inside::give_up_capabilities().map_err(given_up)?;
    }
    Ok(command)
}

fn reap_until(command: Pid) -> CommandEnd {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return end_of(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => (),
            // There is no child left, which cannot be: the command is one.
            Err(_) => return CommandEnd::Killed(Signal::KILL.as_raw()),
        }
    }
}

fn end_of(status: WaitStatus) -> CommandEnd {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, signal) => CommandEnd::Killed(signal.unwrap_or_default()),
    }
}

fn is_closed(alive: &PipeReader) -> bool {
    let mut polled = [PollFd::new(&alive, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok_and(|n_ready| n_ready > 0)
}

fn tell(mut pipe: &PipeWriter, text: &str) {
    // Whoever would read it has ended.
    pipe.write_all(text.as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_knows_when_its_command_comes_too_late() {
        let (mut host, control) = UnixStream::pair().unwrap();
        wait_for_command(&control, 0).unwrap();
        assert!(host.write_all(b"x\n").is_err());
        assert!(receive(&control).unwrap().line.is_empty());
    }

    #[test]
    fn a_command_that_came_in_the_last_moment_is_read() {
        let (mut host, control) = UnixStream::pair().unwrap();
        host.write_all(b"x\n").unwrap();
        control.shutdown(Shutdown::Read).unwrap();
        assert_eq!(receive(&control).unwrap().line, b"x\n");
    }
}
