//! The protocol of the socket over a WebSocket: one frame, one message.

use std::io;
use std::sync::Arc;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::reply::{self, HttpProblem, ReplyBody};
use super::{HttpConnection, HttpState};
use crate::protocol::{REQUEST_BYTES_MAX, read_frame};
use crate::serve::attend_client;
use crate::serve::transport::{Arrival, FrameSink, FrameSource};

/// The protocol that is spoken.
const PROTOCOL_NAME: &str = "kith";

/// Bytes that are read at a time. Each connection keeps and clears that much, and most send little.
const READ_BYTES: usize = 8 * 1024;

/// How long messages may be.
pub(crate) fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .max_message_size(Some(REQUEST_BYTES_MAX))
        .max_frame_size(Some(REQUEST_BYTES_MAX))
}

/// Agrees to go on as a WebSocket, and attends to the client when the connection has changed.
pub(super) fn upgrade(
    mut request: Request<Incoming>,
    state: &HttpState,
    connection: Arc<HttpConnection>,
) -> Result<Response<ReplyBody>, HttpProblem> {
    let headers = request.headers();
    if !names(headers, "upgrade", "websocket") || !names(headers, "connection", "upgrade") {
        return Err(HttpProblem::bad_request("this address is for WebSockets"));
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(HttpProblem::bad_request("the version of the WebSocket must be 13"));
    }
    let Some(key) = headers.get(SEC_WEBSOCKET_KEY) else {
        return Err(HttpProblem::bad_request("the WebSocket has no key"));
    };
    let is_offered = names(headers, "sec-websocket-protocol", PROTOCOL_NAME);
    let accept = derive_accept_key(key.as_bytes());
    let accept = HeaderValue::from_str(&accept)
        .map_err(|_| HttpProblem::bad_request("the WebSocket has no key"))?;
    let until = state.access.until_logout(headers);
    let upgrading = hyper::upgrade::on(&mut request);
    let server = Arc::clone(&state.server);
    state.server.connections.spawn(async move {
        // A client that leaves meanwhile has asked for nothing.
        let Ok(upgraded) = upgrading.await else { return };
        let io = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(limits())).await;
        let (sink, source) = socket.split();
        let (source, sink) = (WebSocketSource(source), WebSocketSink(sink));
        attend_client(source, sink, server, Arrival::Http, until).await;
        // The connection counts until its WebSocket has ended.
        drop(connection);
    });
    let mut response = Response::new(reply::whole(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    // A browser that offers protocols wants one of them back; the others only carry its key.
    if is_offered {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL_NAME));
    }
    Ok(response)
}

/// Whether the header's list has this word.
fn names(headers: &HeaderMap, header: &str, word: &str) -> bool {
    let mut texts = headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    texts.any(|text| text.split(',').any(|it| it.trim().eq_ignore_ascii_case(word)))
}

pub(crate) struct WebSocketSource<S>(pub(crate) SplitStream<WebSocketStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send> FrameSource for WebSocketSource<S> {
    async fn next<T: DeserializeOwned + Send>(&mut self) -> io::Result<Option<T>> {
        loop {
            let text = match self.0.next().await {
                None | Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed)) => {
                    return Ok(None);
                }
                Some(Ok(Message::Text(text))) => text,
                // The library answers a ping by itself.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Binary(_))) => return Err(invalid("messages must be text")),
                Some(Err(Error::Io(error))) => return Err(error),
                Some(Err(error)) => return Err(invalid(&error.to_string())),
            };
            return read_frame(text.as_bytes()).map(Some);
        }
    }
}

pub(crate) struct WebSocketSink<S>(pub(crate) SplitSink<WebSocketStream<S>, Message>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send> FrameSink for WebSocketSink<S> {
    async fn send(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        // A message needs no newline to end it.
        line.pop();
        let text = String::from_utf8(line).map_err(|_| invalid("the frame is not UTF-8"))?;
        self.0.send(Message::text(text)).await.map_err(io::Error::other)
    }
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}
