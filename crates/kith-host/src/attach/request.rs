//! A request that a host works on, and the long texts that are fetched meanwhile over the same
//! connection.

use std::collections::VecDeque;
use std::io;
use std::pin::pin;

use kith_vocab::json::Json;
use tokio_util::sync::CancellationToken;

use super::host_frames::{HostFrames, HostWriter};
use super::{AskFailure, Timeouts, failure_of};
use crate::error::{CallError, ErrorCode};
use crate::protocol::{CANCEL, HostFrame, RequestFrame};

/// The id of the request of a connection of ours.
pub(super) const REQUEST_ID: &str = "1";
/// Bytes of the request's items that may come while the long texts of one of them are fetched. A host
/// holds items back meanwhile.
const HELD_BYTES_MAX: usize = 128 * 1024 * 1024;

pub(super) struct OpenRequest<'a> {
    frames: HostFrames,
    writer: HostWriter,
    timeouts: Timeouts,
    cancel: &'a CancellationToken,
    /// Whether the host has been told to stop.
    is_stopped: bool,
    /// What came of the request while a text was fetched, in its order.
    held: VecDeque<HostFrame>,
    n_held_bytes: usize,
}

impl<'a> OpenRequest<'a> {
    pub(super) fn new(
        frames: HostFrames,
        writer: HostWriter,
        timeouts: Timeouts,
        cancel: &'a CancellationToken,
    ) -> OpenRequest<'a> {
        let (is_stopped, held, n_held_bytes) = (false, VecDeque::new(), 0);
        OpenRequest { frames, writer, timeouts, cancel, is_stopped, held, n_held_bytes }
    }

    /// What comes next of the request.
    pub(super) async fn next(&mut self) -> Result<HostFrame, AskFailure> {
        let Some(frame) = self.held.pop_front() else { return self.receive().await };
        self.n_held_bytes -= bytes_of(&frame);
        Ok(frame)
    }

    /// What the host says next. Tells it meanwhile if the client wants no more.
    pub(super) async fn receive(&mut self) -> Result<HostFrame, AskFailure> {
        loop {
            let n_bytes_before = self.frames.n_bytes();
            let frame = self.frames.next();
            let frame = tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !self.is_stopped => {
                    self.is_stopped = true;
                    self.send(CANCEL, REQUEST_ID, Json::empty_object()).await?;
                    continue;
                }
                frame = tokio::time::timeout(self.timeouts.silence, frame) => frame,
            };
            if frame.is_err() && self.frames.n_bytes() != n_bytes_before {
                continue;
            }
            let frame = frame.map_err(|_| AskFailure::Silent)?.map_err(failure_of)?;
            return frame.ok_or(AskFailure::Disconnected);
        }
    }

    /// Keeps what came of the request until the text that is fetched is there.
    pub(super) fn hold(&mut self, frame: HostFrame) -> Result<(), AskFailure> {
        self.n_held_bytes += bytes_of(&frame);
        if self.n_held_bytes > HELD_BYTES_MAX {
            let message = format!(
                "more than {HELD_BYTES_MAX} bytes arrived while a long text was being fetched"
            );
            let error = CallError::request(ErrorCode::RuntimeBusy, message).hint("try again");
            return Err(AskFailure::Refused(error));
        }
        self.held.push_back(frame);
        Ok(())
    }

    pub(super) async fn send(
        &mut self,
        name: &str,
        request_id: &str,
        body: Json,
    ) -> Result<(), AskFailure> {
        let (name, request_id) = (name.to_owned(), request_id.to_owned());
        let request = RequestFrame { name, request_id, body };
        let moved = self.writer.moved();
        let mut sending = pin!(self.writer.send(&request));
        let sent = loop {
            let n_bytes_before = moved.get();
            let sent = tokio::time::timeout(self.timeouts.silence, &mut sending).await;
            if sent.is_ok() || moved.get() == n_bytes_before {
                break sent;
            }
        };
        sent.map_err(|_| AskFailure::Silent)?.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                let message = format!("cannot send the request to the running kith: {error}");
                let report = CallError::invalid(message);
                AskFailure::Refused(report.hint("quit the other kith, or split the message"))
            }
            _ => AskFailure::Disconnected,
        })
    }
}

/// What a line that waits takes.
fn bytes_of(frame: &HostFrame) -> usize {
    let n_bytes = match frame {
        HostFrame::Item(frame) => frame.item.as_str().len(),
        HostFrame::Response(frame) => frame.data.as_str().len(),
        HostFrame::Hello(_) | HostFrame::Error(_) | HostFrame::Alive(_) => 0,
    };
    n_bytes + size_of::<HostFrame>()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::StreamExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;
    use crate::attach::measured_stream::MeasuredStream;
    use crate::http::websocket::{WebSocketSink, WebSocketSource, limits};
    use crate::remote::RemoteStream;

    /// Less than a host may be silent; three of them are more.
    const PAUSE: Duration = Duration::from_secs(20);

    /// The client's side of a connection to another machine, and the other end of its wire.
    async fn remote(wire_bytes: usize) -> (HostFrames, HostWriter, DuplexStream) {
        let (here, there) = duplex(wire_bytes);
        let (stream, moved) = MeasuredStream::new(Box::new(here) as _);
        let stream: RemoteStream = stream;
        let socket = WebSocketStream::from_raw_socket(stream, Role::Client, Some(limits())).await;
        let (sink, source) = socket.split();
        let frames = HostFrames::Remote(WebSocketSource(source), moved.clone());
        (frames, HostWriter::Remote(WebSocketSink(sink), moved), there)
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_may_take_longer_than_a_host_may_be_silent() {
        let (frames, writer, mut there) = remote(1024).await;
        let cancel = CancellationToken::new();
        let mut request = OpenRequest::new(frames, writer, Timeouts::default(), &cancel);
        // One frame in pieces: its head, and a text that never stops for long.
        let text = b"{\"type\":\"alive\"}";
        let dripping = async {
            there.write_all(&[0x81, text.len().try_into().unwrap()]).await.unwrap();
            for piece in text.chunks(5) {
                tokio::time::sleep(PAUSE).await;
                there.write_all(piece).await.unwrap();
            }
        };
        let (frame, ()) = tokio::join!(request.receive(), dripping);
        assert!(matches!(frame, Ok(HostFrame::Alive(_))), "{frame:?}");
        // One that says nothing more is silent.
        assert!(matches!(request.receive().await, Err(AskFailure::Silent)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_may_take_longer_than_a_host_may_be_silent() {
        let (frames, writer, mut there) = remote(64).await;
        let cancel = CancellationToken::new();
        let mut request = OpenRequest::new(frames, writer, Timeouts::default(), &cancel);
        let taking = async {
            for _ in 0..5 {
                tokio::time::sleep(PAUSE).await;
                there.read_exact(&mut [0; 64]).await.unwrap();
            }
        };
        let body = Json::of(&"x".repeat(300));
        let (sent, ()) = tokio::join!(request.send("say", "1", body), taking);
        assert!(sent.is_ok(), "{sent:?}");
        // One that takes nothing is silent.
        let body = Json::of(&"x".repeat(300));
        assert!(matches!(request.send("say", "2", body).await, Err(AskFailure::Silent)));
    }
}
