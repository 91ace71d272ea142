//! The address of a model's server.
//!
//! It is taken apart in one place, because three decisions rest on its parts: whether it is an
//! address at all, whether what is said would leave this machine, and which endpoint a message was
//! meant for.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

const HOST_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;

/// Invariant: the scheme is `http` or `https`, and nothing stands before the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    pub scheme: String,
    /// In lower case; an IPv6 address keeps its brackets.
    pub host: String,
    pub port: u16,
    /// Without the slash at its end.
    pub path: String,
    query: String,
}

impl ServerAddress {
    pub fn parse(text: &str) -> Option<ServerAddress> {
        if text.chars().any(|ch| ch.is_whitespace() || ch.is_control() || ch == '\\') {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let usual_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host_end = authority.rfind(']').map_or(0, |at| at + 1);
        let (host, port) = match authority[host_end..].find(':') {
            None => (authority, usual_port),
            Some(at) => {
                let (host, port) = authority.split_at(host_end + at);
                let digits = &port[1..];
                let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
                (host, digits.parse().ok().filter(|_| is_number)?)
            }
        };
        is_host(host).then(|| ServerAddress {
            text: text.to_owned(),
            scheme: scheme.to_owned(),
            host: host.to_ascii_lowercase(),
            port,
            path: path.trim_end_matches('/').to_owned(),
            query: query.to_owned(),
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is certainly on this machine.
    pub fn is_local(&self) -> bool {
        match self.host.as_str() {
            "localhost" | "[::1]" => true,
            host => host.parse::<Ipv4Addr>().is_ok_and(|it| it.is_loopback()),
        }
    }

    /// The names of its query's parameters.
    pub(super) fn query_names(&self) -> impl Iterator<Item = &str> {
        self.query.split('&').filter_map(|it| it.split('=').next())
    }
}

/// As people are shown it: without the query, which may hold a key.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.split(['?', '#']).next().unwrap_or_default())
    }
}

fn is_host(host: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
    let is_label = |label: &str| {
        let has_dash_at_end = label.starts_with('-') || label.ends_with('-');
        (1..=LABEL_CHARS_MAX).contains(&label.len())
            && !has_dash_at_end
            && label.bytes().all(is_plain)
    };
    match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(address) => address.parse::<IpAddr>().is_ok_and(|it| it.is_ipv6()),
        None => host.len() <= HOST_CHARS_MAX && host.split('.').all(is_label),
    }
}

#[cfg(test)]
mod tests;
