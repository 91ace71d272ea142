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
use crate::exchange::ANSWER_BYTES_MAX;
use crate::fault::Fault;
use crate::vendor_error::VendorError;
use crate::{exchange, status};

/// How long a server may send nothing. Local servers read long prompts before the first word.
pub const STREAM_IDLE_MS_MAX: u64 = 120_000;

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
    idle_max: Duration,
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
        let idle_max = Duration::from_millis(STREAM_IDLE_MS_MAX);
        Ok(HttpProvider {
            choice,
            endpoint,
            secrets: SecretFilter::new(&api_key),
            key_source: None,
            key_header,
            idle_max,
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

    /// Gives up after another time without an event than [`STREAM_IDLE_MS_MAX`].
    #[must_use]
    pub fn with_stream_idle_ms_max(mut self, ms: u64) -> HttpProvider {
        self.idle_max = Duration::from_millis(ms);
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
            self.within_idle(sending).await?.map_err(|error| self.unreachable(&error))?;
        if !response.status.is_success() {
            return Err(self.status_fault(response).await);
        }
        if is_compressed(&response) {
            let what = "compressed its answer, which was not asked for: check the base URL and what \
                        stands between";
            return Err(Fault::new(FailureKind::Malformed, what));
        }
        match media_type(&response).as_str() {
            "application/json" => self.read_whole(&mut response, sink, answer).await?,
            "text/html" => return Err(exchange::web_page()),
            _ => exchange::read_stream(&mut response, self.idle_max, sink, answer).await?,
        }
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

    /// Some servers do not stream, whatever they are asked.
    async fn read_whole(
        &self,
        response: &mut HttpResponse<'_>,
        sink: &dyn DeltaSink,
        answer: &mut Accumulator,
    ) -> Result<(), Fault> {
        let (body, end) = self.read_body(response, ANSWER_BYTES_MAX).await?;
        match end {
            BodyEnd::Reached => (),
            BodyEnd::TooLong => return Err(exchange::too_long()),
            // The accumulator says that it broke off.
            BodyEnd::Cut => return Ok(()),
        }
        let Ok(text) = str::from_utf8(&body) else {
            return Err(Fault::new(
                FailureKind::Malformed,
                "answered with bytes that are not UTF-8: check the base URL",
            ));
        };
        if answer.feed_whole(text, sink)? {
            return Ok(());
        }
        let what =
            "answered with JSON that is not an answer of this API: check the base URL and wire";
        Err(Fault::new(FailureKind::Malformed, what).said(text))
    }

    async fn read_body(
        &self,
        response: &mut HttpResponse<'_>,
        bytes_max: usize,
    ) -> Result<(Vec<u8>, BodyEnd), Fault> {
        let mut body = Vec::new();
        loop {
            match self.within_idle(response.chunk()).await? {
                Ok(Some(piece)) if body.len() + piece.len() > bytes_max => {
                    body.extend_from_slice(&piece[..bytes_max - body.len()]);
                    return Ok((body, BodyEnd::TooLong));
                }
                Ok(Some(piece)) => body.extend_from_slice(&piece),
                Ok(None) => return Ok((body, BodyEnd::Reached)),
                Err(_) => return Ok((body, BodyEnd::Cut)),
            }
        }
    }

    async fn status_fault(&self, mut response: HttpResponse<'_>) -> Fault {
        let status = response.status.as_u16();
        let header = |name| response.headers.get(name).and_then(|it| it.to_str().ok());
        let retry_after_ms = status::retry_after_ms(header);
        let is_text = media_type(&response) != "text/html" && !is_compressed(&response);
        // A server that fails to say why has still failed.
        let body = self.read_body(&mut response, ERROR_BODY_BYTES_MAX).await;
        let body = body.map(|(body, _)| body).unwrap_or_default();
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

    /// The inner result of the future, or that nothing came for too long.
    async fn within_idle<T>(&self, future: impl Future<Output = T>) -> Result<T, Fault> {
        timeout(self.idle_max, future).await.map_err(|_| exchange::silence(self.idle_max))
    }

    fn unreachable(&self, error: &HttpError) -> Fault {
        let cause = root_cause(error);
        let is_refused = cause.contains("Connection refused");
        // Only scheme, host and port: the rest of an address may hold a key.
        let origin = self.endpoint.origin().ascii_serialization();
        let what = match error {
            HttpError::Proxy(_) => format!("could not be reached at {origin}: {error}"),
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

enum BodyEnd {
    Reached,
    TooLong,
    Cut,
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
