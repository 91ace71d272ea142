//! The connection to one client, which may be slow, suspended or gone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_vocab::blocking::blocking;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::transport::{Arrival, FrameSink};
use crate::call::{Delivery, Undelivered};
use crate::error::{CallError, ErrorCode};
use crate::protocol::{FRAME_BYTES_MAX, HostFrame, KeepAlive, answer_too_long, frame};

/// Maximum number of lines waiting to be sent to one client.
const FRAMES_WAITING_MAX: usize = 4096;
/// Maximum size of the waiting lines: a client that is behind by more has stopped reading.
const FRAME_BYTES_WAITING_MAX: usize = 4 * FRAME_BYTES_MAX;
/// Number of waiting lines from which on items wait, so that answers still find room.
const ITEMS_WAITING_MAX: usize = 256;
/// Size of the waiting lines from which on items wait; one that is longer goes when no other waits. A
/// thousand clients that read nothing keep so much each.
const ITEM_BYTES_WAITING_MAX: usize = 256 * 1024;
/// Maximum number of requests of one client that run at the same time.
const REQUESTS_RUNNING_MAX: usize = 256;
/// How long an item waits for a client of the house's own socket that takes no line. Over a network one
/// line may take longer: there the connection itself ends when no byte is taken.
const ROOM_WAIT_MS_MAX: u64 = 30_000;
/// How long a connection that is closed waits for its client to take the last lines.
const DRAIN_MS_MAX: u64 = 1_000;
/// How often a host that has nothing to say shows that it is there.
const ALIVE_EVERY_MS: u64 = 5_000;

#[derive(Clone)]
pub(super) struct Link {
    sender: mpsc::Sender<Vec<u8>>,
    bytes_waiting: Arc<AtomicUsize>,
    /// Told whenever the client took a line.
    taken: Arc<Notify>,
    /// The client took no line for too long: its follows end, and then the connection.
    stalled: CancellationToken,
    /// The connection is closed.
    pub(super) gone: CancellationToken,
    running: Arc<Mutex<HashMap<String, CancellationToken>>>,
    /// Requests that keep items back.
    n_holding: Arc<AtomicUsize>,
    arrival: Arrival,
}

/// Keeps items that can wait back until it is dropped.
pub(super) struct HeldItems(Arc<AtomicUsize>);

impl Drop for HeldItems {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Link {
    pub(super) fn new(arrival: Arrival) -> (Link, mpsc::Receiver<Vec<u8>>) {
        let (sender, receiver) = mpsc::channel(FRAMES_WAITING_MAX);
        let link = Link {
            sender,
            bytes_waiting: Arc::default(),
            taken: Arc::default(),
            stalled: CancellationToken::new(),
            gone: CancellationToken::new(),
            running: Arc::default(),
            n_holding: Arc::default(),
            arrival,
        };
        (link, receiver)
    }

    /// While a client fetches a long text it must keep all that comes, so items that can wait do. An
    /// answer must follow when they are let go.
    pub(super) fn hold_items(&self) -> HeldItems {
        self.n_holding.fetch_add(1, Ordering::SeqCst);
        HeldItems(Arc::clone(&self.n_holding))
    }

    /// Sends what must arrive. A client without room for it is let go.
    pub(super) fn send(&self, message: &HostFrame) {
        let Some(line) = frame(message).or_else(|| frame(&too_long(message)?)) else { return };
        if self.push(line).is_err() {
            self.gone.cancel();
        }
    }

    /// Hands over an item of a follow; refused if it can never arrive.
    pub(super) fn push_item(&self, item: &HostFrame, delivery: Delivery) -> Result<(), CallError> {
        let line = item_line(item)?;
        if self.gone.is_cancelled() {
            return Err(Undelivered::Gone.into());
        }
        match delivery {
            Delivery::Certain => {
                if self.push(line).is_err() {
                    self.gone.cancel();
                }
            }
            // It may be lost.
            Delivery::IfRoom => drop(self.push_with_room(line)),
            // Such a follow reads files and has a worker of its own while it waits.
            Delivery::Paced => {
                blocking(|| Handle::current().block_on(self.wait_and_push(line)))?;
            }
        }
        Ok(())
    }

    /// Hands over an item of a follow when the client has room for it.
    pub(super) async fn send_item(&self, item: &HostFrame) -> Result<(), Undelivered> {
        let line = item_line(item).map_err(Undelivered::Refused)?;
        // A follow that has much to send lets others have their turn.
        tokio::task::consume_budget().await;
        self.wait_and_push(line).await
    }

