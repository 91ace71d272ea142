//! How frames travel between the host and one client: as lines of a socket, or as the messages of
//! another transport.

use std::io;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncWriteExt};
use tokio::net::unix::OwnedWriteHalf;

use crate::caller::{Caller, WEB};
use crate::protocol::Frames;

/// Where the frames of a client come from.
pub(crate) trait FrameSource: Send {
    /// The next frame; `None` at the end. Nothing is lost when whoever waits stops waiting.
    fn next<T: DeserializeOwned + Send>(
        &mut self,
    ) -> impl Future<Output = io::Result<Option<T>>> + Send;
}

/// Where the frames for a client go.
pub(crate) trait FrameSink: Send {
    /// Sends a frame, which ends with a newline, as soon as the client takes it.
    fn send(&mut self, line: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;
}

impl<R: AsyncBufRead + Unpin + Send> FrameSource for Frames<R> {
    fn next<T: DeserializeOwned + Send>(
        &mut self,
    ) -> impl Future<Output = io::Result<Option<T>>> + Send {
        Frames::next(self)
    }
}

impl FrameSink for OwnedWriteHalf {
    async fn send(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.write_all(&line).await
    }
}

/// The way a client came, which decides what it may say of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The house's own socket.
    Socket,
    /// HTTP, with the owner's token or cookie.
    Http,
}

impl Arrival {
    pub(crate) fn mark(self, caller: Caller) -> Caller {
        match self {
            Arrival::Socket => caller,
            Arrival::Http => Caller { platform: WEB.to_owned(), ..caller },
        }
    }
}
