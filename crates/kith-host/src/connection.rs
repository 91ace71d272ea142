//! The connection to the host of a house, wherever that is.
//!
//! The first process that needs to write becomes the host and lets others in; every other one
//! attaches to it. When a host ends in the middle of something, whoever was attached takes its
//! place or finds the next one, and asks again under the same message id, so nothing is said
//! twice.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kith_engine::engine::EngineError;
use kith_sessions::socket::socket_path;
use kith_vocab::clock::{BoxFuture, Clock as _};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use crate::any_call::{AnyCall, AnyResponse, TypedCall};
use crate::attach::{self, AskFailure, HostAt, Timeouts};
use crate::call::{Call, Follower, Payload, Reply};
use crate::calls::daemon::{HostKind, ReleaseReason};
use crate::client::Client;
use crate::clock::SystemClock;
use crate::error::{CallError, ErrorCode};
use crate::host::daemon::{HttpEntry, ReleaseRequests};
use crate::host::{Host, HostStart};
use crate::http;
use crate::http::access::HttpAccess;
use crate::http::tls::{CertificateFiles, TlsIdentity};
use crate::notes::HostNote;
use crate::remote::RemoteHost;
use crate::serve::Server;
use crate::settings::watch::SettingsWatch;

/// Maximum number of attempts to find a host that answers a request.
const TRIES_MAX: u32 = 10_000;
/// How long a holder of the lock may be out of reach before we give up on it.
const UNREACHED_MS_MAX: u64 = 10_000;
/// How long to wait before looking again for a host that is on its way up or down.
const LOOK_AGAIN_MS: u64 = 10;
/// The same of a host on another machine that has answered before.
const REMOTE_UNREACHED_MS_MAX: u64 = 60_000;
const REMOTE_LOOK_AGAIN_MS: u64 = 250;
/// How long a conversation that gives the house up waits for the turns that run.
const RELEASE_MS_MAX: u64 = 30_000;
/// How long a conversation that gave the house up lets the other process become the host.
const HOLD_BACK_MS: u64 = 5_000;
/// How long the end may take before the person is told what it waits for.
const QUIET_END_MS: u64 = 500;

type AnyReply<'a> = BoxFuture<'a, Result<AnyResponse, CallError>>;

/// A host in this process, with its socket.
pub(crate) struct HostHere {
    pub(crate) host: Arc<Host>,
    server: Server,
}

impl Client {
    /// Becomes the host unless the house has one elsewhere; whether it is in this process now.
    pub async fn is_host(&self) -> Result<bool, CallError> {
        Ok(matches!(self.enter().await?, HostStart::Here(_)))
    }

    async fn settings(&self) -> Result<&Arc<SettingsWatch>, CallError> {
        self.settings.get_or_try_init(async || SettingsWatch::open(&self.house)).await
    }

    async fn enter(&self) -> Result<HostStart, CallError> {
        if self.remote.is_some() {
            return Ok(HostStart::Elsewhere { holder: String::from("another machine") });
        }
        let mut here = self.here.lock().await;
        if let Some(here) = &*here {
            return Ok(HostStart::Here(Arc::clone(&here.host)));
        }
        if SystemClock.monotonic() < self.released_until.load(Ordering::SeqCst) {
            return Ok(HostStart::Elsewhere { holder: String::from("another kith") });
        }
        let settings = Arc::clone(self.settings().await?);
        let start = Host::start(self.house.clone(), settings).await?;
        let HostStart::Here(host) = start else { return Ok(start) };
        host.set_kind(self.kind);
        // Before anyone is let in: what they say is not something that was left.
        let left = match &self.resume_notes {
            Some(_) => host.unfinished().await?,
            None => Vec::new(),
        };
        let server = Server::start(&self.house, &host).map_err(|source| {
            let path = socket_path(&self.house.kith_dir());
            CallError::filesystem(format!("cannot listen at `{}`: {source}", path.display()))
                .hint("remove whatever is there, and check that its folder is writable")
        })?;
        if let Some(notes) = &self.resume_notes {
            let (host, notes) = (Arc::clone(&host), notes.clone());
            let language = host.language_for(&self.caller);
            server.beside(async move {
                // Nobody hears it after the end; the log has it all the same.
                let tell = |note: HostNote| {
                    let (notes, note) = (notes.clone(), note.in_language(&language));
                    async move { drop(notes.send(note).await) }
                };
                host.resume(left, tell).await;
            });
        }
        *here = Some(HostHere { host: Arc::clone(&host), server });
        if self.kind == HostKind::Chat {
            let (here, until) = (Arc::clone(&self.here), Arc::clone(&self.released_until));
            tokio::spawn(release_when_asked(host.releases(), here, until));
        }
        Ok(HostStart::Here(host))
    }