    async fn wait_and_push(&self, mut line: Vec<u8>) -> Result<(), Undelivered> {
        loop {
            let taken = self.taken.notified();
            if self.gone.is_cancelled() {
                return Err(Undelivered::Gone);
            }
            if self.n_holding.load(Ordering::SeqCst) == 0 {
                match self.push_with_room(line) {
                    Ok(()) => return Ok(()),
                    Err(refused) => line = refused,
                }
            }
            tokio::select! {
                biased;
                () = self.gone.cancelled() => return Err(Undelivered::Gone),
                () = self.stalled.cancelled() => return Err(Undelivered::Stalled),
                () = self.too_long_without_room() => self.stalled.cancel(),
                () = taken => (),
            }
        }
    }

    async fn too_long_without_room(&self) {
        match self.arrival {
            Arrival::Socket => {
                tokio::time::sleep(Duration::from_millis(ROOM_WAIT_MS_MAX)).await;
            }
            // The stream below counts the bytes that its client takes.
            Arrival::Http => std::future::pending().await,
        }
    }

    /// Gives the line of an item that can wait back if others wait already.
    fn push_with_room(&self, line: Vec<u8>) -> Result<(), Vec<u8>> {
        let n_waiting = FRAMES_WAITING_MAX - self.sender.capacity();
        let n_bytes = self.bytes_waiting.load(Ordering::Relaxed);
        let is_too_long = n_bytes > 0 && n_bytes + line.len() > ITEM_BYTES_WAITING_MAX;
        if n_waiting >= ITEMS_WAITING_MAX || is_too_long {
            return Err(line);
        }
        self.push(line)
    }

    /// Gives the line back if there is no room for it.
    fn push(&self, line: Vec<u8>) -> Result<(), Vec<u8>> {
        let n_bytes = line.len();
        let waiting = self.bytes_waiting.fetch_add(n_bytes, Ordering::Relaxed);
        let pushed = if waiting + n_bytes <= FRAME_BYTES_WAITING_MAX {
            self.sender.try_send(line).map_err(mpsc::error::TrySendError::into_inner)
        } else {
            Err(line)
        };
        if pushed.is_err() {
            self.bytes_waiting.fetch_sub(n_bytes, Ordering::Relaxed);
        }
        pushed
    }

    pub(super) fn begin(&self, request_id: &str) -> Result<CancellationToken, CallError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = |message: String| CallError::request(ErrorCode::RuntimeBusy, message);
        if running.contains_key(request_id) {
            return Err(busy(format!(
                "request id `{}` is already in use",
                request_id.escape_debug()
            )));
        }
        if running.len() >= REQUESTS_RUNNING_MAX {
            let message = format!("too many requests are running (at most {REQUESTS_RUNNING_MAX})");
            return Err(busy(message).hint("try again when one of them is done"));
        }
        let cancel = CancellationToken::new();
        running.insert(request_id.to_owned(), cancel.clone());
        Ok(cancel)
    }

    pub(super) fn stop(&self, request_id: &str) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = running.get(request_id) {
            cancel.cancel();
        }
    }

    pub(super) fn end(&self, request_id: &str) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(request_id);
    }
}

fn item_line(item: &HostFrame) -> Result<Vec<u8>, CallError> {
    frame(item).ok_or_else(|| {
        let message = format!("a part of the answer is longer than {FRAME_BYTES_MAX} bytes");
        CallError::invalid(message).hint("run the command without `--from-host`")
    })
}

/// What is sent in place of an answer that no line can hold.
fn too_long(message: &HostFrame) -> Option<HostFrame> {
    let HostFrame::Response(response) = message else { return None };
    Some(HostFrame::error(Some(response.request_id.clone()), answer_too_long()))
}

/// Sends lines until nobody is left who could add one, the client is gone, or it has been waited
/// for long enough after the host's end or its own last line.
pub(super) async fn write_all(
    mut sink: impl FrameSink,
    mut receiver: mpsc::Receiver<Vec<u8>>,
    link: Link,
    over: CancellationToken,
) {
    let Link { sender, bytes_waiting, taken, stalled, gone, .. } = link;
    // Only those who have something to send keep the channel open.
    drop(sender);
    let too_late = async {
        tokio::select! {
            biased;
            () = over.cancelled() => (),
            () = stalled.cancelled() => (),
        }
        tokio::time::sleep(Duration::from_millis(DRAIN_MS_MAX)).await;
    };
    let alive = frame(&HostFrame::Alive(KeepAlive {})).unwrap_or_default();
    let writing = async {
        loop {
            let next = tokio::time::timeout(Duration::from_millis(ALIVE_EVERY_MS), receiver.recv());
            let sent = match next.await {
                Ok(None) => return,
                Ok(Some(frame)) => {
                    bytes_waiting.fetch_sub(frame.len(), Ordering::Relaxed);
                    let sent = sink.send(frame).await;
                    taken.notify_waiters();
                    sent
                }
                Err(_) => sink.send(alive.clone()).await,
            };
            if sent.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        () = gone.cancelled() => (),
        () = too_late => (),
        () = writing => (),
    }
    // Also when all is sent: nobody reads what would come now.
    gone.cancel();
}

#[cfg(test)]
mod tests;
