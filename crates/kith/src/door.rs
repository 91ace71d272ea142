//! The way into a house: its host, wherever that is.
//!
//! The first process that needs to write becomes the host and lets others in; every other one
//! attaches to it. When a host ends in the middle of something, whoever was attached takes its
//! place or finds the next one, and asks again under the same message id, so nothing is said
//! twice.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kith_engine::session::Watcher;
use kith_sessions::socket::socket_path;
use kith_vocab::clock::BoxFuture;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::attach::{self, Unanswered};
use crate::client::{Answer, Client, Request};
use crate::config::Config;
use crate::host::Host;
use crate::house::House;
use crate::report::{Blame, Report};
use crate::serve::Server;
use crate::signals::Brake;

/// How often a request is tried with one host after the other.
const TRIES_MAX: u32 = 1_000;
/// How long a holder of the lock may fail to answer before we give up on it.
const SILENT_MS_MAX: u64 = 10_000;
/// How long to wait before looking again for a host that is on its way up or down.
const LOOK_AGAIN_MS: u64 = 10;

pub(crate) struct Door {
    house: House,
    config: Arc<Config>,
    /// The host, if it is in this process.
    here: Mutex<Option<Here>>,
}

struct Here {
    host: Arc<Host>,
    server: Server,
}

impl Door {
    pub(crate) fn new(house: House, config: Config) -> Door {
        Door { house, config: Arc::new(config), here: Mutex::default() }
    }

    /// The host in this process, if the house has none elsewhere.
    pub(crate) async fn host(&self) -> Result<Option<Arc<Host>>, Report> {
        let mut here = self.here.lock().await;
        if let Some(here) = &*here {
            return Ok(Some(Arc::clone(&here.host)));
        }
        let started = Host::start(self.house.clone(), Arc::clone(&self.config)).await?;
        let Some(host) = started.map(Arc::new) else { return Ok(None) };
        let server = Server::start(&self.house, &host).map_err(|source| {
            let path = socket_path(&self.house.kith_dir());
            let message = format!("cannot listen at `{}`: {source}", path.display());
            Report::new(Blame::Environment, "filesystem_error", message)
        })?;
        *here = Some(Here { host: Arc::clone(&host), server });
        Ok(Some(host))
    }

    /// Leaves the house. If the host is here, it stays until the turns it accepted rest.
    /// A pull of the brake ends the wait: what was accepted is in the log, and goes on with the
    /// next host.
    pub(crate) async fn leave(self, brake: &mut Brake) {
        let Some(here) = self.here.into_inner() else { return };
        drop(here.host);
        tokio::select! {
            () = here.server.end() => (),
            _ = brake.pulled() => (),
        }
    }

    async fn ask(
        &self,
        request: Request,
        screen: &dyn Watcher,
        cancel: &CancellationToken,
    ) -> Result<Answer, Report> {
        let path = socket_path(&self.house.kith_dir());
        let mut silent_ms = 0;
        for _ in 0..TRIES_MAX {
            if let Some(host) = self.host().await? {
                return host.call(request, screen, cancel).await;
            }
            match attach::ask(&path, &request, screen, cancel).await {
                Ok(answer) => return Ok(answer),
                Err(Unanswered::Refused(report)) => return Err(report),
                Err(Unanswered::Lost) => silent_ms = 0,
                Err(Unanswered::Unreached(error)) => {
                    let is_deaf = error.kind() == io::ErrorKind::TimedOut;
                    if is_deaf || silent_ms >= SILENT_MS_MAX {
                        return Err(self.silent());
                    }
                    // It is on its way up or down: look again, here first.
                    tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
                    silent_ms += LOOK_AGAIN_MS;
                }
            }
        }
        Err(self.silent())
    }

    fn silent(&self) -> Report {
        let house = self.house.dir.display();
        let message = format!("another kith holds `{house}` and does not answer");
        Report::new(Blame::Request, "runtime_busy", message).hint(
            "it may be stopped (Ctrl-Z): `fg` brings it back, or end it; its pid is in .kith/host.lock",
        )
    }
}

impl Client for Door {
    fn call<'a>(
        &'a self,
        request: Request,
        screen: &'a dyn Watcher,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Report>> {
        Box::pin(self.ask(request, screen, cancel))
    }
}
