//! The way into a house: its host, wherever that is.
//!
//! The first process that needs to write becomes the host and lets others in; every other one
//! attaches to it. When a host ends in the middle of something, whoever was attached takes its
//! place or finds the next one, and asks again under the same message id, so nothing is said
//! twice.

use std::sync::Arc;
use std::time::Duration;

use kith_engine::session::Watcher;
use kith_sessions::socket::socket_path;
use kith_vocab::clock::BoxFuture;
use kith_vocab::provider::Provider;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::attach::{self, Patience, Unanswered};
use crate::client::{Answer, Client, Request};
use crate::config::Config;
use crate::host::{Host, Started};
use crate::house::House;
use crate::report::{Blame, Report};
use crate::serve::Server;
use crate::signals::Brake;
use crate::ui;

/// How often a request is tried with one host after the other.
const TRIES_MAX: u32 = 10_000;
/// How long a holder of the lock may be out of reach before we give up on it.
const UNREACHED_MS_MAX: u64 = 10_000;
/// How long to wait before looking again for a host that is on its way up or down.
const LOOK_AGAIN_MS: u64 = 10;
/// A person who waits longer than this for the end is told what for.
const QUIET_END_MS: u64 = 500;

pub(crate) struct Door {
    house: House,
    config: Arc<Config>,
    /// Who takes up what an earlier host left, if this one does.
    heir: Option<Heir>,
    /// The host, if it is in this process.
    here: Mutex<Option<Here>>,
}

/// Someone who stays long enough to finish what others began.
pub(crate) struct Heir {
    pub(crate) provider: Arc<dyn Provider>,
    /// What became of it, in words.
    pub(crate) notes: mpsc::UnboundedSender<String>,
}

struct Here {
    host: Arc<Host>,
    server: Server,
}

enum Entered {
    Here(Arc<Host>),
    /// Who says so in the lock.
    Elsewhere {
        holder: String,
    },
}

impl Door {
    pub(crate) fn new(house: House, config: Config) -> Door {
        Door { house, config: Arc::new(config), heir: None, here: Mutex::default() }
    }

    /// If the host is ever in this process, it goes on with what an earlier one left.
    pub(crate) fn with_heir(mut self, heir: Option<Heir>) -> Door {
        self.heir = heir;
        self
    }

    /// The host in this process, if the house has none elsewhere.
    pub(crate) async fn host(&self) -> Result<Option<Arc<Host>>, Report> {
        match self.enter().await? {
            Entered::Here(host) => Ok(Some(host)),
            Entered::Elsewhere { .. } => Ok(None),
        }
    }

    async fn enter(&self) -> Result<Entered, Report> {
        let mut here = self.here.lock().await;
        if let Some(here) = &*here {
            return Ok(Entered::Here(Arc::clone(&here.host)));
        }
        let host: Arc<Host> =
            match Host::start(self.house.clone(), Arc::clone(&self.config)).await? {
                Started::Here(host) => Arc::from(host),
                Started::Elsewhere { holder } => return Ok(Entered::Elsewhere { holder }),
            };
        // Before anyone is let in: what they say is not something that was left.
        let left = match &self.heir {
            Some(_) => host.left_by_others().await?,
            None => Vec::new(),
        };
        let server = Server::start(&self.house, &host).map_err(|source| {
            let path = socket_path(&self.house.kith_dir());
            let message = format!("cannot listen at `{}`: {source}", path.display());
            Report::new(Blame::Environment, "filesystem_error", message)
                .hint("remove what lies there; its folder must be one that you may write to")
        })?;
        if let Some(Heir { provider, notes }) = &self.heir {
            let (host, provider, notes) = (Arc::clone(&host), Arc::clone(provider), notes.clone());
            server.beside(async move {
                for accepted in left {
                    let note = host.take_up(&accepted, &*provider).await;
                    // Nobody hears it after the end; the log has it all the same.
                    notes.send(note).ok();
                }
            });
        }
        *here = Some(Here { host: Arc::clone(&host), server });
        Ok(Entered::Here(host))
    }

    /// Leaves the house. If the host is here, it stays until the turns it accepted rest.
    /// A pull of the brake ends the wait: what was accepted is in the log, and goes on with the
    /// next host.
    pub(crate) async fn leave(self, brake: &mut Brake) {
        let Some(here) = self.here.into_inner() else { return };
        let end = async {
            here.server.end().await;
            here.host.flush().await;
        };
        tokio::pin!(end);
        tokio::select! {
            () = &mut end => return,
            _ = brake.pulled() => return,
            () = tokio::time::sleep(Duration::from_millis(QUIET_END_MS)) => (),
        }
        if ui::is_interactive() {
            ui::note("turns of others still run here; Ctrl-C leaves them to the next kith");
        }
        tokio::select! {
            () = &mut end => (),
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
        let mut unreached_ms = 0;
        let mut holder = String::new();
        for _ in 0..TRIES_MAX {
            match self.enter().await? {
                Entered::Here(host) => return host.call(request, screen, cancel).await,
                Entered::Elsewhere { holder: named } => holder = named,
            }
            match attach::ask(&path, &request, screen, cancel, Patience::default()).await {
                Ok(answer) => return Ok(answer),
                Err(Unanswered::Refused(report)) => return Err(report),
                Err(Unanswered::Deaf) => return Err(self.silent(&holder, "does not answer")),
                Err(Unanswered::Lost) => unreached_ms = 0,
                Err(Unanswered::Unreached(error)) if unreached_ms >= UNREACHED_MS_MAX => {
                    let what = format!("cannot be reached at `{}`: {error}", path.display());
                    return Err(self.silent(&holder, &what));
                }
                Err(Unanswered::Unreached(_)) => {
                    // It is on its way up or down: look again, here first.
                    tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
                    unreached_ms += LOOK_AGAIN_MS;
                }
            }
            if cancel.is_cancelled() {
                return Err(stopped());
            }
        }
        Err(self.silent(&holder, "went away every time it was asked"))
    }

    fn silent(&self, holder: &str, what: &str) -> Report {
        let house = self.house.dir.display();
        let message = format!("another kith ({holder}) holds `{house}` and {what}");
        Report::new(Blame::Request, "runtime_busy", message)
            .hint("it may be stopped (Ctrl-Z): `fg` brings it back; or end it, and nothing is lost")
    }
}

fn stopped() -> Report {
    Report::new(Blame::Request, "cancelled", "stopped before a host answered")
        .hint("if it was taken in already, the next message brings it to its end")
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
