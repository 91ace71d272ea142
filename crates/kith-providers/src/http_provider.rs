//! A model behind a server, on any wire.
//!
//! The provider posts exactly the bytes it is given and reads the stream to its end. What becomes
//! of a failure (waiting, another model, telling the person) is the engine's affair; here each is
//! only named well.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue,
};
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::models::{FailureKind, Wire};
use kith_vocab::provider::{Answer, AnswerFailure, AskContext, DeltaSink, ModelChoice, Provider};
use kith_vocab::secret::Secret;
use kith_vocab::secret::filter::SecretFilter;
use tokio::time::timeout;
use url::Url;

use crate::answer::Accumulator;
use crate::client::{
    HttpClient, HttpClients, HttpError, HttpRequest, HttpResponse, is_loopback, root_cause,
};
use crate::endpoint::{EndpointError, request_address};
use crate::exchange::SilenceLimits;
use crate::fault::Fault;
use crate::vendor_error::VendorError;
use crate::{exchange, status};

/// How long a server may send nothing.
pub const STREAM_IDLE_MS_MAX: u64 = 120_000;

/// How long the owner's own server may send nothing before its first event: without a graphics card
/// it reads a long prompt for minutes, and asked again it would begin anew.
pub const OWN_SERVER_FIRST_EVENT_MS_MAX: u64 = 15 * 60_000;

/// Bytes that are read of the body of an error status.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// The version of Anthropic's API whose forms are used.
const ANTHROPIC_VERSION: &str = "2023-06-01";

pub struct HttpProvider {
    choice: ModelChoice,
    endpoint: Url,
    /// Removes the key from what a server says.
    secrets: SecretFilter,
    /// Where the key was read from, for the sentence that says it was refused.
    key_source: Option<String>,
    key_header: Option<(HeaderName, HeaderValue)>,
    silence: SilenceLimits,
    clients: Arc<HttpClients>,
}

impl HttpProvider {
    /// `base_url` is the address without the path of the wire, such as `/chat/completions`. Nothing
    /// is connected yet.
    pub fn new(
        choice: ModelChoice,
        base_url: &str,
        api_key: Option<Secret>,
    ) -> Result<HttpProvider, EndpointError> {
        let endpoint = request_address(choice.wire, base_url)?;
        let api_key = api_key.filter(|key| !key.is_empty());
        let key_header = match &api_key {
            Some(key) => Some(key_header(choice.wire, key, &choice.provider)?),
            None => None,
        };
        let silence = silence_limits(&endpoint);
        Ok(HttpProvider {
            choice,
            endpoint,
            secrets: SecretFilter::new(&api_key),
            key_source: None,
            key_header,
            silence,
            clients: Arc::default(),
        })
    }

    /// Names where the key was read from, such as `OPENROUTER_API_KEY`, so that a server which
    /// refuses it leads to the right place.
    #[must_use]
    pub fn with_key_source(mut self, name: &str) -> HttpProvider {
        self.key_source = Some(name.to_owned());
        self
    }

    /// Shares connections with other providers. Without this a provider keeps its own for its life.
    #[must_use]
    pub fn with_clients(mut self, clients: Arc<HttpClients>) -> HttpProvider {
        self.clients = clients;
        self
    }

    /// Gives up after another time without an event, before the first one and later.
    #[must_use]
    pub fn with_stream_idle_ms_max(mut self, ms: u64) -> HttpProvider {
        let limit = Duration::from_millis(ms);
        self.silence = SilenceLimits { first: limit, between: limit };
        self
    }

    /// Fills `answer` until it is whole or there is a reason why it will not be.
    async fn converse(
        &self,
        body: Vec<u8>,
        sink: &dyn DeltaSink,
        answer: &mut Accumulator,
    ) -> Result<(), Fault> {
        let sending = self.client()?.send(self.post(body));
        let mut response =
            within(self.silence.first, sending).await?.map_err(|error| self.unreachable(&error))?;
        if !response.status.is_success() {
            return Err(self.status_fault(response).await);
        }
        if is_compressed(&response) {
            let what = "compressed its answer, which was not asked for: check the base URL and what \
                        stands between";
            return Err(Fault::new(FailureKind::Malformed, what));
        }
        if media_type(&response) == "text/html" {
            return Err(exchange::web_page());
        }
        exchange::read_answer(&mut response, self.silence, sink, answer).await?;
        // Who went on speaking, or was cut short, is not asked again on this connection.
        if answer.is_whole() {
            response.keep_connection();
        }
        Ok(())
    }

