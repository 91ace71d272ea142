//! The host's side of the socket: many clients, one engine.
//!
//! A connection carries any number of requests side by side. Who follows a session is sent the next
//! item when it has room for it. A client that takes nothing for 30 s is let go; it comes back and
//! goes on from where it was, or asks again under the same message id.
//!
//! A host that ends answers what it took, and takes nothing new but the fetching of long texts, which
//! whoever follows the last turns needs. It does not hide meanwhile:
//! whoever comes is let in and waits, and the end of the connection tells it to look for the next
//! host, however long the last turn takes.

mod link;
pub(crate) mod transport;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_sessions::INLINE_TEXT_BYTES_MAX;
use kith_sessions::journal::Journal;
use kith_sessions::named_texts::name_long_texts;
use kith_sessions::socket::HostSocket;
use kith_vocab::blocking::{OthersWaiting, blocking};
use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use rustix::process::{Resource, getrlimit};
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::call::{Call, Follower, Response};
use crate::caller::Caller;
use crate::calls::session::ReadBlob;
use crate::diagnostics::VisitRefusal;
use crate::error::{CallError, ErrorCode};
use crate::host::Host;
use crate::house::House;
use crate::protocol::{
    CANCEL, ClientHello, Frames, Greeting, HostFrame, HostHello, ItemFrame, PROTOCOL, RequestFrame,
    ResponseFrame, frame,
};
use crate::routes;
use crate::socket_peer::refusal_of;

use link::{Link, write_all};
use transport::{Arrival, FrameSink, FrameSource};

/// Maximum number of attached clients, if the system allows enough descriptors.
const CLIENTS_MAX: usize = 512;
/// Number of clients that are let in even if it does not.
const CLIENTS_MIN: usize = 4;
/// Descriptors reserved for the house itself and its running turns.
const DESCRIPTORS_KEPT: u64 = 32;
/// How long a client may take to say hello.
const HELLO_MS_MAX: u64 = 5_000;
/// How long to wait for a descriptor when there is none left.
const ACCEPT_AGAIN_MS: u64 = 50;

/// The host as other processes see it, until it ends.
pub struct Server {
    state: Arc<ServerState>,
    socket: Option<HostSocket>,
}

/// What all connections share.
pub(crate) struct ServerState {
    pub(crate) host: Arc<Host>,
    /// Whether requests are taken. Asked and answered under the lock, so that none slips in
    /// between the last look at what runs and the end.
    is_open: Mutex<bool>,
    requests: TaskTracker,
    pub(crate) connections: TaskTracker,
    /// Every request has been answered, and no connection is served any longer.
    pub(crate) over: CancellationToken,
}

impl Server {
    /// Listens at the house's socket. The caller's host holds the lock, so the socket is its own.
    pub fn start(house: &House, host: &Arc<Host>) -> io::Result<Server> {
        let (socket, listener) = HostSocket::bind(&house.kith_dir())?;
        let listener = UnixListener::from_std(listener)?;
        let state = Arc::new(ServerState {
            host: Arc::clone(host),
            is_open: Mutex::new(true),
            requests: TaskTracker::new(),
            connections: TaskTracker::new(),
            over: CancellationToken::new(),
        });
        state.connections.spawn(accept_all(listener, Arc::clone(&state)));
        Ok(Server { state, socket: Some(socket) })
    }

    /// What other ways in to the host share with the socket.
    pub(crate) fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    /// Does something beside what is asked for; the host does not end before it is done.
    pub fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.state.requests.spawn(work);
    }

    /// Takes no more requests and waits until those it took have been answered.
    pub async fn end(mut self) {
        self.state.close();
        let ServerState { host, requests, connections, over, .. } = &*self.state;
        host.announce_end();
        requests.close();
        requests.wait().await;
        // The name goes before the lock: it must not be the next host's that is removed.
        self.socket = None;
        over.cancel();
        connections.close();
        connections.wait().await;
    }
}

