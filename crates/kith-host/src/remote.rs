//! A host on another machine: its address, and what a client shows it.
//!
//! The address carries the hash of the host's certificate, so whoever has the address knows the host
//! again without anybody having signed for it. The token never stands in it: addresses end up in
//! histories and logs.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use http::Uri;
use http::header::AUTHORIZATION;
use kith_providers::client::remote_socket::{self, ConnectFailure, RemoteSocket};
use kith_vocab::secret::Secret;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::attach::AskFailure;
use crate::attach::measured_stream::{ByteCount, MeasuredStream};
use crate::caller::Caller;
use crate::calls::daemon::GetStatus;
use crate::client::Client;
use crate::error::{Blame, CallError, ErrorCode};
use crate::house::House;
use crate::http::websocket::{self, WebSocketSink, WebSocketSource};
use crate::settings::Settings;
use crate::settings::watch::SettingsWatch;
use crate::team::Team;

/// Bytes of an address; a longer one is not an address.
const ADDRESS_BYTES_MAX: usize = 512;
/// How long a host that was reached may take to agree to the protocol.
const HANDSHAKE_MS_MAX: u64 = 15_000;

/// `https://host:port`, and the hash of its certificate if the address has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    authority: String,
    /// In 64 lower-case hexadecimal digits; `None`: the certificate is checked as any web server's.
    sha256: Option<String>,
}

impl RemoteAddress {
    pub fn parse(text: &str) -> Result<RemoteAddress, CallError> {
        let refused = |what: &str| {
            CallError::usage(format!("cannot use the remote address: {what}"))
                .hint("copy it from `kith up --listen`; it looks like https://host:5484#3f2a…")
        };
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(refused("it is too long"));
        }
        let (address, hash) = match text.split_once('#') {
            Some((address, hash)) => (address, Some(hash)),
            None => (text, None),
        };
        if address.starts_with("http://") {
            return Err(refused("a host on another machine is reached over TLS only; use https"));
        }
        let Some(authority) = address.strip_prefix("https://") else {
            return Err(refused("it does not begin with https://"));
        };
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        if authority.contains('@') {
            return Err(refused("it must not hold a name, a password or a token"));
        }
        let uri = address.parse::<Uri>().map_err(|error| refused(&error.to_string()))?;
        let has_more = uri.path() != "/" || uri.query().is_some();
        if uri.host().is_none_or(str::is_empty) || has_more {
            return Err(refused("it must be a host and a port, and nothing more"));
        }
        let is_hash = |it: &str| it.len() == 64 && it.bytes().all(|ch| ch.is_ascii_hexdigit());
        if hash.is_some_and(|it| !is_hash(it)) {
            return Err(refused("what stands after # is not a SHA-256 (64 hexadecimal digits)"));
        }
        let sha256 = hash.map(str::to_ascii_lowercase);
        Ok(RemoteAddress { authority: authority.to_owned(), sha256 })
    }

    /// Host and port, for people.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.authority)?;
        self.sha256.as_ref().map_or(Ok(()), |hash| write!(f, "#{hash}"))
    }
}

/// A host on another machine, and the token that it wants.
pub struct RemoteHost {
    address: RemoteAddress,
    token: Secret,
    /// Whether it has answered before: then it is waited for when it is gone.
    was_reached: AtomicBool,
}

pub(crate) type RemoteStream = MeasuredStream<Box<dyn RemoteSocket>>;
pub(crate) type RemoteFrames =
    (WebSocketSource<RemoteStream>, WebSocketSink<RemoteStream>, ByteCount);

impl RemoteHost {
    pub fn new(address: RemoteAddress, token: Secret) -> RemoteHost {
        RemoteHost { address, token, was_reached: AtomicBool::new(false) }
    }

    pub fn address(&self) -> &RemoteAddress {
        &self.address
    }

    pub(crate) fn was_reached(&self) -> bool {
        self.was_reached.load(Ordering::Relaxed)
    }

    /// A connection on which the host has accepted the token.
    pub(crate) async fn connect(&self) -> Result<RemoteFrames, AskFailure> {
        let RemoteAddress { authority, sha256 } = &self.address;
        let uri = |scheme: &str| format!("{scheme}://{authority}/api/socket");
        let https = uri("https").parse::<Uri>().map_err(|error| refused(error.to_string()))?;
        let stream = remote_socket::connect(&https, sha256.as_deref())
            .await
            .map_err(|failure| self.not_connected(&failure))?;
        let (stream, moved) = MeasuredStream::new(stream);
        let mut request = uri("wss").into_client_request().map_err(|it| refused(it.to_string()))?;
        let Some(bearer) = remote_socket::bearer(&self.token) else {
            let error = CallError::request(ErrorCode::AuthFailed, "the token has odd characters");
            return Err(AskFailure::Refused(error.hint("copy it again from `.kith/http-token`")));
        };
        request.headers_mut().insert(AUTHORIZATION, bearer);
        let opening = client_async_with_config(request, stream, Some(websocket::limits()));
        let opened = tokio::time::timeout(Duration::from_millis(HANDSHAKE_MS_MAX), opening).await;
        let opened = opened.map_err(|_| AskFailure::Silent)?;
        let (socket, _) = opened.map_err(|error| self.not_opened(error))?;
        self.was_reached.store(true, Ordering::Relaxed);
        let (sink, source) = socket.split();
        Ok((WebSocketSource(source), WebSocketSink(sink), moved))
    }

