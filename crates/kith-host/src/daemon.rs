//! A host that stays: how a process becomes it, and how others find it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use kith_sessions::daemon_log::{daemon_log_path, open_daemon_log};
use kith_tools::launch;

use crate::attach::{self, AskFailure, HostAt, Timeouts};
use crate::call::{Call, Follower, Response};
use crate::calls::daemon::{GetStatus, HostKind, HostStatus, ReleaseHouse, ReleaseReason};
use crate::client::Client;
use crate::error::{Blame, CallError, ErrorCode};

/// How long a host may take to give up the house: it waits 30 s for its turns.
const TAKE_OVER_MS_MAX: u64 = 40_000;
/// How long a new daemon may take until it answers: it may have to take over first.
const START_MS_MAX: u64 = 60_000;
/// How often to look whether something has changed.
const LOOK_AGAIN_MS: u64 = 20;

/// How a house was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonStart {
    /// The host is in this process.
    Here,
    /// The house has a daemon already.
    Running(Box<HostStatus>),
}

impl Client {
    /// Asks the host that runs now; `None` if there is none. Never becomes the host.
    pub async fn ask_running<C: Call>(
        &self,
        mut call: C,
    ) -> Result<Option<Response<C::Answer>>, CallError> {
        let remote = self.remote.as_deref();
        let path = attach::host_socket(&self.house.kith_dir());
        let at = remote.map_or(HostAt::Socket(&path), HostAt::Remote);
        let follower = Follower::<()>::none();
        let asked = attach::ask(at, &self.caller, &mut call, &follower, Timeouts::default());
        match (asked.await, remote) {
            (Ok(response), _) => Ok(Some(response)),
            // One that answered before has ended; of another nobody knows whether it is there.
            (Err(AskFailure::Unreachable(error)), Some(remote)) if !remote.was_reached() => {
                Err(remote.unreachable(&error))
            }
            (Err(AskFailure::Unreachable(_) | AskFailure::Disconnected), _) => Ok(None),
            (Err(AskFailure::Refused(error)), _) => Err(error),
            (Err(AskFailure::Silent), Some(remote)) => Err(remote.silent()),
            (Err(AskFailure::Silent), None) => {
                let message = "the host does not answer; it may be suspended";
                Err(CallError::request(ErrorCode::RuntimeBusy, message)
                    .hint("resume it with `fg`, or kill it (nothing will be lost)"))
            }
        }
    }

    /// The host that runs now, if there is one.
    pub async fn status(&self) -> Result<Option<HostStatus>, CallError> {
        Ok(self.ask_running(GetStatus {}).await?.map(|it| it.data))
    }

    /// Becomes the host. A conversation that is the host gives the house up; a command is waited for;
    /// another daemon stays, unless it is to be replaced.
    pub async fn become_daemon(&self, replace: bool) -> Result<DaemonStart, CallError> {
        let mut asked = None;
        let mut waited_ms = 0;
        while !self.is_host().await? {
            if let Some(status) = self.status().await? {
                if status.kind == HostKind::Daemon && !replace {
                    return Ok(DaemonStart::Running(Box::new(status)));
                }
                // Each that comes in between is asked: another conversation may be quicker than we are.
                let host = (status.pid, status.started_at);
                if asked.as_ref() != Some(&host) {
                    let reason = ReleaseReason::TakeOver;
                    let released = self.ask_running(ReleaseHouse { reason }).await?;
                    asked = released.is_some().then_some(host);
                }
            }
            if waited_ms >= TAKE_OVER_MS_MAX {
                let message = "another kith keeps hosting this house";
                let hint = "`kith status` says which one; quit it, then run `kith up` again";
                return Err(CallError::request(ErrorCode::RuntimeBusy, message).hint(hint));
            }
            tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
            waited_ms += LOOK_AGAIN_MS;
        }
        Ok(DaemonStart::Here)
    }

    /// Starts this program as a daemon in the background, and waits until it answers.
    pub async fn start_daemon(&self, args: &[OsString]) -> Result<HostStatus, CallError> {
        let log = open_daemon_log(&self.house.kith_dir()).map_err(CallError::filesystem)?;
        let mut child = launch::start_in_background(args, &self.house.cwd, log)
            .map_err(|error| CallError::filesystem(format!("cannot start the daemon: {error}")))?;
        let mut waited_ms = 0;
        while waited_ms < START_MS_MAX {
            match self.status().await? {
                Some(status) if status.pid == child.id() && status.address.is_some() => {
                    return Ok(status);
                }
                _ => (),
            }
            if child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Err(self.not_started("the daemon ended at once"));
            }
            tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
            waited_ms += LOOK_AGAIN_MS;
        }
        Err(self.not_started("the daemon does not answer yet"))
    }

    /// Asks the daemon to end, and waits until it has. What it was; `None` if there is none.
    pub async fn stop_daemon(&self) -> Result<Option<HostStatus>, CallError> {
        let Some(status) = self.status().await? else { return Ok(None) };
        if status.kind == HostKind::Command {
            let message = format!("the host is a command that ends by itself (pid {})", status.pid);
            return Err(CallError::request(ErrorCode::RuntimeBusy, message));
        }
        self.ask_running(ReleaseHouse { reason: ReleaseReason::Stop }).await?;
        let mut waited_ms = 0;
        while waited_ms < TAKE_OVER_MS_MAX {
            match self.status().await? {
                Some(next) if next.pid == status.pid => (),
                _ => return Ok(Some(status)),
            }
            tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
            waited_ms += LOOK_AGAIN_MS;
        }
        let message = format!("the daemon (pid {}) is still finishing its turns", status.pid);
        let error = CallError::request(ErrorCode::RuntimeBusy, message);
        Err(error.hint("it ends when they have; `kith cancel` stops a turn"))
    }

    fn not_started(&self, message: &str) -> CallError {
        let path: PathBuf = daemon_log_path(&self.house.kith_dir());
        CallError::new(Blame::Environment, ErrorCode::InternalError, message.to_owned())
            .hint(format!("`{}` has what it said", path.display()))
    }
}

/// Opens an address in the owner's browser.
pub fn open_in_browser(url: &str) -> Result<(), CallError> {
    launch::open_in_browser(url).map_err(|error| {
        CallError::filesystem(format!("cannot open a browser: {error}"))
            .hint("open the printed address yourself")
    })
}
