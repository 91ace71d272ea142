//! The host's side of the socket: many clients, one engine.
//!
//! A connection carries any number of requests side by side. What a slow client does not take in
//! time is not kept for it: deltas are dropped, and one that falls behind on events is let go; it
//! comes back and asks again under the same message id.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_engine::session::Watcher;
use kith_sessions::socket::HostSocket;
use kith_vocab::event::Event;
use kith_vocab::provider::{Delta, Tap};
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::Client;
use crate::host::Host;
use crate::house::House;
use crate::protocol::{
    Asked, DeltaPush, EventPush, Greeting, HostHello, PROTOCOL, Said, Wanted, read_frame,
    write_frame,
};
use crate::report::{Blame, Report};

/// What waits to be sent to one client.
const PUSHES_WAITING_MAX: usize = 4096;
/// How long a client may take to say hello.
const HELLO_MS_MAX: u64 = 5_000;
/// Requests of one client that run side by side.
const REQUESTS_RUNNING_MAX: usize = 256;

/// The host as other processes see it, until it ends.
pub(crate) struct Server {
    ending: CancellationToken,
    tasks: TaskTracker,
    socket: Option<HostSocket>,
}

impl Server {
    /// Listens at the house's socket. The caller's host holds the lock, so the socket is its own.
    pub(crate) fn start(house: &House, host: &Arc<Host>) -> io::Result<Server> {
        let (socket, listener) = HostSocket::bind(&house.kith_dir())?;
        let listener = UnixListener::from_std(listener)?;
        let ending = CancellationToken::new();
        let tasks = TaskTracker::new();
        let server = Server { ending: ending.clone(), tasks: tasks.clone(), socket: Some(socket) };
        let host = Arc::clone(host);
        tasks.spawn(accept_all(listener, host, ending, tasks.clone()));
        Ok(server)
    }

    /// Takes no more requests and waits until those it took have been answered.
    pub(crate) async fn end(mut self) {
        // The name goes first: whoever looks for a host now finds none and takes the lock.
        self.socket = None;
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn accept_all(
    listener: UnixListener,
    host: Arc<Host>,
    ending: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.cancelled() => return,
        };
        // A failed accept (out of descriptors) concerns one client; it will try again.
        let Ok((stream, _)) = accepted else {
            tokio::task::yield_now().await;
            continue;
        };
        tasks.spawn(attend(stream, Arc::clone(&host), ending.clone(), tasks.clone()));
    }
}

