//! Posts spans to the collector that the owner named, over the client that models are asked with.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, StatusCode};
use tokio::time::timeout;
use url::Url;

use crate::client::{HttpClients, HttpError, HttpRequest};

/// How long a collector may take to answer.
const POST_MS_MAX: u64 = 5_000;
/// Bytes of its answer that are read, so that the connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Why a collector did not take what was posted.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("`{0}` is not an address")]
    Address(String),
    #[error("the collector cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the collector answered {0}")]
    Refused(u16),
    #[error("the collector did not answer in time")]
    Timeout,
}

impl From<HttpError> for TelemetryError {
    fn from(error: HttpError) -> TelemetryError {
        TelemetryError::Unreachable(Box::new(error))
    }
}

/// Posts JSON and reads what the collector says to it.
pub async fn post_spans(
    clients: &HttpClients,
    url: &str,
    body: Vec<u8>,
) -> Result<(), TelemetryError> {
    let url = Url::parse(url).map_err(|_| TelemetryError::Address(url.to_owned()))?;
    let posting = post(clients, &url, body);
    timeout(Duration::from_millis(POST_MS_MAX), posting)
        .await
        .map_err(|_| TelemetryError::Timeout)?
}

async fn post(clients: &HttpClients, url: &Url, body: Vec<u8>) -> Result<(), TelemetryError> {
    let headers = vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let request = HttpRequest { method: Method::POST, url, headers, body };
    let mut response = clients.of(url)?.send(request).await?;
    let status: StatusCode = response.status;
    let mut n_read = 0;
    while let Some(piece) = response.chunk().await? {
        n_read += piece.len();
        if n_read > ANSWER_BYTES_MAX {
            return if status.is_success() { Ok(()) } else { Err(refused(status)) };
        }
    }
    response.keep_connection();
    if status.is_success() { Ok(()) } else { Err(refused(status)) }
}

fn refused(status: StatusCode) -> TelemetryError {
    TelemetryError::Refused(status.as_u16())
}