    fn post(&self, body: Vec<u8>) -> HttpRequest<'_> {
        let mut headers = vec![
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (ACCEPT, HeaderValue::from_static("text/event-stream")),
        ];
        if self.choice.wire == Wire::Anthropic {
            let version = HeaderValue::from_static(ANTHROPIC_VERSION);
            headers.push((HeaderName::from_static("anthropic-version"), version));
        }
        headers.extend(self.key_header.clone());
        HttpRequest { method: Method::POST, url: &self.endpoint, headers, body }
    }

    fn client(&self) -> Result<&HttpClient, Fault> {
        self.clients.of(&self.endpoint).map_err(|error| {
            let what = match &error {
                HttpError::Proxy(_) => format!("cannot be reached: {error}"),
                _ => format!("cannot be reached: no secure connection: {}", root_cause(&error)),
            };
            Fault::new(FailureKind::Network, what)
        })
    }

    /// The body of a response that is no answer, as far as it came.
    async fn read_error(&self, response: &mut HttpResponse<'_>) -> Vec<u8> {
        let mut body = Vec::new();
        // A server that fails to say why has still failed.
        while let Ok(Ok(Some(piece))) = within(self.silence.between, response.chunk()).await {
            body.extend_from_slice(&piece);
            if body.len() >= ERROR_BODY_BYTES_MAX {
                body.truncate(ERROR_BODY_BYTES_MAX);
                break;
            }
        }
        body
    }

    async fn status_fault(&self, mut response: HttpResponse<'_>) -> Fault {
        let status = response.status.as_u16();
        let header = |name| response.headers.get(name).and_then(|it| it.to_str().ok());
        let retry_after_ms = status::retry_after_ms(header);
        let is_text = media_type(&response) != "text/html" && !is_compressed(&response);
        let body = self.read_error(&mut response).await;
        let body = if is_text { String::from_utf8_lossy(&body) } else { "".into() };
        let error = VendorError::of_body(&body);
        let (words, code) = match &error {
            Some(error) => (error.message.as_str(), error.code.as_str()),
            None => (&*body, ""),
        };
        let key = match (&self.key_header, &self.key_source) {
            (None, _) => status::KeyUsed::None,
            (Some(_), None) => status::KeyUsed::FromSomewhere,
            (Some(_), Some(source)) => status::KeyUsed::From(source),
        };
        let facts = status::RequestFacts { model: &self.choice.model, key };
        let fault = status::fault(status, &facts, words, code).retry_after_ms(retry_after_ms);
        if status == 503 && is_loopback(&self.endpoint) { fault.of_loading() } else { fault }
    }

    fn unreachable(&self, error: &HttpError) -> Fault {
        let cause = root_cause(error);
        let is_refused = cause.contains("Connection refused");
        // Only scheme, host and port: the rest of an address may hold a key.
        let origin = self.endpoint.origin().ascii_serialization();
        let what = match error {
            HttpError::Proxy(_) => format!("could not be reached at {origin}: {error}"),
            HttpError::Connection(error) if error.is_parse() => {
                let what = format!("at {origin} does not speak HTTP ({cause}): check the base URL");
                return Fault::new(FailureKind::Malformed, what);
            }
            // Servers close connections that were idle, and this one was about to. The request may have
            // been received all the same, so the engine, which counts its cost, makes it again.
            HttpError::KeptConnection(_) => {
                let what = format!("at {origin} closed the connection between requests ({cause})");
                return Fault::new(FailureKind::Network, what).retryable().retry_after_ms(Some(0));
            }
            HttpError::Connection(_) => format!(
                "at {origin} closed the connection without an answer ({cause}): check the server, \
                 or use another model"
            ),
            _ => format!("could not be reached at {origin} ({cause}): {}", error.advice()),
        };
        let fault = Fault::new(FailureKind::Network, what).retryable();
        if is_refused && is_loopback(&self.endpoint) { fault.of_loading() } else { fault }
    }
}

impl Provider for HttpProvider {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            let mut answer = Accumulator::of(self.choice.wire);
            let exchange = self.converse(body, &*ctx.sink, &mut answer);
            let ending = exchange::bounded(&ctx, exchange).await;
            exchange::conclude(ending, answer, |fault, partial| {
                fault.into_failure(&self.choice.provider, &self.secrets, partial)
            })
        })
    }
}

/// Vendors are reached over TLS; what goes without it stays with the owner.
fn silence_limits(endpoint: &Url) -> SilenceLimits {
    let between = Duration::from_millis(STREAM_IDLE_MS_MAX);
    let is_own = endpoint.scheme() == "http" || is_loopback(endpoint);
    let own_first = Duration::from_millis(OWN_SERVER_FIRST_EVENT_MS_MAX);
    SilenceLimits { first: if is_own { own_first } else { between }, between }
}

/// The inner result of the future, or that nothing came for too long.
async fn within<T>(silence_max: Duration, future: impl Future<Output = T>) -> Result<T, Fault> {
    timeout(silence_max, future).await.map_err(|_| exchange::silence(silence_max))
}

fn key_header(
    wire: Wire,
    key: &Secret,
    provider: &str,
) -> Result<(HeaderName, HeaderValue), EndpointError> {
    let (name, value) = match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            (AUTHORIZATION, format!("Bearer {}", key.reveal()))
        }
        Wire::Anthropic => (HeaderName::from_static("x-api-key"), key.reveal().to_owned()),
    };
    let error = |_| EndpointError::Key { provider: provider.to_owned() };
    let mut value = HeaderValue::from_str(&value).map_err(error)?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn is_compressed(response: &HttpResponse<'_>) -> bool {
    response.headers.get(CONTENT_ENCODING).is_some_and(|value| value != "identity")
}

/// Without its parameters, in lower case; empty when the server does not say.
fn media_type(response: &HttpResponse<'_>) -> String {
    let value = response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
