//! The client's side of the socket.

use std::io;
use std::path::Path;
use std::time::Duration;

use kith_engine::session::Watcher;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;

use crate::client::{Answer, Request};
use crate::protocol::{
    Asked, Failure, Frames, Greeting, PROTOCOL, Said, Stop, Wanted, write_frame,
};
use crate::report::{Blame, Report};

/// How long a host may take to answer a hello. A stopped one never does.
const HELLO_MS_MAX: u64 = 3_000;
/// How long a host that answered it may say nothing at all: it shows itself more often than that.
const SILENCE_MS_MAX: u64 = 30_000;
/// The id of the one request that a connection of ours carries.
const REQUEST_ID: &str = "1";

/// Why a host did not answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// It could not be reached: it is on its way up or down.
    Unreached(io::Error),
    /// It is there and says nothing: it is stopped.
    Deaf,
    /// It went away in the middle: another one may answer.
    Lost,
    /// It answered, with an error.
    Refused(Report),
}

/// How long to wait for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    hello: Duration,
    silence: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            hello: Duration::from_millis(HELLO_MS_MAX),
            silence: Duration::from_millis(SILENCE_MS_MAX),
        }
    }
}

/// Asks the host that listens at the path.
pub(crate) async fn ask(
    path: &Path,
    request: &Request,
    screen: &dyn Watcher,
    cancel: &CancellationToken,
    patience: Patience,
) -> Result<Answer, Unanswered> {
    let (mut frames, mut writer) = greet(path, patience).await?;
    send(&mut writer, Wanted::Request(Box::new(request.clone())), patience).await?;
    let mut stopped = false;
    loop {
        let said = tokio::select! {
            said = tokio::time::timeout(patience.silence, frames.next::<Said>()) => said,
            () = cancel.cancelled(), if !stopped => {
                stopped = true;
                send(&mut writer, Wanted::Stop(Stop::Cancel {}), patience).await?;
                continue;
            }
        };
        let said = said.map_err(|_| Unanswered::Deaf)?;
        match said.map_err(lost_or_strange)? {
            None => return Err(Unanswered::Lost),
            Some(Said::Response(response)) => return response.read(request).map_err(strange),
            Some(Said::Error(failure)) => return Err(Unanswered::Refused(failure.into())),
            Some(Said::Event(push)) => screen.written(&[push.event]),
            Some(Said::Delta(push)) => screen.delta(push.delta.as_delta()),
            Some(Said::Hello(_) | Said::Alive(_)) => (),
        }
    }
}

/// Whether a host answers at the path, for someone who wants nothing of it.
pub(crate) async fn is_answered(path: &Path) -> Result<(), Unanswered> {
    greet(path, Patience::default()).await.map(drop)
}

async fn send(
    writer: &mut OwnedWriteHalf,
    wanted: Wanted,
    patience: Patience,
) -> Result<(), Unanswered> {
    let asked = Asked { request_id: REQUEST_ID.to_owned(), wanted };
    match tokio::time::timeout(patience.silence, write_frame(writer, &asked)).await {
        Err(_) => Err(Unanswered::Deaf),
        Ok(sent) => sent.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                let message = format!("the request cannot be handed to the other kith: {error}");
                let report = Report::new(Blame::Request, "invalid_request", message);
                Unanswered::Refused(report.hint("end the other one, or say it in parts"))
            }
            _ => Unanswered::Lost,
        }),
    }
}

/// A host that says what cannot be read would say it again if it were asked again.
fn lost_or_strange(error: io::Error) -> Unanswered {
    match error.kind() {
        io::ErrorKind::InvalidData => strange(error),
        _ => Unanswered::Lost,
    }
}

fn strange(error: impl std::error::Error) -> Unanswered {
    let message = format!("the other kith said something that cannot be read: {error}");
    let report = Report::new(Blame::Request, "protocol_mismatch", message);
    Unanswered::Refused(report.hint("end the other one, or use the same version in both places"))
}

type Halves = (Frames<BufReader<OwnedReadHalf>>, OwnedWriteHalf);

async fn greet(path: &Path, patience: Patience) -> Result<Halves, Unanswered> {
    let greeting = async {
        let (reader, mut writer) = UnixStream::connect(path).await?.into_split();
        let mut frames = Frames::new(BufReader::new(reader));
        let client_id = format!("cli-{}", std::process::id());
        let hello = Greeting::Hello { protocol: PROTOCOL, client_id };
        // A host that turns us away does so without listening.
        let sent = write_frame(&mut writer, &hello).await;
        let said = frames.next::<Said>().await;
        sent.or_else(|error| if matches!(said, Ok(Some(_))) { Ok(()) } else { Err(error) })?;
        Ok((said?, frames, writer))
    };
    let waited = tokio::time::timeout(patience.hello, greeting).await;
    let greeted: io::Result<_> = waited.map_err(|_| Unanswered::Deaf)?;
    match greeted.map_err(Unanswered::Unreached)? {
        (Some(Said::Hello(_)), frames, writer) => Ok((frames, writer)),
        (Some(Said::Error(failure)), ..) => Err(Unanswered::Refused(failure.into())),
        _ => Err(Unanswered::Unreached(io::ErrorKind::UnexpectedEof.into())),
    }
}

impl From<Failure> for Report {
    fn from(failure: Failure) -> Report {
        let mut report = Report::new(failure.blame, known(&failure.code), failure.message);
        report.hints = failure.hints;
        report.line = failure.line;
        report
    }
}

/// The codes are a closed list; one that a newer host invented is passed on as what it must be.
fn known(code: &str) -> &'static str {
    let codes = [
        "session_not_found",
        "project_not_found",
        "runtime_busy",
        "invalid_request",
        "auth_failed",
        "protocol_mismatch",
        "resync_failed",
        "invalid_event_id",
        "conflict",
        "already_exists",
        "filesystem_error",
        "internal_error",
        "usage",
        "home_not_found",
        "model_failed",
        "disk_full",
        "damaged",
        "cancelled",
        "missing_header",
        "invalid_header",
        "invalid_event",
        "invalid_json",
        "duplicate_event_id",
        "invalid_parent",
        "non_monotonic_seq",
        "broken_chain",
        "bad_crc",
        "broken_batch",
        "bad_blob",
        "lost_tail",
        "newer_version",
    ];
    codes.into_iter().find(|known| *known == code).unwrap_or("internal_error")
}

#[cfg(test)]
mod tests;
