//! The one place that makes HTTP clients.
//!
//! A client connects, keeps idle connections and drives each connection inside the future that uses it:
//! a task in the background would be woken twice for each piece of an answer. It is made on first use:
//! loading the certificates of the system takes longer than the rest of a command that asks no model.
//! A request is sent a second time only if nothing of it was sent the first time: a model that may have
//! received it may have begun to answer, and answers cost money. What else is repeated, the engine decides
//! and the log tells. Redirects are not followed: one would carry the conversation to a host that the owner did not choose.

mod connect;
mod connection;
mod pinned;
pub mod remote_socket;
mod socket;

use std::error::Error;
use std::iter;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::header::{HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use tokio::time::Instant;
use url::Url;

use connect::Connector;
use connection::Connection;

use crate::guarded_fetch::AddressRule;

pub(crate) const CONNECT_SECS_MAX: u64 = 15;
/// How long an idle connection is used again; servers and what stands between close them about then.
const IDLE_SECS_MAX: u64 = 90;
const IDLE_CONNECTIONS_MAX: usize = 128;
const AGENT: HeaderValue = HeaderValue::from_static(concat!("kith/", env!("CARGO_PKG_VERSION")));

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("no response")]
    Connection(#[from] hyper::Error),
    /// A connection that was kept from an earlier request ended before a byte of the response came.
    #[error("no response on a kept connection")]
    KeptConnection(#[source] hyper::Error),
    #[error("no connection")]
    Connect(#[from] std::io::Error),
    #[error("no secure connection")]
    Tls(#[from] rustls::Error),
    #[error("not a valid address: {0}")]
    Address(String),
    /// The rest of a sentence that begins with the proxy and says what to do. Never with credentials.
    #[error("the proxy {0}")]
    Proxy(String),
    #[error("no connection within {CONNECT_SECS_MAX} seconds")]
    Timeout,
}

impl HttpError {
    /// What to do about it.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            HttpError::Proxy(_) => "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY",
            HttpError::Address(_) => "check the base URL",
            HttpError::Tls(error) => tls_advice(error),
            HttpError::Connect(error) => match error.get_ref().and_then(|it| it.downcast_ref()) {
                Some(error) => tls_advice(error),
                None => CHECK_SERVER,
            },
            HttpError::Connection(_) | HttpError::KeptConnection(_) | HttpError::Timeout => {
                CHECK_SERVER
            }
        }
    }
}

const CHECK_SERVER: &str = "check the base URL and that the server is running";

fn tls_advice(error: &rustls::Error) -> &'static str {
    use rustls::CertificateError as Cert;
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            Cert::NotValidForName | Cert::NotValidForNameContext { .. } => {
                "the certificate belongs to a server of another name; check the base URL"
            }
            Cert::Expired
            | Cert::ExpiredContext { .. }
            | Cert::NotValidYet
            | Cert::NotValidYetContext { .. } => {
                "check the clock of this machine, and the server's certificate"
            }
            _ => {
                "if the server has a certificate authority of its own, set SSL_CERT_FILE to a file \
                 that contains it"
            }
        },
        rustls::Error::InvalidMessage(_) => {
            "the server does not speak TLS there; check the port, or write `http` instead of `https`"
        }
        _ => CHECK_SERVER,
    }
}

/// The innermost error: it says "connection refused" where the outer ones say "error".
pub(crate) fn root_cause(error: &dyn Error) -> String {
    // A chain of errors is short; the limit only guards against one that has no end.
    const CAUSES_MAX: usize = 16;
    let chain = iter::successors(Some(error), |&error| error.source());
    chain.take(CAUSES_MAX).last().map(ToString::to_string).unwrap_or_default()
}

/// HTTP clients with their connections, one for each kind of address. Connections live in the
/// runtime that made them, so only providers of one runtime may share them.
#[derive(Debug, Default)]
pub struct HttpClients {
    remote: OnceLock<HttpClient>,
    loopback: OnceLock<HttpClient>,
    plain_loopback: OnceLock<HttpClient>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientKind {
    Remote,
    /// What stays on this machine needs no proxy.
    Loopback,
    /// And without TLS no certificates.
    PlainLoopback,
}

impl HttpClients {
    pub(crate) fn of(&self, endpoint: &Url) -> Result<&HttpClient, HttpError> {
        let kind = kind_of(endpoint);
        let client = match kind {
            ClientKind::Remote => &self.remote,
            ClientKind::Loopback => &self.loopback,
            ClientKind::PlainLoopback => &self.plain_loopback,
        };
        if let Some(client) = client.get() {
            return Ok(client);
        }
        let connector = match kind {
            ClientKind::Remote => Connector::remote()?,
            ClientKind::Loopback => Connector::loopback()?,
            ClientKind::PlainLoopback => Connector::plain(),
        };
        Ok(client.get_or_init(|| HttpClient { connector, idle: Mutex::default() }))
    }
}

/// Sends requests, and keeps the connections that can be used again.
#[derive(Debug)]
pub(crate) struct HttpClient {
    connector: Connector,
    idle: Mutex<Vec<IdleConnection>>,
}

#[derive(Debug)]
struct IdleConnection {
    origin: String,
    since: Instant,
    connection: Connection,
}

/// A request to be sent.
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    /// A client for addresses that somebody else chose: it reaches only those that the rule allows.
    pub(crate) fn guarded(is_allowed: AddressRule) -> Result<HttpClient, HttpError> {
        let connector = Connector::guarded(is_allowed)?;
        Ok(HttpClient { connector, idle: Mutex::default() })
    }

