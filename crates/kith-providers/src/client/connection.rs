//! One HTTP/1.1 connection, driven by whoever uses it.
//!
//! Nothing happens on it while nobody waits for it. What the server sent meanwhile, such as the end of a
//! body or that it closes, is read when it is used again.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use super::socket::{Socket, SocketLook};

type Driver = http1::Connection<TokioIo<Box<dyn Socket>>, Full<Bytes>>;

pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: Driver,
    look: SocketLook,
    /// The driver must not be polled after its end.
    is_over: bool,
}

impl Connection {
    pub(super) async fn over(socket: Box<dyn Socket>) -> hyper::Result<Connection> {
        let look = socket.look();
        #[allow(
            clippy::disallowed_methods,
            reason = "this is the one place that makes connections"
        )]
        let (sender, driver) = http1::handshake(TokioIo::new(socket)).await?;
        Ok(Connection { sender, driver, look, is_over: false })
    }

    /// Whether another request can be sent: the server has not closed it, and the last response is over.
    pub(super) async fn is_ready(&mut self) -> bool {
        // That the server closed it may have arrived while nobody waited for it, and a request would be
        // lost on it.
        poll_fn(|cx| {
            self.look.begin();
            self.drive(cx);
            self.look.end();
            Poll::Ready(matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(()))))
        })
        .await
    }

    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        let mut response = pin!(self.sender.try_send_request(request));
        let (driver, is_over) = (&mut self.driver, &mut self.is_over);
        poll_fn(|cx| driven(driver, is_over, cx, |cx| response.as_mut().poll(cx))).await
    }

    /// The next bytes of the body of the last response; none at its end.
    pub(super) async fn chunk(&mut self, body: &mut Incoming) -> hyper::Result<Option<Bytes>> {
        let (driver, is_over) = (&mut self.driver, &mut self.is_over);
        loop {
            let next = |cx: &mut Context<'_>| Pin::new(&mut *body).poll_frame(cx);
            let frame = {
                let mut next = next;
                poll_fn(|cx| driven(driver, is_over, cx, &mut next)).await
            };
            match frame {
                None => return Ok(None),
                // Trailers say nothing that is needed.
                Some(frame) => match frame?.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => (),
                },
            }
        }
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.driver, &mut self.is_over, cx);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// Polls what waits for the connection, and the connection. Only the connection is woken from outside;
/// what waits for it becomes ready when it is polled, and needs no waker.
fn driven<T>(
    driver: &mut Driver,
    is_over: &mut bool,
    cx: &mut Context<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    let mut unwoken = Context::from_waker(Waker::noop());
    if let Poll::Ready(done) = poll(&mut unwoken) {
        return Poll::Ready(done);
    }
    drive(driver, is_over, cx);
    poll(&mut unwoken)
}

fn drive(driver: &mut Driver, is_over: &mut bool, cx: &mut Context<'_>) {
    if !*is_over {
        // Its error is also what the request or the body ends with.
        *is_over = Pin::new(driver).poll(cx).is_ready();
    }
}
