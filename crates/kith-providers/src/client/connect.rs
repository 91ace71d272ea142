//! How a server is reached: its addresses, a proxy of the environment, TLS.

use std::env;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::connection::Connection;
use super::pinned::PinnedCertificate;
use super::socket::{Socket, TcpSocket};
use super::{CONNECT_SECS_MAX, HttpError, root_cause};
use crate::guarded_fetch::AddressRule;

/// Addresses of one server that are tried.
const ADDRESSES_MAX: usize = 8;
/// How long one address is tried before the next is tried beside it.
const NEXT_ADDRESS_MS: u64 = 250;
/// Bytes of what a proxy says before it passes anything on.
const PROXY_HEAD_BYTES_MAX: usize = 16 * 1024;

/// Connects to servers of one kind of address.
pub(super) struct Connector {
    tls: Option<TlsConnector>,
    proxies: Option<Matcher>,
    /// Which addresses of servers may be reached; all if there is none.
    is_allowed: Option<AddressRule>,
}

impl Connector {
    pub(super) fn remote() -> Result<Connector, HttpError> {
        check_proxies(|name| env::var(name).ok())?;
        Ok(Connector { tls: Some(tls()?), proxies: Some(Matcher::from_env()), is_allowed: None })
    }

    pub(super) fn loopback() -> Result<Connector, HttpError> {
        Ok(Connector { tls: Some(tls()?), proxies: None, is_allowed: None })
    }

    /// For a server that is known by the hash of its certificate.
    pub(super) fn pinned(pin: Arc<PinnedCertificate>) -> Result<Connector, HttpError> {
        Ok(Connector { tls: Some(pinned_tls(pin)?), ..Connector::remote()? })
    }

    pub(super) fn plain() -> Connector {
        Connector { tls: None, proxies: None, is_allowed: None }
    }

    /// For addresses that are not the owner's choice.
    pub(super) fn guarded(is_allowed: AddressRule) -> Result<Connector, HttpError> {
        Ok(Connector { is_allowed: Some(is_allowed), ..Connector::remote()? })
    }

    pub(super) async fn connect(&self, uri: &Uri) -> Result<Connection, HttpError> {
        let connecting = async {
            let socket = self.socket(uri).await?;
            Ok(Connection::over(socket).await?)
        };
        let time_max = Duration::from_secs(CONNECT_SECS_MAX);
        timeout(time_max, connecting).await.unwrap_or(Err(HttpError::Timeout))
    }

    /// A socket for a protocol of its own.
    pub(super) async fn open(&self, uri: &Uri) -> Result<Box<dyn Socket>, HttpError> {
        let time_max = Duration::from_secs(CONNECT_SECS_MAX);
        timeout(time_max, self.socket(uri)).await.unwrap_or(Err(HttpError::Timeout))
    }

    /// The proxy that reads the request itself, because it goes without TLS.
    pub(super) fn reading_proxy(&self, uri: &Uri) -> Option<Intercept> {
        if is_https(uri) { None } else { self.proxy_of(uri) }
    }

    fn proxy_of(&self, uri: &Uri) -> Option<Intercept> {
        self.proxies.as_ref()?.intercept(uri)
    }

    async fn socket(&self, uri: &Uri) -> Result<Box<dyn Socket>, HttpError> {
        let Some(proxy) = self.proxy_of(uri) else { return self.reach(uri, self.is_allowed).await };
        if let Some(is_allowed) = self.is_allowed
            // Where only the proxy can look names up, it decides what can be reached.
            && let Ok(found) = addresses(host_of(uri)?, port_of(uri)).await
        {
            check(&found, is_allowed)?;
        }
        let name = proxy_name(proxy.uri());
        let proxy_scheme = proxy.uri().scheme_str().unwrap_or_default();
        if !matches!(proxy_scheme, "http" | "https") {
            return Err(HttpError::Proxy(format!(
                "{name} is of kind `{proxy_scheme}`, which is not supported: set HTTPS_PROXY or \
                 HTTP_PROXY to an HTTP proxy"
            )));
        }
        let mut socket = self.reach(proxy.uri(), None).await.map_err(|error| {
            let cause = root_cause(&error);
            HttpError::Proxy(format!(
                "{name} could not be reached ({cause}): check HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
            ))
        })?;
        if is_https(uri) {
            let refused = |what: String| HttpError::Proxy(format!("{name} {what}"));
            tunnel(&mut *socket, uri, proxy.basic_auth()).await.map_err(refused)?;
            socket = self.secure(socket, host_of(uri)?).await?;
        }
        Ok(socket)
    }

    async fn reach(
        &self,
        uri: &Uri,
        is_allowed: Option<AddressRule>,
    ) -> Result<Box<dyn Socket>, HttpError> {
        let found = addresses(host_of(uri)?, port_of(uri)).await?;
        if let Some(is_allowed) = is_allowed {
            check(&found, is_allowed)?;
        }
        // What was checked is what is connected to: the name is not looked up again.
        let stream = first_to_answer(found, TcpStream::connect).await?;
        stream.set_nodelay(true)?;
        let socket: Box<dyn Socket> = Box::new(TcpSocket::new(stream));
        if is_https(uri) { self.secure(socket, host_of(uri)?).await } else { Ok(socket) }
    }

    async fn secure(
        &self,
        socket: Box<dyn Socket>,
        host: &str,
    ) -> Result<Box<dyn Socket>, HttpError> {
        let Some(tls) = &self.tls else {
            return Err(HttpError::Address("a server without TLS was expected".to_owned()));
        };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| HttpError::Address(error.to_string()))?;
        Ok(Box::new(tls.connect(name, socket).await?))
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("has_tls", &self.tls.is_some()).finish_non_exhaustive()
    }
}

