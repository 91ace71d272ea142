//! A connection that is given up when its client takes nothing for too long.
//!
//! A client that never reads would otherwise keep a response, its buffers and a place among the
//! connections for as long as it likes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

pub(super) struct TimedStream<S> {
    stream: S,
    wait_max: Duration,
    /// Runs while a write waits for the client.
    timer: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl<S> TimedStream<S> {
    pub(super) fn new(stream: S, wait_max: Duration) -> TimedStream<S> {
        let timer = Box::pin(tokio::time::sleep(wait_max));
        TimedStream { stream, wait_max, timer, is_waiting: false }
    }

    /// What became of a write: one that waits has until the timer ends.
    fn timed<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.is_waiting = false;
            return poll;
        }
        if !std::mem::replace(&mut self.is_waiting, true) {
            self.timer.as_mut().reset(Instant::now() + self.wait_max);
        }
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.timed(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(cx);
        self.timed(cx, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.timed(cx, poll)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const WAIT: Duration = Duration::from_secs(30);
    const ALMOST: Duration = Duration::from_secs(29);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (here, mut there) = tokio::io::duplex(8);
        let mut stream = TimedStream::new(here, WAIT);
        let reading = async {
            let mut bytes = [0; 8];
            for _ in 0..4 {
                tokio::time::sleep(ALMOST).await;
                there.read_exact(&mut bytes).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(stream.write_all(&[1; 32]), reading);
        written.unwrap();
        let began = Instant::now();
        let stuck = stream.write_all(&[1; 32]).await.unwrap_err();
        assert_eq!((stuck.kind(), began.elapsed()), (io::ErrorKind::TimedOut, WAIT));
    }
}
