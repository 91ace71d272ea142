//! The one place that makes an HTTP client.
//!
//! A client made before the TLS provider is installed panics, so nothing else may make one. It is
//! made on first use: loading the certificates of the system takes longer than the rest of a
//! command that asks no model. It keeps its connections, so providers may share what makes it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

pub(crate) const CONNECT_SECS_MAX: u64 = 15;

/// HTTP clients with their connections, one for each kind of address. Connections live in the
/// runtime that made them, so only providers of one runtime may share them.
#[derive(Debug, Default)]
pub struct HttpClients {
    remote: OnceLock<Client>,
    loopback: OnceLock<Client>,
    plain_loopback: OnceLock<Client>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientKind {
    Remote,
    /// What stays on this machine needs no proxy.
    Loopback,
    /// And without TLS no certificates.
    PlainLoopback,
}

impl HttpClients {
    pub(crate) fn of(&self, endpoint: &Url) -> reqwest::Result<&Client> {
        let kind = kind_of(endpoint);
        let client = match kind {
            ClientKind::Remote => &self.remote,
            ClientKind::Loopback => &self.loopback,
            ClientKind::PlainLoopback => &self.plain_loopback,
        };
        if let Some(client) = client.get() {
            return Ok(client);
        }
        let built = build(kind)?;
        Ok(client.get_or_init(|| built))
    }
}

/// What all clients have in common.
fn builder() -> ClientBuilder {
    // It fails if a provider is installed already, which is as good.
    rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    #[allow(clippy::disallowed_methods, reason = "this is the one function that makes clients")]
    Client::builder()
        .user_agent(concat!("kith/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(CONNECT_SECS_MAX))
        // A redirect would carry the conversation to a host that the owner did not choose.
        .redirect(Policy::none())
}

/// A client for addresses that a model gave. A proxy would look names up by itself, where nobody checks
/// them, so there is none.
pub(crate) fn guarded(resolver: Arc<impl Resolve + 'static>) -> reqwest::Result<Client> {
    builder().no_proxy().dns_resolver(resolver).build()
}

fn build(kind: ClientKind) -> reqwest::Result<Client> {
    let client = builder();
    let client = match kind {
        ClientKind::Remote => client,
        ClientKind::Loopback => client.no_proxy(),
        ClientKind::PlainLoopback => client.no_proxy().tls_certs_only([]),
    };
    client.build()
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
