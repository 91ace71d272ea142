//! The host over HTTP: the page, and programs that are not `kith`.
//!
//! It speaks the calls of the socket and nothing else: `POST /api/<call>`, the same frames over a
//! WebSocket, and a call with items as server-sent events. Any page that the owner's browser shows can
//! send requests to this machine, so every request is looked at before it is routed:
//!
//! - `gate`: whether it was meant for this server, and sent by its own page or by no page at all.
//! - [`access`]: whether it comes from the owner: a token for programs, a cookie for the page.
//! - `api`: calls, and their answers.
//! - `chat`: the AI SDK's UI message stream.
//! - `priming`: scripts under the addresses of their own design.
//! - `event_stream`, `websocket`: calls that have items.
//! - [`openapi`]: the description of all calls.
//! - `page`: the files of the page.
//! - `query`: what stands in addresses; `reply`: responses and their headers.
//! - [`tls`]: the certificate of the listener that other machines reach.
//! - `strangers`, `timed_stream`: clients that send nothing, and clients that read nothing.

pub mod access;
mod api;
mod chat;
mod event_stream;
mod gate;
pub mod openapi;
mod page;
mod priming;
mod query;
mod reply;
mod strangers;
mod timed_stream;
pub mod tls;
pub(crate) mod websocket;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use access::HttpAccess;
use gate::Hosts;
use reply::{HttpProblem, ReplyBody};
use strangers::{Stranger, Strangers};
use timed_stream::TimedStream;

use crate::diagnostics::VisitRefusal;
use crate::serve::ServerState;

/// Maximum number of connections at a time, if the system allows enough descriptors. For one more the
/// oldest connection without a token or login is closed; if there is none, the new one is.
const CONNECTIONS_MAX: usize = 2_048;
/// Number of connections that are taken even if it does not.
const CONNECTIONS_MIN: usize = 16;
/// How long a client may take to send the head of a request, also between two requests.
const HEAD_MS_MAX: u64 = 10_000;
/// How long a client may take nothing of a response.
const WRITE_MS_MAX: u64 = 30_000;
/// Bytes of a head. Those of the page have less than a quarter of it.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Headers of a request.
const HEADERS_MAX: usize = 64;
/// How long a connection waits for the place of another one that was closed.
const PLACE_MS_MAX: u64 = 1_000;
/// How long to wait for a descriptor when there is none left.
const ACCEPT_AGAIN_MS: u64 = 50;
/// How long a response under way may take when the host ends.
const LAST_RESPONSE_MS_MAX: u64 = 1_000;

const HEALTH: &str = "/api/health";
const OPENAPI: &str = "/api/openapi.json";
const SOCKET: &str = "/api/socket";
pub(crate) const METRICS: &str = "/metrics";

/// What all requests share.
pub(crate) struct HttpState {
    pub(crate) server: Arc<ServerState>,
    pub(crate) access: Arc<HttpAccess>,
    hosts: Hosts,
    /// `None`: the loopback address, which needs none.
    tls: Option<TlsAcceptor>,
    strangers: Arc<Strangers>,
}

/// A connection while it lives: its place, and whether it has shown a token or login.
struct HttpConnection {
    stranger: Stranger,
    _place: OwnedSemaphorePermit,
}

/// Listens on the loopback address. `port` 0 takes any.
pub(crate) async fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await
}

/// Serves requests until the host ends.
pub(crate) fn serve(
    listener: TcpListener,
    server: Arc<ServerState>,
    access: Arc<HttpAccess>,
) -> io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    let (hosts, tls) = (Hosts::of_loopback(address.port()), None);
    let connections = server.connections.clone();
    let strangers = Arc::default();
    let state = HttpState { server, access, hosts, tls, strangers };
    connections.spawn(accept_all(listener, Arc::new(state)));
    Ok(address)
}

/// The same over TLS, for other machines.
pub(crate) fn serve_tls(
    listener: TcpListener,
    server: Arc<ServerState>,
    access: Arc<HttpAccess>,
    tls: TlsAcceptor,
) {
    let (hosts, tls) = (Hosts::Tls, Some(tls));
    let connections = server.connections.clone();
    let strangers = Arc::default();
    let state = HttpState { server, access, hosts, tls, strangers };
    connections.spawn(accept_all(listener, Arc::new(state)));
}

async fn accept_all(listener: TcpListener, state: Arc<HttpState>) {
    let places = Arc::new(Semaphore::new(connections_max(getrlimit(Resource::Nofile).current)));
    loop {
        let accepted = tokio::select! {
            biased;
            () = state.server.over.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(ACCEPT_AGAIN_MS)).await;
            continue;
        };
        let stranger = state.strangers.enter();
        let connections = state.server.connections.clone();
        connections.spawn(attend(stream, Arc::clone(&state), stranger, Arc::clone(&places)));
    }
}

