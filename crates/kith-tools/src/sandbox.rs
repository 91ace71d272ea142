//! Commands and the sandbox around them.
//!
//! The sandbox is the boundary for what a model runs: own namespaces in which only what the view names
//! exists, then Landlock, a filter of system calls, no capabilities and no new ones, limits on
//! resources. Read in this order:
//!
//! - [`spec`]: what the supervisor is told and answers.
//! - [`plan`]: which view a command gets.
//! - [`launch`]: starts a supervisor and follows the command; `early` starts the next one before there is a command.
//! - `message`: how a command and its files come to the supervisor.
//! - `supervisor`: the supervisor process itself.
//! - `inside`: the making of the sandbox, in its first process; the file to audit.
//! - `lost_guards`: ends everything when somebody outside has replaced a protected file.
//! - `gitlinks`: looks after a command for repositories that it made; `submodules`, `git_settings` and `disarm`
//!   are its parts.
//! - `filter`, `loopback`, `raw`: further parts of the sandbox.
//! - `socket_peer`: tells whether whoever connects to a socket is in a sandbox.
//! - [`environment`]: the variables that a command sees.
//! - [`probe`]: what this machine offers, proved by trying.

pub mod environment;
pub mod launch;
pub mod plan;
pub mod probe;
pub mod spec;

#[cfg(target_os = "linux")]
mod disarm;
mod early;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod git_settings;
#[cfg(target_os = "linux")]
mod git_steps;
#[cfg(target_os = "linux")]
mod gitlinks;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod lost_guards;
mod message;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod socket_peer;
mod submodules;
#[cfg(target_os = "linux")]
mod supervisor;

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

/// The hidden command that makes this program the supervisor.
pub const SUPERVISOR_COMMAND: &str = "__sandbox";

/// Its second argument if there is no command for it yet.
const EARLY: &str = "early";

static SUPERVISOR: OnceLock<PathBuf> = OnceLock::new();

/// Says that `program`, started with [`SUPERVISOR_COMMAND`], is the supervisor. Until then there is none.
pub fn register_supervisor(program: PathBuf) {
    // The first one counts: a process has one program.
    SUPERVISOR.get_or_init(|| program);
}

pub fn supervisor() -> Option<&'static Path> {
    SUPERVISOR.get().map(PathBuf::as_path)
}

/// Runs the supervisor, for a program that was started as one. To be called before any thread is
/// started.
#[cfg(target_os = "linux")]
pub fn run_supervisor() -> ExitCode {
    supervisor::run_supervisor()
}

#[cfg(not(target_os = "linux"))]
pub fn run_supervisor() -> ExitCode {
    ExitCode::FAILURE
}

/// Whether the process at the other end of a connected socket is in no sandbox, or in the same as this
/// process. One that has ended, or that cannot be seen from here, may be in any.
#[cfg(target_os = "linux")]
pub fn is_peer_outside(socket: impl AsFd) -> bool {
    socket_peer::shares_user_namespace(socket)
}

#[cfg(not(target_os = "linux"))]
pub fn is_peer_outside(_: impl AsFd) -> bool {
    true
}
