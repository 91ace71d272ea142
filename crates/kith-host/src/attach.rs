//! The client's side of a connection to the host, over the house's socket or from another machine.

mod blobs;
mod host_frames;
pub(crate) mod measured_stream;
mod request;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kith_sessions::lock::socket_path_of_holder;
use kith_sessions::socket::{is_own_socket, socket_path};
use kith_vocab::clock::BoxFuture;
use tokio::io::BufReader;
use tokio::net::UnixStream;

use host_frames::{HostFrames, HostWriter};
use request::{OpenRequest, REQUEST_ID};

use crate::any_call::{AnyCall, AnyResponse, TypedCall};
use crate::call::{Access, Call, Follower, Payload, Response};
use crate::caller::Caller;
use crate::error::{CallError, ErrorCode};
use crate::protocol::{ClientHello, Frames, Greeting, HostFrame, PROTOCOL, write_frame};
use crate::remote::RemoteHost;
use crate::socket_peer::refusal_of;

/// How long a host may take to answer a hello. A stopped one never does.
const HELLO_MS_MAX: u64 = 3_000;
/// The same over a network.
const REMOTE_HELLO_MS_MAX: u64 = 15_000;
/// How long a host that answered it may say nothing at all: it shows itself more often than that. On this
/// machine no frame, from another one no byte.
const SILENCE_MS_MAX: u64 = 30_000;

/// Why a host did not answer.
#[derive(Debug)]
pub enum AskFailure {
    /// It could not be reached: it is on its way up or down.
    Unreachable(io::Error),
    /// It is there and says nothing: it is stopped.
    Silent,
    /// It went away in the middle: another one may answer.
    Disconnected,
    /// It answered, with an error.
    Refused(CallError),
}

/// How long to wait for a host.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    hello: Duration,
    silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            hello: Duration::from_millis(HELLO_MS_MAX),
            silence: Duration::from_millis(SILENCE_MS_MAX),
        }
    }
}

/// Where the host of this house listens: as it says itself in the lock, because the folder for
/// sockets of long paths depends on the environment; else where it would listen from here.
pub fn host_socket(kith_dir: &Path) -> PathBuf {
    let named = socket_path_of_holder(kith_dir);
    let usable = named.filter(|path| path.is_absolute() && path.symlink_metadata().is_ok());
    usable.unwrap_or_else(|| socket_path(kith_dir))
}

/// Where a host is.
#[derive(Clone, Copy)]
pub enum HostAt<'a> {
    /// On this machine, at this socket.
    Socket(&'a Path),
    Remote(&'a RemoteHost),
}

impl<'a> From<&'a PathBuf> for HostAt<'a> {
    fn from(path: &'a PathBuf) -> HostAt<'a> {
        HostAt::Socket(path)
    }
}

/// Asks the host that listens there. The call notes what came, for the next host.
pub async fn ask<C: Call, I: Payload>(
    at: impl Into<HostAt<'_>>,
    caller: &Caller,
    call: &mut C,
    follower: &Follower<I>,
    timeouts: Timeouts,
) -> Result<Response<C::Answer>, AskFailure> {
    let mut call = TypedCall { call, follower };
    let response = ask_any(at.into(), caller, &mut call, timeouts).await?;
    TypedCall::<C, I>::typed(response).map_err(AskFailure::Refused)
}

/// The same for any call.
pub(crate) fn ask_any<'a>(
    at: HostAt<'a>,
    caller: &'a Caller,
    call: &'a mut dyn AnyCall,
    timeouts: Timeouts,
) -> BoxFuture<'a, Result<AnyResponse, AskFailure>> {
    Box::pin(async move {
        let (frames, writer) = match at {
            HostAt::Socket(path) => greet(path, caller, timeouts).await?,
            HostAt::Remote(remote) => greet_remote(remote, caller).await?,
        };
        let cancel = call.cancel().clone();
        let mut request = OpenRequest::new(frames, writer, timeouts, &cancel);
        request.send(call.name(), REQUEST_ID, call.body()).await?;
        call.note_asked();
        let mut has_items = false;
        match answer(request, call, &mut has_items).await {
            // A turn is followed again from where it is; what was read from the files would be
            // given a second time.
            Err(AskFailure::Disconnected) if has_items && call.access() == Access::Read => {
                let message = "the host exited before it finished answering";
                let error = CallError::request(ErrorCode::RuntimeBusy, message).hint("try again");
                Err(AskFailure::Refused(error))
            }
            answer => answer,
        }
    })
}

