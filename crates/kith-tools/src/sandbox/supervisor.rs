//! The supervisor: the process that makes a sandbox, waits for the command in it, and cleans up.
//!
//! It is this program, started again as `kith __sandbox`: only a process with one thread may be
//! copied into new namespaces. Its standard input is a socket. It reads the command from there,
//! answers how that ended, and kills everything when the other side goes away, so a host that is
//! killed leaves nothing running.
//!
//! A command that runs outside of a sandbox has a supervisor too. There is no namespace that ends with
//! it, so the supervisor adopts what the command leaves behind and kills that.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use kith_home::placeholder::Placeholder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use super::gitlinks::Repositories;
use super::inside::{self, SandboxFault};
use super::lost_guards::GuardWatch;
use super::raw::{Cloned, clone_process, close_inherited};
use super::spec::{CommandEnd, CommandSpec, SPEC_BYTES_MAX, SandboxView};

/// Rounds of killing what a command outside of a sandbox has left behind. Each reaches the children of
/// those that the one before has killed.
const KILL_ROUNDS_MAX: usize = 4096;
/// Bytes of a reason why a command did not start.
const TROUBLE_BYTES_MAX: u64 = 4096;

const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// Runs the supervisor, whose standard input is the socket of a host.
pub(super) fn run_supervisor() -> ExitCode {
    // Without an owner there is nobody to report to.
    serve().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn serve() -> io::Result<()> {
    close_inherited()?;
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let mut control = UnixStream::from(control);
    let mut line = String::new();
    let limit = SPEC_BYTES_MAX as u64;
    BufReader::new(Read::by_ref(&mut control).take(limit)).read_line(&mut line)?;
    let mut held = Vec::new();
    let end = match serde_json::from_str::<CommandSpec>(&line) {
        // Until it is cloned, nothing has run.
        Ok(spec) => supervise(&spec, &control, &mut held)
            .unwrap_or_else(|error| CommandEnd::NotStarted(error.to_string())),
        Err(error) => {
            CommandEnd::NotStarted(format!("the supervisor cannot read its command: {error}"))
        }
    };
    let mut answer = serde_json::to_vec(&end)?;
    answer.push(b'\n');
    control.write_all(&answer)?;
    control.shutdown(std::net::Shutdown::Both)?;
    // After the answer: some disks take long to remove a folder, and the next command uses it again.
    drop(held);
    Ok(())
}

fn supervise(
    spec: &CommandSpec,
    control: &UnixStream,
    held: &mut Vec<Placeholder>,
) -> io::Result<CommandEnd> {
    rustix::stdio::dup2_stdin(input(spec)?)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    if let Some(view) = &spec.view {
        hold_placeholders(view, held)?;
    }
    let repositories = spec.view.as_ref().map(Repositories::of);
    let end = run(spec, control)?;
    let cleaned = kill_what_is_left();
    if let (Some(repositories), Some(view)) = (repositories, &spec.view) {
        repositories.disarm_new(view);
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
    let path = spec.stdin.as_deref().unwrap_or(Path::new("/dev/null"));
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

/// An error means that nothing has run.
fn run(spec: &CommandSpec, control: &UnixStream) -> io::Result<CommandEnd> {
    let pipes = SupervisorPipes { alive: io::pipe()?, trouble: io::pipe()?, status: io::pipe()? };
    let flags = match &spec.view {
        Some(view) if view.has_network => NAMESPACES,
        Some(_) => NAMESPACES | libc::CLONE_NEWNET,
        None => 0,
    };
    let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let pid = match clone_process(flags) {
        Ok(Cloned::Child) => be_first(spec, pipes, ids),
        Ok(Cloned::Parent(pid)) => pid,
        Err(error) => {
            let message = format!("this system allows no namespaces: {error}");
            return Ok(CommandEnd::NotStarted(message));
        }
    };
    let followed = follow(pid, pipes, control);
    Ok(followed.unwrap_or_else(|error| {
        // It must not go on when nobody follows it.
        rustix::process::kill_process(pid, Signal::KILL).ok();
        CommandEnd::Unknown(format!("lost track of the command: {error}"))
    }))
}

/// Follows the first process to its end.
fn follow(pid: Pid, pipes: SupervisorPipes, control: &UnixStream) -> io::Result<CommandEnd> {
    let SupervisorPipes { alive: (_, _alive), trouble, status } = pipes;
    drop((trouble.1, status.1));
    let first = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    let was_stopped = wait_for(&first, control)?;
    rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
    if was_stopped {
        return Ok(CommandEnd::Stopped);
    }
    // Only the first process could still hold the other ends, and it is gone. Both texts fit into
    // the buffer of a pipe, so it never waited for a reader.
    let said = |pipe: PipeReader| {
        let mut text = String::new();
        pipe.take(TROUBLE_BYTES_MAX).read_to_string(&mut text).map(|_| text)
    };
    let reason = said(trouble.0)?;
    if !reason.is_empty() {
        return Ok(CommandEnd::NotStarted(reason));
    }
    // Without a word the first process was killed, by the system for want of memory.
    let killed = CommandEnd::Killed(Signal::KILL.as_raw());
    Ok(serde_json::from_str(&said(status.0)?).unwrap_or(killed))
}

/// Waits until the first process has ended; kills it if the host goes away or asks for it, also while
/// the sandbox is being made. True if it did.
fn wait_for(first: &OwnedFd, control: &UnixStream) -> io::Result<bool> {
    let mut was_stopped = false;
    loop {
        let mut polled = vec![PollFd::new(first, PollFlags::IN)];
        if !was_stopped {
            polled.push(PollFd::new(control, PollFlags::IN));
        }
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => continue,
            polled => polled?,
        };
        if !polled[0].revents().is_empty() {
            return Ok(was_stopped);
        }
        was_stopped = true;
        rustix::process::pidfd_send_signal(first, Signal::KILL)?;
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
fn be_first(spec: &CommandSpec, pipes: SupervisorPipes, (uid, gid): (u32, u32)) -> ! {
    let SupervisorPipes {
        alive: (alive, kept_by_supervisor),
        trouble: (_, trouble),
        status: (_, status),
    } = pipes;
    drop(kept_by_supervisor);
    let started = enter(spec, &alive, (uid, gid)).and_then(|watch| {
        let command = start(spec, &trouble)?;
        Ok((command, watch))
    });
    let (command, watch) = started.unwrap_or_else(|SandboxFault(reason)| {
        tell(&trouble, &reason);
        std::process::exit(1)
    });
    // Open in the command until it has started, and no longer here.
    drop(trouble);
    let end = match watch {
        Some(watch) => watched(command, watch),
        None => reap_until(command),
    };
    tell(&status, &serde_json::to_string(&end).unwrap_or_default());
    std::process::exit(0)
}

/// Waits for the end of the command, and brings it about when a guard is lost.
fn watched(command: Pid, watch: GuardWatch) -> CommandEnd {
    let watch = Arc::new(watch);
    let watching = Arc::clone(&watch);
    // Not in a process of its own: the command could end that one.
    let thread = std::thread::Builder::new().spawn(move || watching.end_all_when_lost());
    if let Err(error) = thread {
        return CommandEnd::Ended(format!("cannot watch what is protected: {error}"));
    }
    let end = reap_until(command);
    // Also if it was quicker to end than to be ended.
    watch.reason().map_or(end, CommandEnd::Ended)
}

fn enter(
    spec: &CommandSpec,
    alive: &PipeReader,
    ids: (u32, u32),
) -> Result<Option<GuardWatch>, SandboxFault> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| SandboxFault(format!("cannot be tied to the supervisor: {error}")))?;
    if is_closed(alive) {
        return Err(SandboxFault("the supervisor has ended".to_owned()));
    }
    let Some(view) = &spec.view else {
        // What loses its parent while the command runs is reaped here when it ends.
        return rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map(|()| None)
            .map_err(|error| SandboxFault(format!("cannot adopt processes: {error}")));
    };
    inside::map_identity(ids.0, ids.1)?;
    inside::enter(view).map(Some)
}

fn start(spec: &CommandSpec, trouble: &PipeWriter) -> Result<Pid, SandboxFault> {
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
        inside::give_up_capabilities()
            .map_err(|error| SandboxFault(format!("cannot give up capabilities: {error}")))?;
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
