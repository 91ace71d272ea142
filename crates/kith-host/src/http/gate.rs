//! The first look at a request: whether it was meant for this server, and who made the browser send it.
//!
//! A name that a stranger controls can be made to lead to this machine (DNS rebinding), so the `Host`
//! must be one of ours to the letter. A page of a stranger can make the owner's browser send a request
//! here, with the cookie if it is from another port of this machine; browsers then say where that page
//! is from, and forms cannot send JSON.

use http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request};

use super::HEAD_BYTES_MAX;
use super::reply::HttpProblem;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names by which this server may be asked for.
#[derive(Clone, Debug)]
pub(super) enum Hosts {
    /// These, to the letter.
    Loopback(Vec<String>),
    /// Any: a browser compares the name with the certificate, and a name of a stranger is not in it. Which
    /// names lead here, only the owner's network knows.
    Tls,
}

impl Hosts {
    pub(super) fn of_loopback(port: u16) -> Hosts {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        Hosts::Loopback(names.iter().map(|name| format!("{name}:{port}")).collect())
    }

    fn has(&self, host: &str) -> bool {
        match self {
            Hosts::Loopback(names) => names.iter().any(|name| name.eq_ignore_ascii_case(host)),
            Hosts::Tls => !host.is_empty(),
        }
    }

    /// Whether a page of this origin is ours, in a request for this host.
    fn is_origin(&self, origin: &str, asked: &str) -> bool {
        match self {
            Hosts::Loopback(_) => origin.strip_prefix("http://").is_some_and(|it| self.has(it)),
            Hosts::Tls => {
                origin.strip_prefix("https://").is_some_and(|it| it.eq_ignore_ascii_case(asked))
            }
        }
    }
}

/// Refuses what did not come from our own page, from a program, or from the owner's address bar.
pub(super) fn check<B>(request: &Request<B>, hosts: &Hosts) -> Result<(), HttpProblem> {
    let headers = request.headers();
    if head_bytes(request) > HEAD_BYTES_MAX {
        return Err(HttpProblem::head_too_large(HEAD_BYTES_MAX));
    }
    let host = only(headers, &HOST)?.ok_or_else(|| HttpProblem::forbidden("no `Host` header"))?;
    if !hosts.has(host) {
        return Err(HttpProblem::forbidden("this server does not answer to that `Host`"));
    }
    // A target with an address in it is for a proxy, which this is not.
    if request.uri().authority().is_some() || !request.uri().path().starts_with('/') {
        return Err(HttpProblem::bad_request("the request target must be a path"));
    }
    if let Some(origin) = only(headers, &ORIGIN)?
        && !hosts.is_origin(origin, host)
    {
        return Err(HttpProblem::forbidden("requests from other pages are refused"));
    }
    let is_call = super::is_call(request.uri().path());
    if let Some(site) = only(headers, &SEC_FETCH_SITE)? {
        let is_ours = matches!(site, "same-origin" | "none");
        if is_call && !is_ours {
            return Err(HttpProblem::forbidden("requests from other pages are refused"));
        }
    }
    if request.method() == Method::POST {
        require_json(headers)?;
    }
    Ok(())
}

/// The size of a head, without the punctuation. The library only bounds how much it reads at once.
fn head_bytes<B>(request: &Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    let headers = request.headers().iter();
    target + headers.map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>()
}

/// Only a script of our own page can send this type from a browser: to others the browser first asks
/// us, and gets no leave.
fn require_json(headers: &HeaderMap) -> Result<(), HttpProblem> {
    let has_body = headers.contains_key(TRANSFER_ENCODING)
        || headers.get(http::header::CONTENT_LENGTH).is_some_and(|length| length != "0");
    let kind = only(headers, &CONTENT_TYPE)?;
    let is_json = kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json")
    });
    if is_json || (kind.is_none() && !has_body) {
        return Ok(());
    }
    Err(HttpProblem::unsupported_media_type("send the body as `application/json`"))
}

/// The header's value; refused if it is there twice, or is no text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, HttpProblem> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(HttpProblem::bad_request(&format!("the header `{name}` is there twice")));
    }
    let Some(value) = first else { return Ok(None) };
    let text = value.to_str();
    text.map(Some)
        .map_err(|_| HttpProblem::bad_request(&format!("the header `{name}` is not text")))
}

#[cfg(test)]
mod tests;