async fn answer(
    mut request: OpenRequest<'_>,
    call: &mut dyn AnyCall,
    has_items: &mut bool,
) -> Result<AnyResponse, AskFailure> {
    loop {
        match request.next().await? {
            HostFrame::Response(frame) => {
                return call.read_response(&frame.data, frame.notes).map_err(unreadable);
            }
            HostFrame::Error(frame) => return Err(AskFailure::Refused(frame.error)),
            HostFrame::Item(frame) => {
                let item = request.put_back(frame.item).await?;
                let sent = call.take_item(&item).map_err(unreadable)?;
                *has_items = true;
                sent.await.map_err(|why| AskFailure::Refused(why.into()))?;
            }
            HostFrame::Hello(_) | HostFrame::Alive(_) => (),
        }
    }
}

/// The client that only looks whether a host is there.
const DOCTOR: &str = "doctor";

/// Whether a host answers at the path, for someone who wants nothing of it.
pub async fn is_answered(path: &Path) -> Result<(), AskFailure> {
    greet(path, &Caller::owner(DOCTOR), Timeouts::default()).await.map(drop)
}

/// A host that says what cannot be read would say it again if it were asked again.
fn failure_of(error: io::Error) -> AskFailure {
    match error.kind() {
        io::ErrorKind::InvalidData => unreadable(error),
        _ => AskFailure::Disconnected,
    }
}

fn unreadable(error: impl std::fmt::Display) -> AskFailure {
    let message = format!("unexpected reply from the running kith: {error}");
    let report = CallError::request(ErrorCode::ProtocolMismatch, message);
    AskFailure::Refused(report.hint("quit the other kith, or use the same version in both places"))
}

type Connected = (HostFrames, HostWriter);

async fn greet(path: &Path, caller: &Caller, timeouts: Timeouts) -> Result<Connected, AskFailure> {
    // Whoever made the socket hears what is said, so it is looked at before anything is.
    if !is_own_socket(path).map_err(AskFailure::Unreachable)? {
        return Err(of_another_user(path));
    }
    let greeting = async {
        let stream = UnixStream::connect(path).await?;
        if refusal_of(&stream).is_some() {
            return Ok(None);
        }
        let (reader, mut writer) = stream.into_split();
        let mut frames = Frames::new(BufReader::new(reader));
        // A host that turns us away does so without listening.
        let sent = write_frame(&mut writer, &Greeting::Hello(ClientHello::of(caller))).await;
        let frame = frames.next::<HostFrame>().await;
        sent.or_else(|error| if matches!(frame, Ok(Some(_))) { Ok(()) } else { Err(error) })?;
        Ok(Some((frame?, frames, writer)))
    };
    let waited = tokio::time::timeout(timeouts.hello, greeting).await;
    let greeted: io::Result<_> = waited.map_err(|_| AskFailure::Silent)?;
    let greeted = greeted.map_err(AskFailure::Unreachable)?;
    match greeted.ok_or_else(|| of_another_user(path))? {
        (Some(HostFrame::Hello(_)), frames, writer) => {
            Ok((HostFrames::Socket(frames), HostWriter::Socket(writer)))
        }
        (Some(HostFrame::Error(frame)), ..) => Err(AskFailure::Refused(frame.error)),
        _ => Err(AskFailure::Unreachable(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Says hello to a host on another machine, which may be of another version.
async fn greet_remote(remote: &RemoteHost, caller: &Caller) -> Result<Connected, AskFailure> {
    let (source, sink, moved) = remote.connect().await?;
    let mut frames = HostFrames::Remote(source, moved.clone());
    let mut writer = HostWriter::Remote(sink, moved);
    let greeting = async {
        writer.send(&Greeting::Hello(ClientHello::of(caller))).await?;
        frames.next().await
    };
    let greeted = tokio::time::timeout(Duration::from_millis(REMOTE_HELLO_MS_MAX), greeting).await;
    match greeted.map_err(|_| AskFailure::Silent)?.map_err(failure_of)? {
        Some(HostFrame::Hello(hello)) if hello.protocol == PROTOCOL => Ok((frames, writer)),
        Some(HostFrame::Hello(hello)) => Err(AskFailure::Refused(other_protocol(hello.protocol))),
        Some(HostFrame::Error(frame)) => Err(AskFailure::Refused(frame.error)),
        _ => Err(AskFailure::Unreachable(io::ErrorKind::UnexpectedEof.into())),
    }
}

fn other_protocol(of_host: u32) -> CallError {
    let message = format!("the host uses protocol {of_host}, this kith {PROTOCOL}");
    CallError::request(ErrorCode::ProtocolMismatch, message)
        .hint("install the same version of kith on both machines")
}

fn of_another_user(path: &Path) -> AskFailure {
    let message = format!("`{}` may not be your own socket; nothing was sent", path.display());
    let hint = "check who owns it and its folder, then remove it";
    AskFailure::Refused(CallError::request(ErrorCode::AuthFailed, message).hint(hint))
}

#[cfg(test)]
mod tests;