    /// Serves the host over HTTP on the loopback address; where it listens. The host must be in this
    /// process. `port` 0 takes any.
    pub async fn serve_http(&self, port: u16) -> Result<String, CallError> {
        let here = self.here.lock().await;
        let Some(HostHere { host, server }) = &*here else {
            return Err(CallError::bug("only the host can be served"));
        };
        let access = HttpAccess::of_house(&self.house, Arc::new(SystemClock))
            .map_err(|error| CallError::filesystem(format!("cannot use the token: {error}")))?;
        let access = Arc::new(access);
        let cannot_listen = |error: io::Error| {
            let what = if port == 0 { "any port".to_owned() } else { format!("port {port}") };
            CallError::filesystem(format!("cannot listen on {what} of this machine: {error}"))
                .hint("choose another port with `--port`; 0 takes any that is free")
        };
        let listener = http::listen(port).await.map_err(cannot_listen)?;
        let served = http::serve(listener, Arc::clone(server.state()), Arc::clone(&access));
        let address = format!("http://{}", served.map_err(cannot_listen)?);
        host.set_http(HttpEntry { address: address.clone(), access });
        Ok(address)
    }

    /// Serves the host to other machines, over TLS and to whoever has the token; the address by which
    /// they reach it. The host must be in this process.
    pub async fn serve_remote(
        &self,
        listen: SocketAddr,
        certificate: Option<&CertificateFiles>,
    ) -> Result<String, CallError> {
        let here = self.here.lock().await;
        let Some(HostHere { host, server }) = &*here else {
            return Err(CallError::bug("only the host can be served"));
        };
        let identity = match certificate {
            Some(files) => TlsIdentity::of_files(files)?,
            None => TlsIdentity::of_house(&self.house)?,
        };
        let Some(access) = host.http_access().map(HttpAccess::over_tls) else {
            return Err(CallError::bug("a host is served to its own machine first"));
        };
        let cannot_listen = |error: io::Error| {
            CallError::filesystem(format!("cannot listen at `{listen}`: {error}"))
                .hint("use an address of this machine and a free port; port 0 takes any")
        };
        let listener = TcpListener::bind(listen).await.map_err(cannot_listen)?;
        let bound = listener.local_addr().map_err(cannot_listen)?;
        http::serve_tls(listener, Arc::clone(server.state()), Arc::new(access), identity.acceptor);
        let address = format!("https://{bound}#{}", identity.sha256);
        host.set_remote_address(address.clone());
        Ok(address)
    }

    /// Waits until somebody asks the host in this process to give up the house.
    pub async fn release_requested(&self) -> ReleaseReason {
        let requests = self.here.lock().await.as_ref().map(|it| it.host.releases());
        if let Some(mut requests) = requests
            && let Some(reason) = requests.next().await
        {
            return reason;
        }
        std::future::pending().await
    }

    /// Leaves the house. If the host is here, it stays until the turns it accepted rest.
    /// `stop` ends the wait: what was accepted is in the log, and goes on with the next host.
    /// `on_long_wait` runs once if the wait is long enough for a person to wonder.
    pub async fn leave(self, stop: impl Future<Output = ()>, on_long_wait: impl FnOnce()) {
        let Some(here) = self.here.lock().await.take() else { return };
        let end = async {
            here.server.end().await;
            here.host.end().await;
        };
        tokio::pin!(end, stop);
        tokio::select! {
            biased;
            () = &mut end => return,
            () = &mut stop => return,
            () = tokio::time::sleep(Duration::from_millis(QUIET_END_MS)) => (),
        }
        on_long_wait();
        tokio::select! {
            biased;
            () = &mut end => (),
            () = &mut stop => (),
        }
    }

    /// Asks the host. `I` is the item of a follow, else `()`.
    pub(crate) async fn ask_host<C: Call, I: Payload>(
        &self,
        mut call: C,
        follower: Follower<I>,
    ) -> Reply<C::Answer> {
        let mut call = TypedCall { call: &mut call, follower: &follower };
        TypedCall::<C, I>::typed(self.ask_any(&mut call).await?)
    }

    /// Boxed, so that this is one piece of code for every call and every program that makes it.
    fn ask_any<'a>(&'a self, call: &'a mut dyn AnyCall) -> AnyReply<'a> {
        match &self.remote {
            Some(remote) => Box::pin(self.ask_remote(remote, call)),
            None => Box::pin(self.ask_house(call)),
        }
    }

