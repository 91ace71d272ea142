//! The host's side of the socket: many clients, one engine.
//!
//! A connection carries any number of requests side by side. What a slow client does not take in
//! time is not kept for it: deltas are dropped, and one that falls behind on events is let go; it
//! comes back and asks again under the same message id.
//!
//! A host that ends answers what it took, and takes nothing new. It does not hide meanwhile:
//! whoever comes is let in and waits, and the end of the connection tells it to look for the next
//! host, however long the last turn takes.

mod link;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_sessions::socket::HostSocket;
use rustix::process::{Resource, getrlimit};
use tokio::io::BufReader;
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::client::{Client, Request};
use crate::host::Host;
use crate::house::House;
use crate::protocol::{Asked, Frames, Greeting, HostHello, PROTOCOL, Said, Wanted, frame};
use crate::report::{Blame, Report};

use link::{Link, Pushes, write_all};

/// Clients that are attached at once, where the system lets us have enough descriptors.
const CLIENTS_MAX: usize = 512;
/// Where it does not: fewer than this would be of no use.
const CLIENTS_MIN: usize = 4;
/// Descriptors that are never given to clients: those of the house itself, and of a turn at work.
const DESCRIPTORS_KEPT: u64 = 32;
/// How long a client may take to say hello.
const HELLO_MS_MAX: u64 = 5_000;
/// How long to wait for a descriptor when there is none left.
const ACCEPT_AGAIN_MS: u64 = 50;

/// The host as other processes see it, until it ends.
pub(crate) struct Server {
    reception: Arc<Reception>,
    socket: Option<HostSocket>,
}

/// What all connections share.
struct Reception {
    host: Arc<Host>,
    /// Whether requests are taken. Asked and answered under the lock, so that none slips in
    /// between the last look at what runs and the end.
    is_open: Mutex<bool>,
    requests: TaskTracker,
    connections: TaskTracker,
    /// Every request has been answered, and no connection is served any longer.
    over: CancellationToken,
}

impl Server {
    /// Listens at the house's socket. The caller's host holds the lock, so the socket is its own.
    pub(crate) fn start(house: &House, host: &Arc<Host>) -> io::Result<Server> {
        let (socket, listener) = HostSocket::bind(&house.kith_dir())?;
        let listener = UnixListener::from_std(listener)?;
        let reception = Arc::new(Reception {
            host: Arc::clone(host),
            is_open: Mutex::new(true),
            requests: TaskTracker::new(),
            connections: TaskTracker::new(),
            over: CancellationToken::new(),
        });
        reception.connections.spawn(accept_all(listener, Arc::clone(&reception)));
        Ok(Server { reception, socket: Some(socket) })
    }

    /// Does something beside what is asked for; the host does not end before it is done.
    pub(crate) fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.reception.requests.spawn(work);
    }

    /// Takes no more requests and waits until those it took have been answered.
    pub(crate) async fn end(mut self) {
        let Reception { is_open, requests, connections, over, .. } = &*self.reception;
        *is_open.lock().unwrap_or_else(PoisonError::into_inner) = false;
        requests.close();
        requests.wait().await;
        // The name goes before the lock: it must not be the next host's that is removed.
        self.socket = None;
        over.cancel();
        connections.close();
        connections.wait().await;
    }
}

impl Reception {
    /// A place among the requests that the host stays for; `None` if it is ending.
    fn admit(&self) -> Option<TaskTrackerToken> {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        is_open.then(|| self.requests.token())
    }
}

async fn accept_all(listener: UnixListener, reception: Arc<Reception>) {
    let n_places = clients_max(getrlimit(Resource::Nofile).current);
    let places = Arc::new(Semaphore::new(n_places));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = reception.over.cancelled() => return,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors: the client waits in the queue, and so do we.
            tokio::time::sleep(Duration::from_millis(ACCEPT_AGAIN_MS)).await;
            continue;
        };
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                reception.connections.spawn(attend(stream, Arc::clone(&reception), place));
            }
            Err(_) => turn_away(&stream, n_places),
        }
    }
}

/// Half of what the house does not need: the turns of those clients open files too, and clients
/// must not keep the host from its work by merely being there.
fn clients_max(descriptors_max: Option<u64>) -> usize {
    let Some(max) = descriptors_max else { return CLIENTS_MAX };
    let half = max.saturating_sub(DESCRIPTORS_KEPT) / 2;
    usize::try_from(half).unwrap_or(CLIENTS_MAX).clamp(CLIENTS_MIN, CLIENTS_MAX)
}

fn turn_away(stream: &UnixStream, n_places: usize) {
    let message = format!("{n_places} clients are attached already");
    let report = Report::new(Blame::Request, "runtime_busy", message)
        .hint("try again when some of them are done");
    if let Some(frame) = frame(&Said::failure(None, &report)) {
        // A fresh socket has room for a line; if not, the end of the connection says enough.
        stream.try_write(&frame).ok();
    }
}

