//! Diagnostic logs, read from their files.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kith_sessions::diagnostic_log::{LogName, LogTail};
use kith_vocab::blocking::blocking;

use super::ReadSide;
use crate::call::{Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::log::{
    DiagnosticLines, FollowLog, LOG_LINES_MAX, LogEnd, LogView, ReadDiagnosticLog,
};
use crate::error::CallError;

/// How often a log that is followed is looked at.
const LOOK_AGAIN_MS: u64 = 200;

pub async fn read_log(side: Arc<ReadSide>, call: ReadDiagnosticLog) -> Reply<LogView> {
    let (name, n_lines) = (side.log_name(call.session.as_deref()).await?, n_lines(call.lines)?);
    let kith_dir = side.house.kith_dir();
    let opened = blocking(|| LogTail::open(&kith_dir, name, n_lines));
    let (_, lines) = opened.map_err(|error| unreadable(&error))?;
    let file = name.path(&kith_dir).display().to_string();
    Ok(Response::new(LogView { log: name.to_string(), file, lines }))
}

pub async fn follow_log(
    side: Arc<ReadSide>,
    _: Caller,
    call: FollowLog,
    follower: Follower<DiagnosticLines>,
) -> Reply<LogEnd> {
    let (name, n_lines) = (side.log_name(call.session.as_deref()).await?, n_lines(call.lines)?);
    let kith_dir = side.house.kith_dir();
    let opened = blocking(|| LogTail::open(&kith_dir, name, n_lines));
    let (mut tail, mut lines) = opened.map_err(|error| unreadable(&error))?;
    loop {
        if !lines.is_empty() {
            follower.send(DiagnosticLines { lines }).await?;
        }
        tokio::select! {
            biased;
            () = follower.cancel.cancelled() => break,
            () = follower.gone.cancelled() => break,
            () = side.ending.cancelled() => break,
            () = tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MS)) => (),
        }
        lines = blocking(|| tail.read_new()).map_err(|error| unreadable(&error))?;
    }
    Ok(Response::new(LogEnd { log: name.to_string() }))
}

impl ReadSide {
    async fn log_name(&self, session: Option<&str>) -> Result<LogName, CallError> {
        match session {
            Some(session) => Ok(LogName::Session(self.resolve(session).await?)),
            None => Ok(LogName::Host),
        }
    }
}

fn n_lines(asked: u32) -> Result<usize, CallError> {
    if asked > LOG_LINES_MAX {
        let message = format!("{asked} lines are more than the {LOG_LINES_MAX} that are shown");
        return Err(CallError::invalid(message));
    }
    Ok(usize::try_from(asked).unwrap_or_default())
}

fn unreadable(error: &io::Error) -> CallError {
    CallError::filesystem(format!("cannot read the log: {error}"))
}