    /// Sends the request and waits for the head of its response.
    pub(crate) async fn send(
        &self,
        request: HttpRequest<'_>,
    ) -> Result<HttpResponse<'_>, HttpError> {
        let origin = request.url.origin().ascii_serialization();
        let uri: Uri = request.url.as_str().parse().map_err(address_error)?;
        let mut request = self.rendered(request, &uri)?;
        loop {
            let idle = self.take_idle(&origin);
            let is_reused = idle.is_some();
            let mut connection = match idle {
                Some(mut connection) => {
                    if !connection.is_ready().await {
                        continue;
                    }
                    connection
                }
                // Connecting takes much room, and a connection is mostly there already.
                None => Box::pin(self.connector.connect(&uri)).await?,
            };
            match connection.send(request).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    let (status, headers) = (head.status, head.headers);
                    let reuse = Reuse { client: self, origin, connection };
                    return Ok(HttpResponse { status, headers, body, reuse });
                }
                Err(mut error) if is_reused => {
                    // Others of that server were probably closed at the same time.
                    self.forget_idle(&origin);
                    match error.take_message() {
                        // The server closed it meanwhile, and nothing was sent.
                        Some(unsent) => request = unsent,
                        None => return Err(lost_kept(error.into_error())),
                    }
                }
                Err(error) => return Err(error.into_error().into()),
            }
        }
    }

    /// The request as it goes over a connection. A proxy that reads it is told the whole address.
    fn rendered(
        &self,
        request: HttpRequest<'_>,
        uri: &Uri,
    ) -> Result<Request<Full<Bytes>>, HttpError> {
        let HttpRequest { method, headers, body, .. } = request;
        let host = uri.authority().map(Authority::as_str).unwrap_or_default();
        let host = HeaderValue::from_str(host).map_err(address_error)?;
        let mut rendered = Request::new(Full::new(Bytes::from(body)));
        *rendered.method_mut() = method;
        let sent = rendered.headers_mut();
        sent.insert(HOST, host);
        sent.insert(USER_AGENT, AGENT);
        for (name, value) in headers {
            sent.insert(name, value);
        }
        *rendered.uri_mut() = match self.connector.reading_proxy(uri) {
            None => {
                let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
                path.parse().map_err(address_error)?
            }
            Some(proxy) => {
                if let Some(authorization) = proxy.basic_auth() {
                    rendered.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
                }
                uri.clone()
            }
        };
        Ok(rendered)
    }

    /// A connection to this origin, the last one that was used.
    fn take_idle(&self, origin: &str) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let age_max = Duration::from_secs(IDLE_SECS_MAX);
        idle.retain(|it| now.saturating_duration_since(it.since) < age_max);
        let place = idle.iter().rposition(|it| it.origin == origin)?;
        Some(idle.remove(place).connection)
    }

    fn forget_idle(&self, origin: &str) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|it| it.origin != origin);
    }

    fn keep(&self, origin: String, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_CONNECTIONS_MAX {
            idle.push(IdleConnection { origin, since: Instant::now(), connection });
        }
    }
}

/// Who answers with something else than HTTP has not closed the connection.
fn lost_kept(error: hyper::Error) -> HttpError {
    if error.is_parse() { error.into() } else { HttpError::KeptConnection(error) }
}

fn address_error(error: impl Error) -> HttpError {
    HttpError::Address(error.to_string())
}

/// A response whose body is read piece by piece. Its connection is closed with it, unless
/// [`HttpResponse::keep_connection`] is called.
pub(crate) struct HttpResponse<'a> {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    reuse: Reuse<'a>,
}

struct Reuse<'a> {
    client: &'a HttpClient,
    origin: String,
    connection: Connection,
}

impl HttpResponse<'_> {
    /// The next bytes of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        Ok(self.reuse.connection.chunk(&mut self.body).await?)
    }

    /// Keeps the connection for another request: what is wanted of the body was read.
    pub(crate) fn keep_connection(self) {
        let Reuse { client, origin, connection } = self.reuse;
        drop(self.body);
        client.keep(origin, connection);
    }
}

/// Whether the server is on this machine.
pub(crate) fn is_loopback(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

fn kind_of(endpoint: &Url) -> ClientKind {
    let is_loopback = is_loopback(endpoint);
    match endpoint.scheme() {
        "http" if is_loopback => ClientKind::PlainLoopback,
        _ if is_loopback => ClientKind::Loopback,
        _ => ClientKind::Remote,
    }
}

#[cfg(test)]
mod tests;