    async fn ask_house(&self, call: &mut dyn AnyCall) -> Result<AnyResponse, CallError> {
        let mut unreached_ms = 0;
        let mut holder = String::new();
        for _ in 0..TRIES_MAX {
            match self.enter().await? {
                HostStart::Here(host) => {
                    let answer = call.answer_by(&host, self.caller.clone());
                    // A turn that is cut off has no answer here any more.
                    let answer = tokio::select! {
                        biased;
                        answer = on_a_worker(answer) => answer,
                        () = host.given_up() => Err(EngineError::Stopping.into()),
                    };
                    match answer {
                        // It was given up meanwhile; the next host has what was accepted.
                        Err(error)
                            if host.has_given_up() && error.code == ErrorCode::RuntimeBusy =>
                        {
                            call.note_asked();
                        }
                        answer => return answer,
                    }
                    continue;
                }
                HostStart::Elsewhere { holder: named } => holder = named,
            }
            let path = attach::host_socket(&self.house.kith_dir());
            let timeouts = Timeouts::default();
            let at = HostAt::Socket(&path);
            match attach::ask_any(at, &self.caller, call, timeouts).await {
                Ok(answer) => return Ok(answer),
                Err(AskFailure::Refused(error)) => return Err(error),
                Err(AskFailure::Silent) => return Err(self.silent(&holder, "does not answer")),
                Err(AskFailure::Disconnected) => unreached_ms = 0,
                Err(AskFailure::Unreachable(error)) if unreached_ms >= UNREACHED_MS_MAX => {
                    let what = format!("cannot be reached at `{}`: {error}", path.display());
                    return Err(self.silent(&holder, &what));
                }
                Err(AskFailure::Unreachable(_)) => {
                    // It is on its way up or down: look again, here first.
                    tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
                    unreached_ms += LOOK_AGAIN_MS;
                }
            }
            if call.cancel().is_cancelled() {
                return Err(stopped());
            }
        }
        Err(self.silent(&holder, "exited every time it was asked"))
    }

    /// Asks the host on another machine. One that answered before is waited for when it is gone: it may
    /// be on its way up again, as a newer version.
    async fn ask_remote(
        &self,
        remote: &RemoteHost,
        call: &mut dyn AnyCall,
    ) -> Result<AnyResponse, CallError> {
        let mut unreached_ms = 0;
        for _ in 0..TRIES_MAX {
            let (at, timeouts) = (HostAt::Remote(remote), Timeouts::default());
            match attach::ask_any(at, &self.caller, call, timeouts).await {
                Ok(answer) => return Ok(answer),
                Err(AskFailure::Refused(error)) => return Err(error),
                Err(AskFailure::Silent) => return Err(remote.silent()),
                Err(AskFailure::Disconnected) => {
                    // One that lets us in and goes away each time must not be asked without a pause.
                    tokio::time::sleep(Duration::from_millis(REMOTE_LOOK_AGAIN_MS)).await;
                    unreached_ms = 0;
                }
                Err(AskFailure::Unreachable(error))
                    if !remote.was_reached() || unreached_ms >= REMOTE_UNREACHED_MS_MAX =>
                {
                    return Err(remote.unreachable(&error));
                }
                Err(AskFailure::Unreachable(_)) => {
                    tokio::time::sleep(Duration::from_millis(REMOTE_LOOK_AGAIN_MS)).await;
                    unreached_ms += REMOTE_LOOK_AGAIN_MS;
                }
            }
            if call.cancel().is_cancelled() {
                return Err(stopped());
            }
        }
        Err(remote.silent())
    }

    fn silent(&self, holder: &str, what: &str) -> CallError {
        let house = self.house.dir.display();
        let message = format!("another kith ({holder}) is running in `{house}` and {what}");
        CallError::request(ErrorCode::RuntimeBusy, message)
            .hint("it may be suspended: resume it with `fg`, or kill it (nothing will be lost)")
    }
}

/// Gives the house up when another process asks for it, after the turns that run, if they end soon.
async fn release_when_asked(
    mut requests: ReleaseRequests,
    here: Arc<Mutex<Option<HostHere>>>,
    released_until: Arc<AtomicU64>,
) {
    if requests.next().await.is_none() {
        return;
    }
    let Some(HostHere { host, server }) = here.lock().await.take() else { return };
    let state = Arc::clone(server.state());
    let end = async {
        server.end().await;
        host.end().await;
    };
    if tokio::time::timeout(Duration::from_millis(RELEASE_MS_MAX), end).await.is_err() {
        state.over.cancel();
    }
    released_until.store(SystemClock.monotonic() + HOLD_BACK_MS, Ordering::SeqCst);
    host.give_up().await;
}

/// Runs the answer on the runtime's workers: on the thread that waits for it, every chunk of a
/// streamed answer would wake that thread several times. Whoever stops waiting stops the work.
async fn on_a_worker(answer: AnyReply<'static>) -> Result<AnyResponse, CallError> {
    match AbortOnDropHandle::new(tokio::spawn(answer)).await {
        Ok(answer) => answer,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(CallError::bug("the runtime shut down before the call was answered")),
    }
}

fn stopped() -> CallError {
    CallError::stopped("stopped before the host answered")
        .hint("if it was already accepted, the next message finishes it")
}
