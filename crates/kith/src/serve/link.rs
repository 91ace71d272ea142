//! The way back to one client, which may be slow, stopped or gone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_engine::session::Watcher;
use kith_vocab::event::Event;
use kith_vocab::provider::{Delta, Tap};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::protocol::{Alive, DeltaPush, EventPush, FRAME_BYTES_MAX, Said, frame};
use crate::report::{Blame, Report};

/// Lines that wait to be sent to one client.
const FRAMES_WAITING_MAX: usize = 4096;
/// What they may come to: a client that is behind by more has stopped reading.
const FRAME_BYTES_WAITING_MAX: usize = 4 * FRAME_BYTES_MAX;
/// Requests of one client that run side by side.
const REQUESTS_RUNNING_MAX: usize = 256;
/// How long a host that ends waits for a client to take its last lines.
const DRAIN_MS_MAX: u64 = 1_000;
/// How often a host that has nothing to say shows that it is there.
const ALIVE_EVERY_MS: u64 = 5_000;

#[derive(Clone)]
pub(super) struct Link {
    sender: mpsc::Sender<Vec<u8>>,
    bytes_waiting: Arc<AtomicUsize>,
    /// The client fell behind or hung up.
    pub(super) gone: CancellationToken,
    running: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

impl Link {
    pub(super) fn new() -> (Link, mpsc::Receiver<Vec<u8>>) {
        let (sender, receiver) = mpsc::channel(FRAMES_WAITING_MAX);
        let (bytes_waiting, gone) = (Arc::default(), CancellationToken::new());
        (Link { sender, bytes_waiting, gone, running: Arc::default() }, receiver)
    }

    /// Sends what must arrive. A client without room for it is let go.
    pub(super) fn say(&self, said: &Said) {
        let Some(frame) = frame(said).or_else(|| frame(&too_long(said)?)) else { return };
        if !self.push(frame) {
            self.gone.cancel();
        }
    }

    fn say_if_there_is_room(&self, said: &Said) {
        // A delta that finds no room is lost; nobody relies on it.
        if let Some(frame) = frame(said) {
            self.push(frame);
        }
    }

    fn push(&self, frame: Vec<u8>) -> bool {
        let n_bytes = frame.len();
        let waiting = self.bytes_waiting.fetch_add(n_bytes, Ordering::Relaxed);
        let fits = waiting + n_bytes <= FRAME_BYTES_WAITING_MAX;
        let is_pushed = fits && self.sender.try_send(frame).is_ok();
        if !is_pushed {
            self.bytes_waiting.fetch_sub(n_bytes, Ordering::Relaxed);
        }
        is_pushed
    }

    pub(super) fn begin(&self, request_id: &str) -> Option<CancellationToken> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() >= REQUESTS_RUNNING_MAX || running.contains_key(request_id) {
            return None;
        }
        let cancel = CancellationToken::new();
        running.insert(request_id.to_owned(), cancel.clone());
        Some(cancel)
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

/// What is said in place of an answer that no line can hold; an event of that length is left out,
/// and can be read in the session.
fn too_long(said: &Said) -> Option<Said> {
    let Said::Response(response) = said else { return None };
    let message = format!("the answer is longer than {FRAME_BYTES_MAX} bytes");
    let report = Report::new(Blame::Request, "invalid_request", message)
        .hint("`kith session show` reads it without the other kith");
    Some(Said::failure(Some(response.request_id.clone()), &report))
}

/// What a turn shows, on its way to the client that asked for it.
pub(super) struct Pushes {
    pub(super) link: Link,
    pub(super) request_id: String,
}

impl Tap for Pushes {
    fn delta(&self, delta: Delta<'_>) {
        let (request_id, delta) = (self.request_id.clone(), delta.into());
        self.link.say_if_there_is_room(&Said::Delta(DeltaPush { request_id, delta }));
    }
}

impl Watcher for Pushes {
    fn written(&self, events: &[Event]) {
        for event in events {
            let (request_id, event) = (self.request_id.clone(), event.clone());
            self.link.say(&Said::Event(EventPush { request_id, event }));
        }
    }
}

/// Sends what is said until nobody is left to say anything, the client is gone, or the host has
/// waited long enough after its end.
pub(super) async fn write_all(
    mut writer: OwnedWriteHalf,
    mut receiver: mpsc::Receiver<Vec<u8>>,
    link: Link,
    over: CancellationToken,
) {
    let Link { sender, bytes_waiting, gone, running: _ } = link;
    // Only those who have something to say keep the channel open.
    drop(sender);
    let too_late = async {
        over.cancelled().await;
        tokio::time::sleep(Duration::from_millis(DRAIN_MS_MAX)).await;
    };
    let alive = frame(&Said::Alive(Alive {})).unwrap_or_default();
    let writing = async {
        loop {
            let next = tokio::time::timeout(Duration::from_millis(ALIVE_EVERY_MS), receiver.recv());
            let sent = match next.await {
                Ok(None) => return,
                Ok(Some(frame)) => {
                    bytes_waiting.fetch_sub(frame.len(), Ordering::Relaxed);
                    writer.write_all(&frame).await
                }
                Err(_) => writer.write_all(&alive).await,
            };
            if sent.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = writing => (),
        () = gone.cancelled() => (),
        () = too_late => (),
    }
    // Also when all is said: nobody reads what would come now.
    gone.cancel();
}
