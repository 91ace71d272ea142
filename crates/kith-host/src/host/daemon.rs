//! The host as others see it: what it is, where it listens, and how it is asked to give up the house.

use std::process;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use tokio::sync::watch;

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::daemon::{
    CreateLogin, GetStatus, HostKind, HostStatus, LoginLink, ReleaseHouse, ReleaseReason,
    ReleasedHouse,
};
use crate::error::{CallError, ErrorCode};
use crate::http::access::HttpAccess;

/// What a host is besides the writer of the house.
pub struct HostPresence {
    kind: OnceLock<HostKind>,
    http: OnceLock<HttpEntry>,
    /// `https://ADDRESS:PORT#SHA256`
    remote_address: OnceLock<String>,
    release: watch::Sender<Option<ReleaseReason>>,
}

/// The way in over HTTP.
pub struct HttpEntry {
    /// `http://127.0.0.1:PORT`
    pub address: String,
    pub access: Arc<HttpAccess>,
}

impl Default for HostPresence {
    fn default() -> HostPresence {
        let release = watch::Sender::new(None);
        let (kind, http, remote_address) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        HostPresence { kind, http, remote_address, release }
    }
}

impl Host {
    /// Says what the process is. The first word counts.
    pub fn set_kind(&self, kind: HostKind) {
        // A host has one process, which says it once.
        if self.presence.kind.set(kind).is_ok() {
            self.diagnostics.note_start(kind);
        }
    }

    pub(super) fn kind(&self) -> HostKind {
        self.presence.kind.get().copied().unwrap_or_default()
    }

    pub fn set_http(&self, entry: HttpEntry) {
        // Served once for each host.
        self.presence.http.set(entry).ok();
    }

    /// Who may use the page and programs of this machine.
    pub(crate) fn http_access(&self) -> Option<&HttpAccess> {
        self.presence.http.get().map(|it| &*it.access)
    }

    pub fn set_remote_address(&self, address: String) {
        // Served once for each host.
        self.presence.remote_address.set(address).ok();
    }

    /// A link by which the owner's browser logs in to the page.
    pub fn login_link(&self) -> Result<String, CallError> {
        let Some(HttpEntry { address, access }) = self.presence.http.get() else {
            let error = CallError::request(ErrorCode::InvalidRequest, "the page is not served");
            return Err(error.hint("`kith up --open` serves it and opens it"));
        };
        let code = access.new_login_code().map_err(CallError::filesystem)?;
        Ok(format!("{address}/#login={code}"))
    }

    /// Tells when somebody asks for the house. It does not keep the host alive.
    pub fn releases(&self) -> ReleaseRequests {
        ReleaseRequests(self.presence.release.subscribe())
    }
}

/// Requests to give up the house.
pub struct ReleaseRequests(watch::Receiver<Option<ReleaseReason>>);

impl ReleaseRequests {
    /// Waits for one; `None` if the host ends before there is any.
    pub async fn next(&mut self) -> Option<ReleaseReason> {
        let asked = self.0.wait_for(Option::is_some).await.ok()?;
        *asked
    }
}

pub async fn get_status(host: Arc<Host>, _: GetStatus) -> Reply<HostStatus> {
    let (working_sessions, open_sessions) = host.engine.n_sessions();
    let team = Arc::clone(&host.settings.newest().team);
    let started_at = i64::try_from(host.started_at).unwrap_or_default();
    let started_at = Timestamp::from_millisecond(started_at).unwrap_or_default();
    Ok(Response::new(HostStatus {
        kind: host.kind(),
        pid: process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: started_at.to_string(),
        address: host.presence.http.get().map(|it| it.address.clone()),
        remote_address: host.presence.remote_address.get().cloned(),
        house: host.reads().house.dir.display().to_string(),
        agents: team.members().map(|member| member.id.clone()).collect(),
        default_agent: team.default_agent().map(str::to_owned),
        working_sessions,
        open_sessions,
    }))
}

pub async fn create_login(host: Arc<Host>, caller: Caller, _: CreateLogin) -> Reply<LoginLink> {
    caller.require_owner()?;
    Ok(Response::new(LoginLink { url: host.login_link()? }))
}

pub async fn release_house(
    host: Arc<Host>,
    caller: Caller,
    call: ReleaseHouse,
) -> Reply<ReleasedHouse> {
    caller.require_owner()?;
    let (kind, pid) = (host.kind(), process::id());
    if kind == HostKind::Chat && call.reason == ReleaseReason::Stop {
        let message = format!("the host is a conversation in a terminal (pid {pid})");
        return Err(CallError::request(ErrorCode::RuntimeBusy, message)
            .hint("quit it there with `/quit` or Ctrl-D"));
    }
    host.presence.release.send_replace(Some(call.reason));
    Ok(Response::new(ReleasedHouse { kind, pid }))
}
