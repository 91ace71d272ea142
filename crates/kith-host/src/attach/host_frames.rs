//! The frames of one connection to a host: lines of the house's socket, or messages of a WebSocket to
//! another machine.

use std::io;

use serde::Serialize;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::http::websocket::{WebSocketSink, WebSocketSource};
use crate::protocol::{Frames, HostFrame, request_line, write_frame};
use crate::remote::RemoteStream;
use crate::serve::transport::{FrameSink as _, FrameSource as _};

pub(super) enum HostFrames {
    Socket(Frames<BufReader<OwnedReadHalf>>),
    Remote(WebSocketSource<RemoteStream>),
}

pub(super) enum HostWriter {
    Socket(OwnedWriteHalf),
    Remote(WebSocketSink<RemoteStream>),
}

impl HostFrames {
    /// The next frame; `None` at the end. Nothing is lost when whoever waits stops waiting.
    pub(super) async fn next(&mut self) -> io::Result<Option<HostFrame>> {
        match self {
            HostFrames::Socket(frames) => frames.next().await,
            HostFrames::Remote(source) => source.next().await,
        }
    }
}

impl HostWriter {
    pub(super) async fn send(&mut self, said: &impl Serialize) -> io::Result<()> {
        match self {
            HostWriter::Socket(writer) => write_frame(writer, said).await,
            HostWriter::Remote(sink) => sink.send(request_line(said)?).await,
        }
    }
}
