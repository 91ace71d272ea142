//! The frames of one connection to a host: lines of the house's socket, or messages of a WebSocket to
//! another machine.

use std::io;

use serde::Serialize;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::measured_stream::ByteCount;
use crate::http::websocket::{WebSocketSink, WebSocketSource};
use crate::protocol::{Frames, HostFrame, request_line, write_frame};
use crate::remote::RemoteStream;
use crate::serve::transport::{FrameSink as _, FrameSource as _};

pub(super) enum HostFrames {
    Socket(Frames<BufReader<OwnedReadHalf>>),
    Remote(WebSocketSource<RemoteStream>, ByteCount),
}

pub(super) enum HostWriter {
    Socket(OwnedWriteHalf),
    Remote(WebSocketSink<RemoteStream>, ByteCount),
}

impl HostFrames {
    /// The next frame; `None` at the end. Nothing is lost when whoever waits stops waiting.
    pub(super) async fn next(&mut self) -> io::Result<Option<HostFrame>> {
        match self {
            HostFrames::Socket(frames) => frames.next().await,
            HostFrames::Remote(source, _) => source.next().await,
        }
    }

    /// How many bytes of frames that are not whole yet have come, where that counts as a sign of life.
    pub(super) fn n_bytes(&self) -> u64 {
        match self {
            HostFrames::Socket(_) => 0,
            HostFrames::Remote(_, moved) => moved.get(),
        }
    }
}

impl HostWriter {
    pub(super) async fn send(&mut self, said: &impl Serialize) -> io::Result<()> {
        match self {
            HostWriter::Socket(writer) => write_frame(writer, said).await,
            HostWriter::Remote(sink, _) => sink.send(request_line(said)?).await,
        }
    }

    /// Counts what the host takes of a frame, where that counts as a sign of life.
    pub(super) fn moved(&self) -> ByteCount {
        match self {
            HostWriter::Socket(_) => ByteCount::default(),
            HostWriter::Remote(_, moved) => moved.clone(),
        }
    }
}