/// One client, from its hello to its end.
async fn attend(stream: UnixStream, reception: Arc<Reception>, _place: OwnedSemaphorePermit) {
    let is_own_user = is_own_user(&stream);
    let (reader, writer) = stream.into_split();
    let (link, receiver) = Link::new();
    let over = reception.over.clone();
    let writing = reception.connections.spawn(write_all(writer, receiver, link.clone(), over));
    if is_own_user {
        tokio::select! {
            () = converse(Frames::new(BufReader::new(reader)), &reception, &link) => (),
            () = reception.over.cancelled() => (),
            () = link.gone.cancelled() => (),
        }
    } else {
        let message = "this house belongs to another user";
        link.say(&Said::failure(None, &Report::new(Blame::Request, "auth_failed", message)));
    }
    // Requests that run hold the link too; when the last is answered, the writer ends.
    drop(link);
    // A panic in it would be ours, and is reported where it happens.
    writing.await.ok();
}

fn is_own_user(stream: &UnixStream) -> bool {
    let peer = stream.peer_cred().ok().map(|peer| peer.uid());
    is_ours(peer, rustix::process::getuid().as_raw())
}

/// A peer whom the system does not name is nobody's friend.
fn is_ours(peer: Option<u32>, own: u32) -> bool {
    peer == Some(own)
}

async fn converse(
    mut frames: Frames<BufReader<OwnedReadHalf>>,
    reception: &Arc<Reception>,
    link: &Link,
) {
    let hello = frames.next::<Greeting>();
    let hello = tokio::time::timeout(Duration::from_millis(HELLO_MS_MAX), hello).await;
    match hello {
        Ok(Ok(Some(Greeting::Hello { protocol: PROTOCOL, .. }))) => {
            link.say(&Said::Hello(HostHello { protocol: PROTOCOL }));
        }
        Ok(Ok(Some(Greeting::Hello { protocol, .. }))) => {
            let message = format!("the host speaks protocol {PROTOCOL}, the client {protocol}");
            let report = Report::new(Blame::Request, "protocol_mismatch", message)
                .hint("end the other kith, or use the same version in both places");
            return link.say(&Said::failure(None, &report));
        }
        _ => {
            let report =
                Report::new(Blame::Request, "invalid_request", "the first line must be a hello");
            return link.say(&Said::failure(None, &report));
        }
    }
    loop {
        match frames.next::<Asked>().await {
            Ok(Some(asked)) => answer(asked, reception, link),
            Ok(None) => return,
            Err(error) => {
                let message = format!("a request could not be read: {error}");
                let report = Report::new(Blame::Request, "invalid_request", message);
                return link.say(&Said::failure(None, &report));
            }
        }
    }
}

fn answer(asked: Asked, reception: &Arc<Reception>, link: &Link) {
    let Asked { request_id, wanted } = asked;
    let request = match wanted {
        Wanted::Stop(_) => return link.stop(&request_id),
        Wanted::Request(request) => *request,
    };
    let Some(cancel) = link.begin(&request_id) else {
        let message = "the request id is in use, or too many requests run";
        let report = Report::new(Blame::Request, "runtime_busy", message);
        return link.say(&Said::failure(Some(request_id), &report));
    };
    let (reception, link) = (Arc::clone(reception), link.clone());
    let Some(place) = reception.admit() else {
        let connections = reception.connections.clone();
        connections.spawn(wait_for_the_end(reception, link, request_id, cancel));
        return;
    };
    // On its own: the turn goes on when its client is gone, as it would have been the host.
    tokio::spawn(async move {
        let pushes = Pushes { link: link.clone(), request_id: request_id.clone() };
        let host = Arc::clone(&reception.host);
        // In a task of its own, so that a bug in one request is an answer and not a silence.
        let performed = tokio::spawn(perform(host, request, pushes, cancel)).await;
        let said = performed.unwrap_or_else(|_| {
            let message = "this is a bug in kith: the host could not deal with the request";
            let report = Report::new(Blame::Program, "internal_error", message);
            Said::failure(Some(request_id.clone()), &report)
        });
        link.end(&request_id);
        link.say(&said);
        drop(place);
    });
}

async fn perform(
    host: Arc<Host>,
    request: Request,
    pushes: Pushes,
    cancel: CancellationToken,
) -> Said {
    let request_id = pushes.request_id.clone();
    match host.call(request.clone(), &pushes, &cancel).await {
        Ok(answer) => Said::answer(&request, request_id, &answer),
        Err(report) => Said::failure(Some(request_id), &report),
    }
}

/// A request that came while the host was ending. It is for the next one; until then it can only
/// be taken back.
async fn wait_for_the_end(
    reception: Arc<Reception>,
    link: Link,
    request_id: String,
    cancel: CancellationToken,
) {
    tokio::select! {
        () = reception.over.cancelled() => (),
        () = link.gone.cancelled() => (),
        () = cancel.cancelled() => {
            let message = "stopped while the host of this house was ending";
            let report = Report::new(Blame::Request, "cancelled", message)
                .hint("say it again if it still matters");
            link.end(&request_id);
            link.say(&Said::failure(Some(request_id), &report));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_user_is_let_in() {
        assert!(is_ours(Some(1000), 1000));
        assert!(is_ours(Some(0), 0));
        assert!(!is_ours(Some(1001), 1000));
        assert!(!is_ours(Some(0), 1000));
        assert!(!is_ours(Some(1000), 0));
        assert!(!is_ours(None, 0));
    }

    #[test]
    fn clients_leave_descriptors_for_the_host() {
        assert_eq!(clients_max(None), 512);
        assert_eq!(clients_max(Some(1_048_576)), 512);
        assert_eq!(clients_max(Some(1024)), 496);
        assert_eq!(clients_max(Some(256)), 112);
        assert_eq!(clients_max(Some(20)), 4);
    }
}
