//! A call with items as server-sent events: each frame of the protocol is one event.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use kith_vocab::json::Json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::HttpState;
use super::reply::{self, ReplyBody};
use crate::caller::Caller;
use crate::protocol::RequestFrame;
use crate::serve::attend_request;
use crate::serve::transport::FrameSink;

/// The id of the one request of a stream.
const REQUEST_ID: &str = "1";
/// Events that wait for the connection; the next ones wait in the host.
const EVENTS_WAITING_MAX: usize = 1;

/// Begins to answer. What follows is sent as it comes.
pub(super) fn answer(
    name: &str,
    body: Json,
    caller: Caller,
    state: &HttpState,
    until: CancellationToken,
) -> Response<ReplyBody> {
    let (sender, receiver) = mpsc::channel(EVENTS_WAITING_MAX);
    let request = RequestFrame { name: name.to_owned(), request_id: REQUEST_ID.to_owned(), body };
    let server = Arc::clone(&state.server);
    state.server.connections.spawn(async move {
        tokio::select! {
            biased;
            () = until.cancelled() => (),
            () = attend_request(request, EventSink(sender), server, caller) => (),
        }
    });
    let kind = HeaderValue::from_static("text/event-stream");
    let mut response = reply::response(StatusCode::OK, kind, EventBody(receiver).boxed_unsync());
    // Tells proxies not to buffer the response: events must arrive as they happen.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
    response
}

/// Where frames become events.
struct EventSink(mpsc::Sender<Bytes>);

impl FrameSink for EventSink {
    async fn send(&mut self, line: Vec<u8>) -> io::Result<()> {
        let mut event = Vec::with_capacity(line.len() + 8);
        event.extend_from_slice(b"data: ");
        // The frame is one line and ends with a newline; an empty line ends the event.
        event.extend_from_slice(&line);
        event.push(b'\n');
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.0.send(Bytes::from(event)).await.map_err(gone)
    }
}

/// The body of a response that goes on for as long as there are events.
pub(super) struct EventBody(pub(super) mpsc::Receiver<Bytes>);

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