    fn not_connected(&self, failure: &ConnectFailure) -> AskFailure {
        let at = &self.address.authority;
        let environment =
            |message: String| CallError::new(Blame::Environment, ErrorCode::RuntimeBusy, message);
        let auth = |message: String| CallError::request(ErrorCode::AuthFailed, message);
        AskFailure::Refused(match failure {
            ConnectFailure::Unreachable(why) => {
                return AskFailure::Unreachable(io::Error::other(why.clone()));
            }
            ConnectFailure::Proxy(what) => environment(format!("the proxy {what}"))
                .hint("NO_PROXY names hosts that are reached without it"),
            ConnectFailure::NotTls => environment(format!("`{at}` does not speak TLS"))
                .hint("check the port; `kith up --listen` prints the address"),
            ConnectFailure::Expired => auth(format!("the certificate of `{at}` has expired"))
                .hint("renew it on the host, or check the clock of this machine"),
            ConnectFailure::NotYetValid => {
                auth(format!("the certificate of `{at}` is not valid yet"))
                    .hint("check the clocks of both machines")
            }
            ConnectFailure::OtherCertificate(shown) => auth(format!(
                "the certificate of `{at}` is not the one that the address names (it has \
                 SHA-256 {shown}); nothing was sent"
            ))
            .hint(
                "if it was replaced, `kith status` on the host prints the new address; if not, \
                 another machine answers in its place",
            ),
            ConnectFailure::Untrusted(why) => {
                auth(format!("the certificate of `{at}` is not trusted: {why}"))
                    .hint("use the whole address that `kith up --listen` printed, with its #")
            }
        })
    }

    fn not_opened(&self, error: Error) -> AskFailure {
        let at = &self.address.authority;
        let Error::Http(response) = error else {
            return match error {
                Error::Io(error) => AskFailure::Unreachable(error),
                error => refused(format!("`{at}` is not a kith host: {error}")),
            };
        };
        let said = response.body().as_deref().and_then(said_error);
        let error = match response.status().as_u16() {
            401 => CallError::request(
                ErrorCode::AuthFailed,
                format!("the host at `{at}` does not accept the token"),
            )
            .hint("copy `.kith/http-token` from the host again"),
            503 => return AskFailure::Unreachable(io::Error::other("the host is shutting down")),
            status => match said {
                Some(error) => error,
                None => return refused(format!("`{at}` is not a kith host (it answers {status})")),
            },
        };
        AskFailure::Refused(error)
    }

    pub(crate) fn unreachable(&self, error: &io::Error) -> CallError {
        let message = format!("cannot reach the host at `{}`: {error}", self.address.authority);
        CallError::new(Blame::Environment, ErrorCode::RuntimeBusy, message)
            .hint("check the address, and that `kith up --listen` runs there")
    }

    pub(crate) fn silent(&self) -> CallError {
        let message = format!("the host at `{}` does not answer", self.address.authority);
        CallError::new(Blame::Environment, ErrorCode::RuntimeBusy, message)
            .hint("it may be suspended; what was accepted is not lost")
    }
}

/// What a host on another machine says of its house.
pub struct RemoteHouse {
    host: Arc<RemoteHost>,
    house: House,
    settings: Arc<SettingsWatch>,
}

impl RemoteHouse {
    /// Asks the host for it; fails if the host cannot be reached or does not let us in.
    pub async fn meet(host: RemoteHost, caller: Caller) -> Result<RemoteHouse, CallError> {
        let host = Arc::new(host);
        let unknown = House { dir: PathBuf::new(), cwd: PathBuf::new(), user_home: None };
        let client = Client::of_remote(unknown, caller, Arc::clone(&host));
        let status = client.call(GetStatus {}).await?.data;
        let dir = PathBuf::from(status.house);
        let house = House { cwd: dir.clone(), dir, user_home: None };
        let team = Team::of_remote(status.agents, status.default_agent);
        let settings = SettingsWatch::given(Settings::of_team(&house, team)?);
        Ok(RemoteHouse { host, house, settings })
    }

    pub fn client(&self, caller: Caller) -> Client {
        Client::of_remote(self.house.clone(), caller, Arc::clone(&self.host))
    }

    /// Its folder on that machine, which is also where its conversations are.
    pub fn house(&self) -> &House {
        &self.house
    }

    /// Its agents; everything else is the host's own business.
    pub fn settings(&self) -> &Arc<SettingsWatch> {
        &self.settings
    }

    pub fn address(&self) -> &RemoteAddress {
        self.host.address()
    }
}

impl fmt::Debug for RemoteHouse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteHouse").field("address", self.address()).finish_non_exhaustive()
    }
}

fn refused(message: String) -> AskFailure {
    AskFailure::Refused(CallError::request(ErrorCode::ProtocolMismatch, message))
}

/// The error in the body of a refusal.
fn said_error(body: &[u8]) -> Option<CallError> {
    #[derive(serde::Deserialize)]
    struct HostRefusal {
        error: CallError,
    }
    serde_json::from_slice::<HostRefusal>(body).ok().map(|it| it.error)
}

#[cfg(test)]
mod tests;
