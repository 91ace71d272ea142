//! The address of a model, checked, and its digest.
//!
//! A log says which models a message may reach. It names an address by a digest and not by itself,
//! because addresses say more than a log should tell: names of internal servers, and in a careless
//! one a key.

use kith_vocab::digest::sha256_hex;
use kith_vocab::event::models::Wire;
use url::Url;

use crate::render::wire_name;

/// Enough hex digits to tell the addresses of one house apart.
const DIGEST_CHARS: usize = 16;

/// How much of a wrong address is repeated.
const ADDRESS_CHARS_MAX: usize = 200;

/// The paths of requests, which a base URL must not have.
const REQUEST_PATHS: [&str; 5] =
    ["/chat/completions", "/completions", "/responses", "/v1/messages", "/messages"];

#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error(
        "base URL `{text}` is not valid; expected an address such as `https://api.openai.com/v1`"
    )]
    NotAnAddress { text: String },
    /// The address itself is not quoted: it holds a password.
    #[error("the base URL contains a user name or password; configure the key separately")]
    Credentials,
    #[error("base URL `{text}` contains the path of a request; write `{instead}`")]
    WithPath { text: String, instead: String },
    /// The key is not quoted.
    #[error("the key of `{provider}` contains invalid characters; copy it again")]
    Key { provider: String },
}

impl EndpointError {
    pub(crate) fn not_an_address(base_url: &str) -> EndpointError {
        EndpointError::NotAnAddress { text: shortened(base_url) }
    }
}

fn shortened(address: &str) -> String {
    address.chars().take(ADDRESS_CHARS_MAX).collect()
}

/// The digest of a model's address in a log: the first 16 hex digits of the SHA-256 of wire, scheme,
/// host, port and path, each on its line. A default port and a slash at the end change nothing, and
/// neither does the query: it may hold a key.
pub fn endpoint_digest(wire: Wire, base_url: &str) -> Result<String, EndpointError> {
    let url = address(base_url)?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(EndpointError::not_an_address(base_url));
    };
    let path = url.path().trim_end_matches('/');
    let lines = [wire_name(wire), url.scheme(), host, &port.to_string(), path].join("\n");
    let mut digest = sha256_hex(lines.as_bytes());
    digest.truncate(DIGEST_CHARS);
    Ok(digest)
}

/// What to write instead of a base URL that ends with the path of a request, such as
/// `/chat/completions`: the address up to there. A query is left out, because it may hold a key.
pub fn without_request_path(base_url: &str) -> Option<String> {
    let address = base_url.split(['?', '#']).next()?.trim().trim_end_matches('/');
    REQUEST_PATHS.iter().find_map(|path| Some(address.strip_suffix(path)?.to_owned()))
}

/// The address that requests of this wire are posted to.
pub(crate) fn request_address(wire: Wire, base_url: &str) -> Result<Url, EndpointError> {
    let mut url = address(base_url)?;
    if let Some(instead) = without_request_path(base_url) {
        let text = shortened(base_url.split('?').next().unwrap_or_default());
        return Err(EndpointError::WithPath { text, instead: shortened(&instead) });
    }
    let path = match wire {
        Wire::OpenaiChat => "chat/completions",
        Wire::OpenaiResponses => "responses",
        // Clients of this vendor are given its address without a version; people add it anyway.
        Wire::Anthropic if url.path().trim_end_matches('/').ends_with("/v1") => "messages",
        Wire::Anthropic => "v1/messages",
    };
    match url.path_segments_mut() {
        Ok(mut segments) => segments.pop_if_empty().extend(path.split('/')),
        Err(()) => return Err(EndpointError::not_an_address(base_url)),
    };
    Ok(url)
}

/// The base URL of a server that can be asked.
pub(crate) fn address(base_url: &str) -> Result<Url, EndpointError> {
    let not_an_address = || EndpointError::not_an_address(base_url);
    let mut url = Url::parse(base_url.trim()).map_err(|_| not_an_address())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(EndpointError::Credentials);
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(not_an_address());
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests;