/// A place among the connections. If there is none, the oldest stranger gives its own up; one that
/// finds only the owner's is closed, and its browser tries again.
async fn place_for(
    stranger: &Stranger,
    strangers: &Strangers,
    places: Arc<Semaphore>,
) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
        return Some(place);
    }
    strangers.close_oldest();
    tokio::select! {
        biased;
        () = stranger.closed.cancelled() => None,
        // Those who were closed leave at once.
        place = tokio::time::timeout(Duration::from_millis(PLACE_MS_MAX), places.acquire_owned()) => {
            place.ok()?.ok()
        }
    }
}

/// A third of the descriptors: strangers must not keep the host from its files and its own clients.
fn connections_max(descriptors_max: Option<u64>) -> usize {
    let third = descriptors_max.map_or(u64::MAX, |max| max / 3);
    usize::try_from(third).unwrap_or(CONNECTIONS_MAX).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX)
}

async fn attend(
    stream: TcpStream,
    state: Arc<HttpState>,
    stranger: Stranger,
    places: Arc<Semaphore>,
) {
    let Some(place) = place_for(&stranger, &state.strangers, places).await else { return };
    // Sends small frames at once. If the option cannot be set, they only arrive a little later.
    stream.set_nodelay(true).ok();
    let Some(tls) = &state.tls else { return attend_stream(stream, state, stranger, place).await };
    let accepting = tokio::time::timeout(Duration::from_millis(HEAD_MS_MAX), tls.accept(stream));
    let accepted = tokio::select! {
        biased;
        () = state.server.over.cancelled() => return,
        () = stranger.closed.cancelled() => return,
        accepted = accepting => accepted,
    };
    // Whoever does not finish the handshake has said nothing that could be answered.
    if let Ok(Ok(stream)) = accepted {
        attend_stream(stream, state, stranger, place).await;
    }
}

async fn attend_stream(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    state: Arc<HttpState>,
    stranger: Stranger,
    place: OwnedSemaphorePermit,
) {
    let stream = TimedStream::new(stream, Duration::from_millis(WRITE_MS_MAX));
    let over = state.server.over.clone();
    let closed = stranger.closed.clone();
    let of_client = Arc::new(HttpConnection { stranger, _place: place });
    let service =
        service_fn(move |request| answer(request, Arc::clone(&state), Arc::clone(&of_client)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_MS_MAX))
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        // A connection that fails is a client that left.
        ended = connection.as_mut() => drop(ended),
        () = closed.cancelled() => (),
        () = over.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let last = Duration::from_millis(LAST_RESPONSE_MS_MAX);
            drop(tokio::time::timeout(last, connection).await);
        }
    }
}

/// Whether only the owner may ask for the address. The files of the page are everybody's.
fn is_call(path: &str) -> bool {
    path.starts_with("/api/") || path == METRICS
}

/// Whether an address is read and takes no body.
fn is_only_read(path: &str) -> bool {
    let is_named = [HEALTH, OPENAPI, SOCKET, METRICS, priming::SCRIPTS].contains(&path);
    is_named || !is_call(path) || chat::id_in(path).is_some()
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<HttpState>,
    connection: Arc<HttpConnection>,
) -> Result<Response<ReplyBody>, Infallible> {
    Ok(match route(request, &state, connection).await {
        Ok(response) => response,
        Err(problem) => {
            state.server.host.diagnostics().refuse(VisitRefusal::Http(problem.status()));
            problem.into_response()
        }
    })
}

async fn route(
    request: Request<Incoming>,
    state: &Arc<HttpState>,
    connection: Arc<HttpConnection>,
) -> Result<Response<ReplyBody>, HttpProblem> {
    gate::check(&request, &state.hosts)?;
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, HEALTH) => return Ok(reply::json(&serde_json::json!({"ok": true}))),
        (&Method::POST, "/api/login") => return api::login(request, state).await,
        (&Method::POST, "/api/logout") => return Ok(api::logout(request.headers(), state)),
        _ => (),
    }
    if !is_call(&path) {
        return match request.method() {
            &Method::GET => page::file(&path, request.headers()),
            _ => Err(HttpProblem::method_not_allowed(&path)),
        };
    }
    state.access.check(request.headers())?;
    connection.stranger.mark_authenticated();
    match (request.method(), path.as_str()) {
        (&Method::GET, METRICS) => Ok(reply::metrics(state.server.host.metrics_text().await)),
        (&Method::GET, OPENAPI) => Ok(reply::json(openapi::document())),
        (&Method::GET, SOCKET) => websocket::upgrade(request, state, connection),
        (&Method::POST, path) if is_only_read(path) => Err(HttpProblem::method_not_allowed(path)),
        (&Method::POST, "/api/chat") => chat::send(request, state).await,
        (&Method::GET, path) if chat::id_in(path).is_some() => {
            chat::resume(chat::id_in(path).unwrap_or_default(), &request, state).await
        }
        (&Method::GET, priming::SCRIPTS) => priming::list(&request, state).await,
        (&Method::POST, priming::SAVE) => priming::save(request, state).await,
        (&Method::POST, path) => match path.strip_prefix("/api/") {
            Some(name) => api::call(name, request, state).await,
            None => Err(HttpProblem::not_found(path)),
        },
        (_, path) => Err(HttpProblem::method_not_allowed(path)),
    }
}

#[cfg(test)]
mod tests;
