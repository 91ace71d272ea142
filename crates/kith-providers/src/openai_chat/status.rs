//! What an error status means and what to do about it.

use kith_vocab::event::models::FailureKind;

use crate::fault::{Fault, is_about_length};

/// What the request said of itself.
pub(super) struct Asked<'a> {
    pub(super) model: &'a str,
    pub(super) with_key: bool,
}

/// `words` and `code` are what the server said in the body, as far as it could be read.
pub(super) fn fault(status: u16, asked: &Asked<'_>, words: &str, code: &str) -> Fault {
    let of_status = |what: &str| Fault::new(FailureKind::Status, what);
    let fault = match status {
        401 | 403 if asked.with_key => Fault::new(
            FailureKind::Auth,
            format!("refused the key (status {status}): check OPENAI_API_KEY or `apiKey`"),
        ),
        401 | 403 => Fault::new(
            FailureKind::Auth,
            format!("wants a key (status {status}): set OPENAI_API_KEY or `apiKey`"),
        ),
        400 | 413 | 422 if is_about_length(words) || is_about_length(code) => Fault::new(
            FailureKind::ContextLength,
            format!("cannot read a conversation this long (status {status})"),
        ),
        404 => of_status(&format!(
            "does not know this address or model `{}` (status 404): check the base URL and \
             model name",
            asked.model
        )),
        408 => of_status("did not get the request in time (status 408)").retryable(),
        429 => of_status("has had too many requests for now (status 429)").retryable(),
        300..=399 => {
            of_status(&format!("sends on to another address (status {status}): check the base URL"))
        }
        500.. => of_status(&format!("failed on its side (status {status})")).retryable(),
        _ => of_status(&format!("refused the request (status {status})")),
    };
    fault.said(words)
}

/// The header's seconds. A date is passed over: it would need a clock that agrees with theirs.
pub(super) fn retry_after_ms(header: &str) -> Option<u64> {
    header.trim().parse::<u64>().ok()?.checked_mul(1000)
}
