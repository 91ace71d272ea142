//! A first process that is made before its command is known: namespaces take longer to make than anything else in a
//! sandbox, the one for networks most of all.
//!
//! It has no mounts of its own yet. It gets those that are there when the command comes, so that it shows no older state
//! of this machine than any other first process.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, WaitOptions};

use super::super::inside::{self, SandboxFault};
use super::super::message::{MessageReceived, receive, send};
use super::super::raw::{Cloned, clone_process, own_mounts};
use super::super::spec::CommandSpec;
use super::super::{filter, loopback};
use super::{
    FirstPipes, NAMESPACES, OwnIds, SupervisorPipes, be_first_in, take_files, tie_to_supervisor,
};

/// Waits for a command without network. When the supervisor ends, so does it.
pub(super) struct WaitingFirst {
    pid: Pid,
    pipes: SupervisorPipes,
    socket: UnixStream,
}

impl WaitingFirst {
    /// `None` where it fails: then it is tried again with the command, whose host is told why.
    pub(super) fn start() -> Option<WaitingFirst> {
        // In vain if it fails, which the command is told of.
        filter::compiled_once().ok();
        let pipes = SupervisorPipes::new().ok()?;
        let (socket, theirs) = UnixStream::pair().ok()?;
        let ids = OwnIds::now();
        let flags = (NAMESPACES & !libc::CLONE_NEWNS) | libc::CLONE_NEWNET;
        match clone_process(flags).ok()? {
            Cloned::Child => {
                drop(socket);
                be_waiting(&theirs, pipes.of_first(), &ids)
            }
            Cloned::Parent(pid) => Some(WaitingFirst { pid, pipes, socket }),
        }
    }

    /// Hands the command over, with the input and the outputs of this process. An error if the command needs another
    /// first process; then this one was killed.
    pub(super) fn told(
        self,
        spec: &CommandSpec,
        line: &[u8],
    ) -> Result<(Pid, SupervisorPipes), UnneededFirst> {
        let is_fitting = spec.view.as_ref().is_some_and(|it| !it.has_network);
        let files = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        if is_fitting && send(&self.socket, line, &files).is_ok() {
            return Ok((self.pid, self.pipes));
        }
        rustix::process::kill_process(self.pid, Signal::KILL).ok();
        Err(UnneededFirst(self.pid))
    }
}

/// A first process that was killed, because the command needs another one.
pub(super) struct UnneededFirst(Pid);

impl UnneededFirst {
    /// To be called when the other one has been started: the kernel takes a moment to end it, and until this is done it
    /// stands in the table of processes.
    pub(super) fn reap(self) {
        rustix::process::waitpid(Some(self.0), WaitOptions::empty()).ok();
    }
}

fn be_waiting(socket: &UnixStream, pipes: FirstPipes, ids: &OwnIds) -> ! {
    let prepared = tie_to_supervisor(&pipes.alive).and_then(|()| ids.map());
    // Programs that talk to themselves expect it; a failure shows in them alone.
    loopback::bring_up().ok();
    let received = prepared.ok().and_then(|()| told_command(socket).ok());
    // Nobody has said what to do, so nobody waits to hear of it.
    let Some(spec) = received else { std::process::exit(1) };
    let entered = match &spec.view {
        Some(view) => own_mounts()
            .map_err(|error| SandboxFault(format!("this system allows no namespaces: {error}")))
            .and_then(|()| inside::enter(view)),
        None => Err(SandboxFault("a command outside of a sandbox has come to one".to_owned())),
    };
    be_first_in(&spec, pipes, entered.map(Some))
}

fn told_command(socket: &UnixStream) -> io::Result<CommandSpec> {
    let MessageReceived { line, files } = receive(socket)?;
    take_files(files)?;
    Ok(serde_json::from_slice(&line)?)
}
