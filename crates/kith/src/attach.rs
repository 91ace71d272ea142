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
    Asked, Failure, Greeting, PROTOCOL, Said, Stop, Wanted, read_frame, write_frame,
};
use crate::report::{Blame, Report};

/// How long a host may take to answer a hello. A stopped one never does.
const HELLO_MS_MAX: u64 = 5_000;
/// The id of the one request that a connection of ours carries.
const REQUEST_ID: &str = "1";

/// Why a host did not answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// It could not be reached: it is on its way up or down, or does not answer.
    Unreached(io::Error),
    /// It went away in the middle: another one may answer.
    Lost,
    /// It answered, with an error.
    Refused(Report),
}

/// Asks the host that listens at the path.
pub(crate) async fn ask(
    path: &Path,
    request: &Request,
    screen: &dyn Watcher,
    cancel: &CancellationToken,
) -> Result<Answer, Unanswered> {
    let (mut reader, mut writer) = greet(path).await?;
    send(&mut writer, Wanted::Request(request.clone())).await?;
    let mut stopped = false;
    loop {
        let said = tokio::select! {
            said = read_frame::<Said>(&mut reader) => said.map_err(|_| Unanswered::Lost)?,
            () = cancel.cancelled(), if !stopped => {
                stopped = true;
                send(&mut writer, Wanted::Stop(Stop::Cancel {})).await?;
                continue;
            }
        };
        match said {
            None => return Err(Unanswered::Lost),
            Some(Said::Response(response)) => {
                return response.read(request).map_err(|error| {
                    Unanswered::Refused(Report::new(Blame::Program, "internal_error", error))
                });
            }
            Some(Said::Error(failure)) => return Err(Unanswered::Refused(failure.into())),
            Some(Said::Event(push)) => screen.written(&[push.event]),
            Some(Said::Delta(push)) => screen.delta(push.delta.as_delta()),
            Some(Said::Hello(_)) => (),
        }
    }
}

async fn send(writer: &mut OwnedWriteHalf, wanted: Wanted) -> Result<(), Unanswered> {
    let asked = Asked { request_id: REQUEST_ID.to_owned(), wanted };
    write_frame(writer, &asked).await.map_err(|_| Unanswered::Lost)
}

type Halves = (BufReader<OwnedReadHalf>, OwnedWriteHalf);

async fn greet(path: &Path) -> Result<Halves, Unanswered> {
    let greeting = async {
        let (reader, mut writer) = UnixStream::connect(path).await?.into_split();
        let mut reader = BufReader::new(reader);
        let client_id = format!("cli-{}", std::process::id());
        write_frame(&mut writer, &Greeting::Hello { protocol: PROTOCOL, client_id }).await?;
        let said = read_frame::<Said>(&mut reader).await?;
        Ok((said, reader, writer))
    };
    let waited = tokio::time::timeout(Duration::from_millis(HELLO_MS_MAX), greeting).await;
    let greeted: io::Result<_> = waited.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    match greeted.map_err(Unanswered::Unreached)? {
        (Some(Said::Hello(_)), reader, writer) => Ok((reader, writer)),
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
