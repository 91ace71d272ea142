//! A TCP connection of which can be asked what has arrived by now.
//!
//! The runtime looks at its sockets when a worker has nothing else to do. Who uses a connection again
//! must know at once whether the server has closed it: to wait for the runtime would move the request to
//! another thread.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A socket, with or without TLS.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {
    fn look(&self) -> SocketLook;
}

/// Has the reads of a socket ask the system, whatever the runtime has seen of it.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketLook(Arc<AtomicBool>);

impl SocketLook {
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) struct TcpSocket {
    stream: TcpStream,
    look: SocketLook,
}

impl TcpSocket {
    pub(super) fn new(stream: TcpStream) -> TcpSocket {
        TcpSocket { stream, look: SocketLook::default() }
    }
}

impl Socket for TcpSocket {
    fn look(&self) -> SocketLook {
        self.look.clone()
    }
}

impl Socket for TlsStream<Box<dyn Socket>> {
    fn look(&self) -> SocketLook {
        self.get_ref().0.look()
    }
}

impl AsyncRead for TcpSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_ready() || !self.look.is_on() {
            return read;
        }
        // The runtime never blocks on a socket, so this does not either.
        match rustix::io::read(&self.stream, buf.initialize_unfilled()) {
            Ok(n_bytes) => {
                buf.advance(n_bytes);
                Poll::Ready(Ok(()))
            }
            // Whoever reads is woken by the runtime, which was asked above.
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                self.look.end();
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

impl AsyncWrite for TcpSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
