//! Error statuses: their meaning, and what to do about them. All wires share this.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use kith_vocab::event::models::FailureKind;

use crate::fault::{Fault, is_about_length};

/// What a sentence about a failed request names.
pub(crate) struct RequestFacts<'a> {
    pub(crate) model: &'a str,
    pub(crate) key: KeyUsed<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum KeyUsed<'a> {
    None,
    FromSomewhere,
    /// From the variable or setting of this name.
    From(&'a str),
}

/// `words` and `code` are what the server said in the body, as far as it could be read.
pub(crate) fn fault(status: u16, request: &RequestFacts<'_>, words: &str, code: &str) -> Fault {
    let of_status = |what: &str| Fault::new(FailureKind::Status, what);
    let fault = match status {
        400 | 402 | 429 if is_about_quota(code) || is_about_quota(words) => {
            // Waiting does not help: the account needs payment or a higher limit.
            of_status(&format!("has {NO_QUOTA_LEFT} (status {status}): check its plan and billing"))
        }
        401 | 403 => Fault::new(FailureKind::Auth, of_key(status, request.key)),
        400 | 422 if is_about_length(words) || is_about_length(code) => too_long(status),
        413 => too_long(status),
        400 | 404 if code.contains("model_not_found") => of_status(&format!(
            "does not know model `{}` (status {status}): check the model name",
            request.model
        )),
        400 if code.contains("invalid_encrypted_content") => of_status(&format!(
            "cannot read its earlier reasoning (status {status}), which is bound to the key that it \
             was written under: go on with another model, or start over with `kith ask --new`"
        )),
        400 if words.to_lowercase().contains("encrypted content is not supported") => {
            of_status(&format!(
                "does not take encrypted reasoning for this model (status {status}): set \
                 `parameters = {{ include = false }}` for it"
            ))
        }
        400 | 415 | 422 if is_about_images(words) => {
            let what = format!(
                "does not take an image or file of this conversation (status {status}): send \
                 another or use another model; the next message is sent without it"
            );
            Fault::new(FailureKind::Media, what)
        }
        404 => of_status(&format!(
            "does not know this address or model `{}` (status 404): check the base URL and \
             model name",
            request.model
        )),
        // What a proxy says about a password is not repeated.
        407 => {
            return of_status(
                "was not reached: the proxy requires another user name and password (status 407): \
                 write them into its address, as in `http://name:password@proxy.example:8080`",
            );
        }
        408 => of_status("did not receive the request in time (status 408)").retryable(),
        429 => of_status("refused the request: rate limit reached (status 429)").retryable(),
        300..=399 => of_status(&format!(
            "redirects to another address (status {status}): check the base URL"
        )),
        529 => of_status("is overloaded (status 529)").retryable(),
        500.. => of_status(&format!("had a server error (status {status})")).retryable(),
        _ => of_status(&format!("refused the request (status {status})")),
    };
    fault.said(words)
}

fn too_long(status: u16) -> Fault {
    let what = format!("rejected the conversation as too long (status {status})");
    Fault::new(FailureKind::ContextLength, what)
}

/// What the sentence says when the account of a key is used up.
pub(crate) const NO_QUOTA_LEFT: &str = "no quota left for this key";

/// Whether a vendor's code or words say that the account, not the moment, is the reason.
pub(crate) fn is_about_quota(said: &str) -> bool {
    ["insufficient_quota", "billing_error", "credit balance"].iter().any(|it| said.contains(it))
}

fn is_about_images(words: &str) -> bool {
    const PHRASES: [&str; 13] = [
        "image_url",
        "input_image",
        "image input",
        "support image",
        "process image",
        "image exceeds",
        "invalid image",
        "images are not",
        "unsupported image",
        "valid image",
        "image data",
        "image format",
        "decode image",
    ];
    let words = words.to_lowercase();
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

fn of_key(status: u16, key: KeyUsed<'_>) -> String {
    match (status, key) {
        (_, KeyUsed::None) => {
            format!("requires an API key (status {status}): set one for this model")
        }
        (401, KeyUsed::FromSomewhere) => "refused the API key (status 401): check it".to_owned(),
        (401, KeyUsed::From(source)) => {
            format!("refused the API key from {source} (status 401): check it")
        }
        (_, KeyUsed::FromSomewhere | KeyUsed::From(_)) => {
            let from = match key {
                KeyUsed::From(source) => format!(" from {source}"),
                _ => String::new(),
            };
            format!(
                "refused access (status {status}): the API key{from}, its plan or your region may \
                 not be allowed to use this model"
            )
        }
    }
}

/// How long the server wants us to wait before the next request. `header` gives a header by its
/// name in lower case.
///
/// A date is compared with the server's own `date`: its clock and ours need not agree.
pub(crate) fn retry_after_ms<'a>(header: impl Fn(&'static str) -> Option<&'a str>) -> Option<u64> {
    if let Some(ms) = header("retry-after-ms").and_then(|ms| ms.trim().parse().ok()) {
        return Some(ms);
    }
    let retry_after = header("retry-after")?.trim();
    if let Ok(seconds) = retry_after.parse::<f64>() {
        let wait = Duration::try_from_secs_f64(seconds).ok()?;
        return u64::try_from(wait.as_millis()).ok();
    }
    let then = http_date(retry_after)?.as_millisecond();
    let now = http_date(header("date")?)?.as_millisecond();
    // A time that has passed means at once.
    Some(u64::try_from(then.saturating_sub(now)).unwrap_or(0))
}

fn http_date(text: &str) -> Option<Timestamp> {
    // Servers get the day of the week wrong, and nothing depends on it.
    let parser = DateTimeParser::new().relaxed_weekday(true);
    parser.parse_timestamp(text.trim()).ok()
}
