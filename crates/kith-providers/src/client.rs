//! The one place that makes an HTTP client.
//!
//! A client made before the TLS provider is installed panics, so nothing else may make one. It is
//! made on first use: loading the certificates of the system takes longer than the rest of a
//! command that asks no model.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

pub(crate) const CONNECT_SECS_MAX: u64 = 15;

pub(crate) fn build(endpoint: &Url) -> reqwest::Result<Client> {
    // It fails when another part of the program was first, which is as good.
    rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    #[allow(clippy::disallowed_methods, reason = "this is the one function that makes clients")]
    let mut client = Client::builder()
        .user_agent(concat!("kith/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(CONNECT_SECS_MAX))
        // A redirect would carry the conversation to a host that nobody chose.
        .redirect(Policy::none());
    if is_loopback(endpoint) {
        // What stays on this machine needs no proxy, and without TLS no certificates.
        client = client.no_proxy();
        if endpoint.scheme() == "http" {
            client = client.tls_certs_only([]);
        }
    }
    client.build()
}

fn is_loopback(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}