/// TLS with the certificate authorities of the system, or those of `SSL_CERT_FILE`.
fn tls() -> Result<TlsConnector, HttpError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// TLS with one server, whoever signed its certificate.
fn pinned_tls(pin: Arc<PinnedCertificate>) -> Result<TlsConnector, HttpError> {
    let mut config = ClientConfig::builder_with_provider(pin.provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(pin)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Refuses addresses of proxies that cannot be read. They would be passed over otherwise, and what the
/// owner wanted to send through a proxy would go without it.
fn check_proxies(variable: impl Fn(&str) -> Option<String>) -> Result<(), HttpError> {
    for names in
        [["HTTPS_PROXY", "https_proxy"], ["HTTP_PROXY", "http_proxy"], ["ALL_PROXY", "all_proxy"]]
    {
        let Some((name, value)) = names.iter().find_map(|it| Some((it, variable(it)?))) else {
            continue;
        };
        let matcher = Matcher::builder().all(value.as_str()).build();
        let is_valid = matcher.intercept(&Uri::from_static("http://server.invalid")).is_some();
        if !value.is_empty() && !is_valid {
            // The value is not quoted: it may hold a password.
            return Err(HttpError::Proxy(format!(
                "in {name} has no valid address: write it as in `http://proxy.example:8080`"
            )));
        }
    }
    Ok(())
}

/// Host and port of a proxy. The rest of its address may hold a part of a password.
fn proxy_name(proxy: &Uri) -> String {
    format!("{}:{}", proxy.host().unwrap_or_default(), port_of(proxy))
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// The host without the brackets of an IPv6 address.
fn host_of(uri: &Uri) -> Result<&str, HttpError> {
    // The address is not quoted: its query may hold a key.
    let host = uri.host().ok_or_else(|| HttpError::Address("it has no host".to_owned()))?;
    Ok(host.trim_start_matches('[').trim_end_matches(']'))
}

fn port_of(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if is_https(uri) { 443 } else { 80 })
}

async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    Ok(by_turns(lookup_host((host, port)).await?.collect()))
}

/// One private address among public ones is what a trap looks like.
fn check(addresses: &[SocketAddr], is_allowed: AddressRule) -> io::Result<()> {
    if addresses.iter().all(|it| is_allowed(&it.ip())) {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::PermissionDenied, "it has a private address"))
}

/// Connects to the first address that answers. A server may have addresses that lead nowhere from
/// here, so the next one is tried beside one that is slow.
async fn first_to_answer<S: Send + 'static, F>(
    addresses: Vec<SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<S>
where
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let mut attempts = JoinSet::new();
    let mut failure = io::Error::new(ErrorKind::NotFound, "the name of the server has no address");
    for address in addresses {
        attempts.spawn(connect(address));
        tokio::select! {
            Some(ended) = attempts.join_next() => match ended {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => failure = error,
                Err(error) => failure = io::Error::other(error),
            },
            () = sleep(Duration::from_millis(NEXT_ADDRESS_MS)) => (),
        }
    }
    while let Some(ended) = attempts.join_next().await {
        match ended {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = error,
            Err(error) => failure = io::Error::other(error),
        }
    }
    Err(failure)
}

/// Addresses of both families by turns, in the order of the resolver.
fn by_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_ipv6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|it| it.is_ipv6() == first_is_ipv6);
    let mut second = second.into_iter();
    let mut ordered = Vec::new();
    for address in first {
        ordered.push(address);
        ordered.extend(second.next());
    }
    ordered.extend(second);
    ordered.truncate(ADDRESSES_MAX);
    ordered
}

/// Has the proxy pass on what follows to the server. An error is the rest of a sentence that begins with
/// the proxy.
async fn tunnel(
    socket: &mut dyn Socket,
    uri: &Uri,
    authorization: Option<&HeaderValue>,
) -> Result<(), String> {
    let broken = |error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            "closed the connection without an answer: check that it is an HTTP proxy".to_owned()
        }
        _ => format!("broke off the connection ({error}): check that it is an HTTP proxy"),
    };
    let (host, port) = (uri.host().unwrap_or_default(), port_of(uri));
    let mut head =
        format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n").into_bytes();
    if let Some(value) = authorization {
        head.extend_from_slice(b"Proxy-Authorization: ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    socket.write_all(&head).await.map_err(broken)?;
    socket.flush().await.map_err(broken)?;
    let mut said = Vec::new();
    // The server speaks only after us, so what comes before is the proxy's.
    while !said.ends_with(b"\r\n\r\n") {
        if said.len() >= PROXY_HEAD_BYTES_MAX {
            return Err(NOT_A_PROXY.to_owned());
        }
        said.push(socket.read_u8().await.map_err(broken)?);
    }
    let line = String::from_utf8_lossy(&said);
    let status = line.split(' ').nth(1).unwrap_or_default();
    match status.as_bytes() {
        _ if !line.starts_with("HTTP/1.") => Err(NOT_A_PROXY.to_owned()),
        [b'2', b'0'..=b'9', b'0'..=b'9'] => Ok(()),
        b"407" if authorization.is_some() => {
            Err("refused the user name and password in its address (status 407): check them"
                .to_owned())
        }
        b"407" => Err("requires a user name and password (status 407): write them into its \
                       address, as in `http://name:password@proxy.example:8080`"
            .to_owned()),
        [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => Err(format!(
            "did not connect to the server (status {status}): check the base URL, or except the \
             server with NO_PROXY"
        )),
        _ => Err(NOT_A_PROXY.to_owned()),
    }
}

const NOT_A_PROXY: &str = "did not answer as an HTTP proxy does: check its address";

#[cfg(test)]
mod tests;
