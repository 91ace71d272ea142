//! The files of the page, which are inside the program.
//!
//! The page may load and run only what stands here: whatever a model, a file name or a web page puts
//! into a conversation cannot bring a script of its own.

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH,
    REFERRER_POLICY, X_FRAME_OPTIONS,
};
use http::{HeaderMap, Response, StatusCode};
use kith_vocab::digest::sha256_hex;

use super::reply::{self, HttpProblem, ReplyBody};

/// Paths and contents, made by the build script from `web/dist`.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: \
                      blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action \
                      'none'; frame-ancestors 'none'";
/// Names in this folder change with their contents.
const HASHED_FOLDER: &str = "/assets/";
const INDEX: &str = "/index.html";

/// The file at this path. Addresses without a dot are places in the page.
pub(super) fn file(path: &str, headers: &HeaderMap) -> Result<Response<ReplyBody>, HttpProblem> {
    let name = if path == "/" || !path.contains('.') { INDEX } else { path };
    let found = FILES.iter().find(|(it, _)| *it == name);
    let Some((_, bytes)) = found else { return Err(HttpProblem::not_found(path)) };
    let tag = format!("\"{}\"", &sha256_hex(bytes)[..32]);
    let is_known =
        headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let (status, body) =
        if is_known { (StatusCode::NOT_MODIFIED, &[] as &[u8]) } else { (StatusCode::OK, *bytes) };
    let kind = HeaderValue::from_static(kind_of(name));
    let mut response = reply::response(status, kind, reply::whole(body));
    let headers = response.headers_mut();
    let kept = if name.starts_with(HASHED_FOLDER) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(opener, HeaderValue::from_static("same-origin"));
    let resource = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resource, HeaderValue::from_static("same-origin"));
    // Hexadecimal digits between quotes are a header's value.
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    Ok(response)
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