/// One client, from its hello to its end.
async fn attend(
    stream: UnixStream,
    host: Arc<Host>,
    ending: CancellationToken,
    tasks: TaskTracker,
) {
    if !is_own_user(&stream) {
        return;
    }
    let (reader, writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let (sender, receiver) = mpsc::channel(PUSHES_WAITING_MAX);
    let gone = CancellationToken::new();
    let link = Link { sender, gone: gone.clone(), running: Arc::default() };
    let writing = tasks.spawn(write_all(writer, receiver, gone.clone()));
    tokio::select! {
        () = converse(&mut reader, &host, &link, &tasks) => (),
        () = ending.cancelled() => (),
        () = gone.cancelled() => (),
    }
    // Requests that run hold the link too; when the last is answered, the writer ends.
    drop(link);
    // A panic in it would be ours, and is reported where it happens.
    writing.await.ok();
}

fn is_own_user(stream: &UnixStream) -> bool {
    let own = rustix::process::getuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}

async fn converse(
    reader: &mut BufReader<OwnedReadHalf>,
    host: &Arc<Host>,
    link: &Link,
    tasks: &TaskTracker,
) {
    let hello = read_frame::<Greeting>(reader);
    let hello = tokio::time::timeout(Duration::from_millis(HELLO_MS_MAX), hello).await;
    match hello {
        Ok(Ok(Some(Greeting::Hello { protocol: PROTOCOL, .. }))) => {
            link.say(Said::Hello(HostHello { protocol: PROTOCOL }));
        }
        Ok(Ok(Some(Greeting::Hello { protocol, .. }))) => {
            let message = format!("the host speaks protocol {PROTOCOL}, the client {protocol}");
            let report = Report::new(Blame::Request, "protocol_mismatch", message)
                .hint("end the other kith, or use the same version in both places");
            link.say(Said::failure(None, &report));
            return;
        }
        _ => {
            let report =
                Report::new(Blame::Request, "invalid_request", "the first line must be a hello");
            link.say(Said::failure(None, &report));
            return;
        }
    }
    loop {
        match read_frame::<Asked>(reader).await {
            Ok(Some(asked)) => answer(asked, host, link, tasks),
            Ok(None) => return,
            Err(error) => {
                let message = format!("a request could not be read: {error}");
                let report = Report::new(Blame::Request, "invalid_request", message);
                link.say(Said::failure(None, &report));
                return;
            }
        }
    }
}

fn answer(asked: Asked, host: &Arc<Host>, link: &Link, tasks: &TaskTracker) {
    let Asked { request_id, wanted } = asked;
    let request = match wanted {
        Wanted::Stop(_) => return link.stop(&request_id),
        Wanted::Request(request) => request,
    };
    let Some(cancel) = link.begin(&request_id) else {
        let message = "the request id is in use, or too many requests run";
        let report = Report::new(Blame::Request, "runtime_busy", message);
        return link.say(Said::failure(Some(request_id), &report));
    };
    let (host, link) = (Arc::clone(host), link.clone());
    // On its own: the turn goes on when its client is gone, as it would have been the host.
    tasks.spawn(async move {
        let pushes = Pushes { link: link.clone(), request_id: request_id.clone() };
        let said = match host.call(request.clone(), &pushes, &cancel).await {
            Ok(answer) => Said::answer(&request, request_id.clone(), &answer),
            Err(report) => Said::failure(Some(request_id.clone()), &report),
        };
        link.end(&request_id);
        link.say(said);
    });
}

/// The way back to one client.
#[derive(Clone)]
struct Link {
    sender: mpsc::Sender<Said>,
    /// The client fell behind or hung up.
    gone: CancellationToken,
    running: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

impl Link {
    fn say(&self, said: Said) {
        if self.sender.try_send(said).is_err() {
            self.gone.cancel();
        }
    }

    fn say_if_there_is_room(&self, said: Said) {
        // A delta that finds no room is lost; nobody relies on it.
        self.sender.try_send(said).ok();
    }

    fn begin(&self, request_id: &str) -> Option<CancellationToken> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() >= REQUESTS_RUNNING_MAX || running.contains_key(request_id) {
            return None;
        }
        let cancel = CancellationToken::new();
        running.insert(request_id.to_owned(), cancel.clone());
        Some(cancel)
    }

    fn stop(&self, request_id: &str) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = running.get(request_id) {
            cancel.cancel();
        }
    }

    fn end(&self, request_id: &str) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(request_id);
    }
}

/// What a turn shows, on its way to the client that asked for it.
struct Pushes {
    link: Link,
    request_id: String,
}

impl Tap for Pushes {
    fn delta(&self, delta: Delta<'_>) {
        let (request_id, delta) = (self.request_id.clone(), delta.into());
        self.link.say_if_there_is_room(Said::Delta(DeltaPush { request_id, delta }));
    }
}

impl Watcher for Pushes {
    fn written(&self, events: &[Event]) {
        for event in events {
            let (request_id, event) = (self.request_id.clone(), event.clone());
            self.link.say(Said::Event(EventPush { request_id, event }));
        }
    }
}

async fn write_all(
    mut writer: OwnedWriteHalf,
    mut receiver: mpsc::Receiver<Said>,
    gone: CancellationToken,
) {
    while let Some(said) = receiver.recv().await {
        let sent = tokio::select! {
            sent = write_frame(&mut writer, &said) => sent,
            () = gone.cancelled() => return,
        };
        if sent.is_err() {
            gone.cancel();
            return;
        }
    }
}
