//! The host over HTTP: the page, and programs that are not `kith`.
//!
//! It speaks the calls of the socket and nothing else: `POST /api/<call>`, the same frames over a
//! WebSocket, and a call with items as server-sent events. Any page that the owner's browser shows can
//! send requests to this machine, so every request is looked at before it is routed:
//!
//! - `gate`: whether it was meant for this server, and sent by its own page or by no page at all.
//! - [`access`]: whether it comes from the owner: a token for programs, a cookie for the page.
//! - `api`: calls, and their answers.
//! - `event_stream`, `websocket`: calls that have items.
//! - [`openapi`]: the description of all calls.
//! - `page`: the files of the page.
//! - `reply`: responses and their headers.

pub mod access;
mod api;
mod event_stream;
mod gate;
pub mod openapi;
mod page;
mod reply;
mod websocket;

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use access::HttpAccess;
use gate::Hosts;
use reply::{HttpProblem, ReplyBody};

use crate::serve::ServerState;

/// Maximum number of connections at a time, if the system allows enough descriptors. One more is closed
/// at once.
const CONNECTIONS_MAX: usize = 2_048;
/// Number of connections that are taken even if it does not.
const CONNECTIONS_MIN: usize = 16;
/// How long a client may take to send the head of a request, also between two requests.
const HEAD_MS_MAX: u64 = 10_000;
/// Bytes of a head. Those of the page have less than a quarter of it.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Headers of a request.
const HEADERS_MAX: usize = 64;
/// How long to wait for a descriptor when there is none left.
const ACCEPT_AGAIN_MS: u64 = 50;
/// How long a response under way may take when the host ends.
const LAST_RESPONSE_MS_MAX: u64 = 1_000;

/// What all requests share.
pub(crate) struct HttpState {
    pub(crate) server: Arc<ServerState>,
    pub(crate) access: Arc<HttpAccess>,
    hosts: Hosts,
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
    let hosts = Hosts::of_loopback(address.port());
    let connections = server.connections.clone();
    connections.spawn(accept_all(listener, Arc::new(HttpState { server, access, hosts })));
    Ok(address)
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
        // One that finds no place is closed: its browser tries again.
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let connections = state.server.connections.clone();
            connections.spawn(attend(stream, Arc::clone(&state), place));
        }
    }
}

/// A third of the descriptors: strangers must not keep the host from its files and its own clients.
fn connections_max(descriptors_max: Option<u64>) -> usize {
    let third = descriptors_max.map_or(u64::MAX, |max| max / 3);
    usize::try_from(third).unwrap_or(CONNECTIONS_MAX).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX)
}

async fn attend(stream: TcpStream, state: Arc<HttpState>, place: OwnedSemaphorePermit) {
    // Sends small frames at once. If the option cannot be set, they only arrive a little later.
    stream.set_nodelay(true).ok();
    let over = state.server.over.clone();
    let place = Arc::new(place);
    let service =
        service_fn(move |request| answer(request, Arc::clone(&state), Arc::clone(&place)));
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
        () = over.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let last = Duration::from_millis(LAST_RESPONSE_MS_MAX);
            drop(tokio::time::timeout(last, connection).await);
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<HttpState>,
    place: Arc<OwnedSemaphorePermit>,
) -> Result<Response<ReplyBody>, Infallible> {
    Ok(match route(request, &state, place).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    })
}

async fn route(
    request: Request<Incoming>,
    state: &Arc<HttpState>,
    place: Arc<OwnedSemaphorePermit>,
) -> Result<Response<ReplyBody>, HttpProblem> {
    gate::check(&request, &state.hosts)?;
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/api/health") => return Ok(reply::json(&serde_json::json!({"ok": true}))),
        (&Method::POST, "/api/login") => return api::login(request, state).await,
        _ => (),
    }
    if !path.starts_with("/api/") {
        return match request.method() {
            &Method::GET => page::file(&path, request.headers()),
            _ => Err(HttpProblem::method_not_allowed(&path)),
        };
    }
    state.access.check(request.headers())?;
    match (request.method(), path.as_str()) {
        (&Method::POST, "/api/logout") => Ok(api::logout(state)),
        (&Method::GET, "/api/openapi.json") => Ok(reply::json(openapi::document())),
        (&Method::GET, "/api/socket") => websocket::upgrade(request, state, place),
        (&Method::POST, path) => match path.strip_prefix("/api/") {
            Some(name) => api::call(name, request, state).await,
            None => Err(HttpProblem::not_found(path)),
        },
        (_, path) => Err(HttpProblem::method_not_allowed(path)),
    }
}

#[cfg(test)]
mod tests;
