//! A page of the public web, fetched for a model.
//!
//! The address comes from a model, so it may name a service inside the owner's network. Only public
//! addresses are reached: a literal address is checked in whatever notation it was written, and a name is
//! checked by the addresses it has at the moment of connecting, so that it cannot lead elsewhere in
//! between. A redirect is not followed to another host; who asked may ask for that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use http::{HeaderName, HeaderValue, Method};
use url::Url;

use crate::client::{HttpClient, HttpError, HttpRequest, HttpResponse, root_cause};

/// Bytes of a page; the rest is left out.
pub const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of an address.
pub const URL_BYTES_MAX: usize = 2048;
/// Redirects within one host.
const REDIRECTS_MAX: usize = 5;

const ACCEPTED: HeaderValue = HeaderValue::from_static("text/html,text/*;q=0.9,*/*;q=0.1");

/// Whether an address may be reached.
pub(crate) type AddressRule = fn(&IpAddr) -> bool;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPage {
    /// Where it came from in the end.
    pub url: String,
    pub status: u16,
    /// As the server calls it, in lower case, without parameters.
    pub content_type: String,
    pub body: Vec<u8>,
    pub is_cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("`{url}` is not an address: {reason}")]
    BadUrl { url: String, reason: String },
    #[error("`{host}` is not on the public internet")]
    PrivateHost { host: String },
    #[error("it redirects to another host, `{url}`; ask for that one")]
    OtherHost { url: String },
    #[error("it redirects more than {REDIRECTS_MAX} times")]
    TooManyRedirects,
    #[error("`{host}` cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("`{host}` did not answer in time")]
    Timeout { host: String },
    #[error("`{host}` sent the page compressed ({encoding}), which was not asked for")]
    Compressed { host: String, encoding: String },
}

/// An address that a model gave, checked as far as words go.
pub fn parse(text: &str) -> Result<Url, FetchError> {
    parse_for(text, is_public)
}

/// Parses under another rule for addresses.
fn parse_for(text: &str, is_allowed: AddressRule) -> Result<Url, FetchError> {
    let bad = |reason: &str| {
        let url = text.chars().take(80).collect();
        FetchError::BadUrl { url, reason: reason.to_owned() }
    };
    if text.len() > URL_BYTES_MAX {
        return Err(bad("it is too long"));
    }
    let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("only http and https can be fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds a user name or a password"));
    }
    let host = url.host_str().ok_or_else(|| bad("it names no host"))?;
    // Whatever notation a number was written in, the parser has made the usual one of it.
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let is_private = literal.as_ref().is_some_and(|it| !is_allowed(it)) || is_local_name(host);
    if is_private {
        return Err(FetchError::PrivateHost { host: host.to_owned() });
    }
    Ok(url)
}

/// Fetches a page. `time` is for all of it.
pub async fn fetch(url: Url, time: Duration) -> Result<FetchedPage, FetchError> {
    fetch_under(url, time, is_public).await
}

/// Fetches under another rule for addresses.
async fn fetch_under(
    url: Url,
    time: Duration,
    is_allowed: AddressRule,
) -> Result<FetchedPage, FetchError> {
    let host = host_of(&url);
    let fetched = tokio::time::timeout(time, follow(url, is_allowed)).await;
    fetched.unwrap_or(Err(FetchError::Timeout { host }))
}

async fn follow(mut url: Url, is_allowed: AddressRule) -> Result<FetchedPage, FetchError> {
    let host = host_of(&url);
    let unreachable = |error: HttpError| FetchError::Unreachable {
        host: host.clone(),
        reason: root_cause(&error),
    };
    let client = HttpClient::guarded(is_allowed).map_err(unreachable)?;
    for _ in 0..=REDIRECTS_MAX {
        let response = client.send(request(&url)).await.map_err(unreachable)?;
        if let Some(encoding) = encoding_of(&response) {
            return Err(FetchError::Compressed { host, encoding });
        }
        let Some(target) = redirect_of(&response) else {
            return page(&url, response).await.map_err(unreachable);
        };
        let next = url.join(&target).map_err(|error| FetchError::BadUrl {
            url: target.chars().take(80).collect(),
            reason: error.to_string(),
        })?;
        let next = parse_for(next.as_str(), is_allowed)?;
        if host_of(&next) != host {
            return Err(FetchError::OtherHost { url: next.to_string() });
        }
        url = next;
    }
    Err(FetchError::TooManyRedirects)
}

fn request(url: &Url) -> HttpRequest<'_> {
    let headers: Vec<(HeaderName, HeaderValue)> = vec![(ACCEPT, ACCEPTED)];
    HttpRequest { method: Method::GET, url, headers, body: Vec::new() }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_ascii_lowercase()
}

fn header(response: &HttpResponse<'_>, name: HeaderName) -> Option<String> {
    Some(response.headers.get(name)?.to_str().ok()?.trim().to_owned())
}

fn encoding_of(response: &HttpResponse<'_>) -> Option<String> {
    header(response, CONTENT_ENCODING).filter(|it| !it.eq_ignore_ascii_case("identity"))
}

fn redirect_of(response: &HttpResponse<'_>) -> Option<String> {
    if response.status.is_redirection() { header(response, LOCATION) } else { None }
}

async fn page(url: &Url, mut response: HttpResponse<'_>) -> Result<FetchedPage, HttpError> {
    let status = response.status.as_u16();
    let content_type = header(&response, CONTENT_TYPE).unwrap_or_default();
    let content_type = content_type.split(';').next().unwrap_or_default();
    let content_type = content_type.trim().to_ascii_lowercase();
    let mut body = Vec::new();
    let mut is_cut = false;
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > PAGE_BYTES_MAX {
            body.truncate(PAGE_BYTES_MAX);
            is_cut = true;
            break;
        }
    }
    Ok(FetchedPage { url: url.to_string(), status, content_type, body, is_cut })
}

/// Names that never leave a machine or a house.
fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let ends = [".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp"];
    host == "localhost" || ends.iter().any(|end| host.ends_with(end))
}

/// Whether an address belongs to the public internet.
fn is_public(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(*address),
        IpAddr::V6(address) => is_public_v6(*address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // An address of the older kind within one of the newer.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        // Only this part is given out; of it, tunnels, documents and tests are none.
        [first, second, ..] => {
            let is_reserved = first == 0x2001 && (second < 0x200 || second == 0xdb8);
            (0x2000..=0x3fff).contains(&first)
                && !is_reserved
                && !(first == 0x3fff && second < 0x1000)
        }
    }
}

#[cfg(test)]
mod tests;
