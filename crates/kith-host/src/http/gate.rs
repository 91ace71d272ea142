//! The first look at a request: whether it was meant for this server, and who made the browser send it.
//!
//! A name that a stranger controls can be made to lead to this machine (DNS rebinding), so the `Host`
//! must be one of ours to the letter. A page of a stranger can make the owner's browser send a request
//! here, with the cookie if it is from another port of this machine; browsers then say where that page
//! is from, and forms cannot send JSON.

use http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request};

use super::reply::HttpProblem;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names by which this server may be asked for.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    names: Vec<String>,
    scheme: &'static str,
}

impl Hosts {
    pub(super) fn of_loopback(port: u16) -> Hosts {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let names = names.iter().map(|name| format!("{name}:{port}")).collect();
        Hosts { names, scheme: "http" }
    }

    fn has(&self, host: &str) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    fn is_origin(&self, origin: &str) -> bool {
        let host = origin.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://"));
        host.is_some_and(|host| self.has(host))
    }
}

/// Refuses what did not come from our own page, from a program, or from the owner's address bar.
pub(super) fn check<B>(request: &Request<B>, hosts: &Hosts) -> Result<(), HttpProblem> {
    let headers = request.headers();
    let host = only(headers, &HOST)?.ok_or_else(|| HttpProblem::forbidden("no `Host` header"))?;
    if !hosts.has(host) {
        return Err(HttpProblem::forbidden("this server does not answer to that `Host`"));
    }
    // A target with an address in it is for a proxy, which this is not.
    if request.uri().authority().is_some() || !request.uri().path().starts_with('/') {
        return Err(HttpProblem::bad_request("the request target must be a path"));
    }
    if let Some(origin) = only(headers, &ORIGIN)?
        && !hosts.is_origin(origin)
    {
        return Err(HttpProblem::forbidden("requests from other pages are refused"));
    }
    let is_call = request.uri().path().starts_with("/api/");
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