impl ServerState {
    /// Takes no more requests.
    pub(crate) fn close(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// A place among the requests that the host stays for; `None` if it is ending and the request
    /// is for the next one.
    pub(crate) fn admit(&self, name: &str) -> Option<TaskTrackerToken> {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        (*is_open || name == ReadBlob::NAME).then(|| self.requests.token())
    }

    /// Requests that are not answered yet.
    #[cfg(test)]
    pub(crate) fn n_requests(&self) -> usize {
        self.requests.len()
    }
}

async fn accept_all(listener: UnixListener, state: Arc<ServerState>) {
    let n_places = clients_max(getrlimit(Resource::Nofile).current);
    let places = Arc::new(Semaphore::new(n_places));
    loop {
        let accepted = tokio::select! {
            biased;
            () = state.over.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors: the client waits in the queue, and so do we.
            tokio::time::sleep(Duration::from_millis(ACCEPT_AGAIN_MS)).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            state.connections.spawn(attend(stream, Arc::clone(&state), place));
        } else {
            state.host.diagnostics().refuse(VisitRefusal::TooManyClients);
            turn_away(&stream, n_places);
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
    let message = format!("{n_places} clients are already attached");
    let report = CallError::request(ErrorCode::RuntimeBusy, message)
        .hint("try again when one of them has finished");
    if let Some(frame) = frame(&HostFrame::error(None, report)) {
        // A fresh socket has room for a line; if not, the end of the connection says enough.
        stream.try_write(&frame).ok();
    }
}

/// One client of the socket, from its hello to its end.
async fn attend(stream: UnixStream, state: Arc<ServerState>, _place: OwnedSemaphorePermit) {
    // What it asks for runs beside what this process is here for.
    let _others = OthersWaiting::new();
    let refusal = refusal_of(&stream);
    let (reader, writer) = stream.into_split();
    if refusal.is_none() {
        let source = Frames::new(BufReader::new(reader));
        let until = CancellationToken::new();
        return attend_client(source, writer, state, Arrival::Socket, until).await;
    }
    state.host.diagnostics().refuse(VisitRefusal::OtherUser);
    let message = refusal.unwrap_or_default();
    let error = HostFrame::error(None, CallError::request(ErrorCode::AuthFailed, message));
    let (link, receiver) = Link::new(Arrival::Socket);
    link.send(&error);
    write_all(writer, receiver, link, state.over.clone()).await;
}

/// One client that may speak for the owner, from its hello to its end; `until` ends it. What it asked
/// for goes on then, and it is told nothing more.
pub(crate) async fn attend_client(
    source: impl FrameSource,
    sink: impl FrameSink + 'static,
    state: Arc<ServerState>,
    arrival: Arrival,
    until: CancellationToken,
) {
    let (link, receiver) = Link::new(arrival);
    let (over, gone) = (state.over.clone(), link.gone.clone());
    let mut writing = state.connections.spawn(write_all(sink, receiver, link.clone(), over));
    tokio::select! {
        biased;
        () = gone.cancelled() => (),
        () = state.over.cancelled() => (),
        () = until.cancelled() => (),
        () = converse(source, &state, &link, arrival) => (),
    }
    // Requests that run hold the link too; when the last is answered, the writer ends.
    drop(link);
    tokio::select! {
        biased;
        () = until.cancelled() => gone.cancel(),
        // A panic in it would be ours, and is reported where it happens.
        ended = &mut writing => return drop(ended),
    }
    writing.await.ok();
}

/// Answers one request of a client over HTTP that has no hello of its own, and ends.
pub(crate) async fn attend_request(
    request: RequestFrame,
    sink: impl FrameSink + 'static,
    state: Arc<ServerState>,
    caller: Caller,
) {
    let (link, receiver) = Link::new(Arrival::Http);
    // Whoever stops waiting for this has let the client go, and what it follows ends too.
    let _gone_when_dropped = link.gone.clone().drop_guard();
    answer(request, &caller, &state, &link);
    let over = state.over.clone();
    write_all(sink, receiver, link, over).await;
}

async fn converse(
    mut frames: impl FrameSource,
    state: &Arc<ServerState>,
    link: &Link,
    arrival: Arrival,
) {
    let hello = frames.next::<Greeting>();
    let hello = tokio::time::timeout(Duration::from_millis(HELLO_MS_MAX), hello).await;
    let caller = if let Ok(Ok(Some(Greeting::Hello(hello)))) = hello {
        caller_of(hello).map(|caller| arrival.mark(caller))
    } else {
        Err(CallError::invalid("the first line must be a hello"))
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => {
            state.host.diagnostics().refuse(VisitRefusal::Hello);
            return link.send(&HostFrame::error(None, error));
        }
    };
    let _attached = state.host.diagnostics().attach_client();
    link.send(&HostFrame::Hello(HostHello { protocol: PROTOCOL }));
    loop {
        match frames.next::<RequestFrame>().await {
            Ok(Some(request)) => answer(request, &caller, state, link),
            // It has no more requests. If it has left, the writer finds that out.
            Ok(None) => return,
            Err(error) => {
                let error = CallError::invalid(format!("a request could not be read: {error}"));
                return link.send(&HostFrame::error(None, error));
            }
        }
    }
}

fn caller_of(hello: ClientHello) -> Result<Caller, CallError> {
    if hello.protocol == PROTOCOL {
        return hello.into_caller();
    }
    let message = format!("the host uses protocol {PROTOCOL}, the client {}", hello.protocol);
    Err(CallError::request(ErrorCode::ProtocolMismatch, message)
        .hint("quit the other kith, or use the same version in both places"))
}

fn answer(request: RequestFrame, caller: &Caller, state: &Arc<ServerState>, link: &Link) {
    if request.name == CANCEL {
        return link.stop(&request.request_id);
    }
    let cancel = match link.begin(&request.request_id) {
        Ok(cancel) => cancel,
        Err(error) => return link.send(&HostFrame::error(Some(request.request_id), error)),
    };
    let (state, link, caller) = (Arc::clone(state), link.clone(), caller.clone());
    let Some(token) = state.admit(&request.name) else {
        let connections = state.connections.clone();
        connections.spawn(wait_for_the_end(state, link, request.request_id, cancel));
        return;
    };
    let held_items = (request.name == ReadBlob::NAME).then(|| link.hold_items());
    // On its own: the turn goes on when its client is gone, as it would have been the host.
    tokio::spawn(async move {
        let request_id = request.request_id.clone();
        let host = Arc::clone(&state.host);
        // In a task of its own, so that a bug in one request is an answer and not a silence.
        let performed = tokio::spawn(perform(host, caller, request, link.clone(), cancel)).await;
        let frame = performed.unwrap_or_else(|_| {
            HostFrame::error(Some(request_id.clone()), CallError::failed_request())
        });
        link.end(&request_id);
        // Those who wait look again when the answer is taken.
        drop(held_items);
        link.send(&frame);
        drop(token);
    });
}

async fn perform(
    host: Arc<Host>,
    caller: Caller,
    request: RequestFrame,
    link: Link,
    cancel: CancellationToken,
) -> HostFrame {
    let RequestFrame { name, request_id, body } = request;
    let (request_type, id) = (name.clone(), request_id.clone());
    let journal = Arc::clone(&host.reads().journal);
    let item_frame = move |item: Json| {
        let item = with_named_texts(item, &*journal);
        let (request_type, request_id) = (request_type.clone(), id.clone());
        HostFrame::Item(ItemFrame { request_type, request_id, item })
    };
    let (gone, pushing, paced_frame) = (link.gone.clone(), link.clone(), item_frame.clone());
    let push = move |item, delivery| pushing.push_item(&item_frame(item), delivery);
    let send = move |item| -> BoxFuture<'static, _> {
        let (link, frame) = (link.clone(), paced_frame(item));
        Box::pin(async move { link.send_item(&frame).await })
    };
    let follower = Follower::new(push, cancel).with_room(send, gone);
    match routes::dispatch(&host, caller, &name, &body, follower).await {
        Ok(Response { data, notes }) => HostFrame::Response(ResponseFrame {
            request_type: name,
            request_id,
            ok: true,
            data,
            notes,
        }),
        Err(error) => HostFrame::error(Some(request_id), error),
    }
}

/// An item of a follow as it is sent: texts of events that stand in blobs are named, and read by
/// `read_blob`.
fn with_named_texts(item: Json, journal: &dyn Journal) -> Json {
    if item.as_str().len() <= INLINE_TEXT_BYTES_MAX {
        return item;
    }
    // Texts of megabytes are hashed.
    let named = blocking(|| name_long_texts(item.as_str(), &mut |it| journal.has_blob(it)));
    // What was rewritten is JSON as before.
    named.and_then(|text| Json::of_text(text).ok()).unwrap_or(item)
}

/// A request that came while the host was ending. It is for the next one; until then it can only
/// be taken back.
async fn wait_for_the_end(
    state: Arc<ServerState>,
    link: Link,
    request_id: String,
    cancel: CancellationToken,
) {
    tokio::select! {
        biased;
        () = link.gone.cancelled() => (),
        () = state.over.cancelled() => (),
        () = cancel.cancelled() => {
            let error = CallError::stopped("stopped while the host was shutting down")
                .hint("send it again if it still matters");
            link.end(&request_id);
            link.send(&HostFrame::error(Some(request_id), error));
        }
    }
}

#[cfg(test)]
mod tests;
