//! An error as a person at a terminal sees it.
//!
//! Libraries return typed errors that say what went wrong. Only the command line knows whose move
//! it is and what they could try, so blame, codes and hints are added here and nowhere else.

use std::error::Error;
use std::fmt;
use std::io;
use std::iter;
use std::path::Path;

use kith_engine::lane::{EngineError, OpeningError};
use kith_engine::session::SessionError;
use kith_engine::survey::PlaceError;
use kith_engine::turn::TurnError;
use kith_home::error::HomeError;
use kith_sessions::damage::{Damage, DamageCode};
use kith_sessions::desk::DeskError;
use kith_sessions::lock::LockError;
use kith_sessions::log::LogError;
use serde::{Deserialize, Serialize};

pub(crate) const EXIT_REQUEST: u8 = 1;
pub(crate) const EXIT_USAGE: u8 = 2;
pub(crate) const EXIT_ENVIRONMENT: u8 = 3;
pub(crate) const EXIT_BUG: u8 = 70;

/// Whose move it is. Decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Blame {
    /// A request that cannot be met.
    Request,
    /// Wrong arguments.
    Usage,
    /// The disk, the network or a vendor failed.
    Environment,
    /// We broke a promise.
    Program,
}

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) code: &'static str,
    pub(crate) blame: Blame,
    error: Box<dyn Error + Send + Sync>,
    pub(crate) hints: Vec<String>,
    pub(crate) line: Option<usize>,
}

impl Report {
    pub(crate) fn new(
        blame: Blame,
        code: &'static str,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Report {
        Report { code, blame, error: error.into(), hints: Vec::new(), line: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Report {
        Report::new(Blame::Usage, "usage", message.into())
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Report {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn at_line(mut self, line: usize) -> Report {
        self.line = Some(line);
        self
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.blame {
            Blame::Request => EXIT_REQUEST,
            Blame::Usage => EXIT_USAGE,
            Blame::Environment => EXIT_ENVIRONMENT,
            Blame::Program => EXIT_BUG,
        }
    }

    /// The error and its causes in one line.
    pub(crate) fn message(&self) -> String {
        let mut message = self.error.to_string();
        for cause in iter::successors(self.error.source(), |&cause| cause.source()) {
            message.push_str(": ");
            message.push_str(&cause.to_string());
        }
        message
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.error)?;
        for cause in iter::successors(self.error.source(), |&cause| cause.source()) {
            writeln!(f, "  cause: {cause}")?;
        }
        for hint in &self.hints {
            writeln!(f, "hint: {hint}")?;
        }
        Ok(())
    }
}

impl From<LogError> for Report {
    fn from(error: LogError) -> Report {
        match &error {
            LogError::NotFound { .. } => Report::new(Blame::Request, "session_not_found", error)
                .hint("`kith session ls` lists the sessions there are"),
            // The disk did its work; what it holds is not a session that can be used.
            LogError::Damaged { path, damage } => {
                let message =
                    format!("session file `{}` {}", path.display(), damage_in_words(damage));
                Report::new(Blame::Request, damage.code.as_str(), message)
                    .at_line(damage.line)
                    .hint(what_helps(path, damage))
            }
            LogError::NotDamaged { .. } => Report::new(Blame::Request, "invalid_request", error),
            _ if error.is_disk_full() => Report::new(Blame::Environment, "disk_full", error)
                .hint("make room on the disk; what was said is kept and answered the next time"),
            _ => on_disk(error),
        }
    }
}

impl From<DeskError> for Report {
    fn from(error: DeskError) -> Report {
        match &error {
            _ if error.is_disk_full() => Report::new(Blame::Environment, "disk_full", error)
                .hint("make room on the disk and say it again"),
            DeskError::PathTooLong { .. }
            | DeskError::TooManyRepositories
            | DeskError::KeyLength { .. }
            | DeskError::MessageTooLong { .. }
            | DeskError::EnvelopeTooLong { .. } => {
                Report::new(Blame::Request, "invalid_request", error)
            }
            DeskError::NewerVersion { .. } => Report::new(Blame::Request, "newer_version", error),
            DeskError::NotADatabase { .. }
            | DeskError::NotADesk { .. }
            | DeskError::Damaged { .. } => Report::new(Blame::Request, "damaged", error)
                .hint("move that file away: a new one is made, and the sessions stay as they are"),
            DeskError::NeedsRecovery { .. } => {
                Report::new(Blame::Request, "conflict", error).hint("`kith ask` is such a command")
            }
            DeskError::Busy { .. } => Report::new(Blame::Request, "runtime_busy", error),
            _ => on_disk(error),
        }
    }
}

impl From<LockError> for Report {
    fn from(error: LockError) -> Report {
        match error {
            LockError::Held { .. } => Report::new(Blame::Request, "runtime_busy", error)
                .hint("wait until it is done, or end it"),
            LockError::Io { .. } => on_disk(error),
        }
    }
}

/// The disk refused something in `.kith`.
fn on_disk(error: impl Error + Send + Sync + 'static) -> Report {
    Report::new(Blame::Environment, "filesystem_error", error)
        .hint("`.kith` must be a folder, on a disk that works, that you may write to")
}

impl From<HomeError> for Report {
    fn from(error: HomeError) -> Report {
        match error {
            HomeError::NotAHome { ref path } => {
                let hint = format!("`kith init {}` makes an agent there", quoted(path));
                Report::new(Blame::Request, "home_not_found", error).hint(hint)
            }
            HomeError::Untrusted { ref home, .. } => {
                let hint = format!(
                    "`kith trust {}` if it is yours, or you trust whoever wrote it: its files \
                     speak to the model as you, and its settings count",
                    quoted(home)
                );
                Report::new(Blame::Request, "untrusted", error).hint(hint)
            }
            HomeError::AgentId { .. } => Report::new(Blame::Request, "invalid_request", error),
            HomeError::ReadFile { .. } => {
                Report::new(Blame::Environment, "filesystem_error", error)
                    .hint("without it the agent would be another: make it readable, or remove it")
            }
            HomeError::MakeFolder { ref source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
                ) =>
            {
                Report::new(Blame::Request, "invalid_request", error)
                    .hint("there is a file of that name; choose another")
            }
            HomeError::MakeFolder { .. } | HomeError::WriteFile { .. } => {
                Report::new(Blame::Environment, "filesystem_error", error)
                    .hint("choose a folder that you may write to")
            }
            HomeError::OpenFolder { .. } | HomeError::Time { .. } => {
                Report::new(Blame::Environment, "filesystem_error", error)
            }
        }
    }
}

/// What can be done about a damaged session.
fn what_helps(path: &Path, damage: &Damage) -> String {
    let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("latest");
    // Without its first line nobody knows what the rest belongs to; and what a newer program wrote
    // is not damaged for the newer program.
    if damage.line <= 1 || damage.code == DamageCode::NewerVersion {
        return "nothing was changed; `kith ask --new` goes on in a new session".to_owned();
    }
    format!(
        "nothing was changed; `kith session repair {id}` copies what can be read into a new one"
    )
}

/// What is wrong with a session, in words that follow its name.
pub(crate) fn damage_in_words(damage: &Damage) -> String {
    let Damage { line, code, detail } = damage;
    // A list of all the words there are helps nobody who is told that one is unknown.
    let detail = detail.split(", expected one of").next().unwrap_or_default();
    match code {
        DamageCode::NewerVersion => format!("cannot be read from line {line} on: {detail}"),
        _ => format!("is damaged at line {line} ({code}): {detail}"),
    }
}

/// A path as a shell takes it back.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |ch: char| ch.is_alphanumeric() || "/._-+,:@%".contains(ch);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

impl From<EngineError> for Report {
    fn from(error: EngineError) -> Report {
        match error {
            EngineError::Desk(error) => error.into(),
            EngineError::Turn(TurnError::Session(SessionError::Log(error))) => error.into(),
            EngineError::Turn(TurnError::Session(error)) => {
                Report::new(Blame::Environment, "filesystem_error", error)
            }
            EngineError::Turn(TurnError::Render(error)) => {
                Report::new(Blame::Environment, "model_failed", error)
            }
            EngineError::Turn(TurnError::TooManySteps) => {
                Report::new(Blame::Program, "internal_error", error)
            }
            EngineError::Opening(OpeningError(cause)) => match cause.downcast::<HomeError>() {
                Ok(error) => (*error).into(),
                Err(cause) => Report::new(Blame::Environment, "filesystem_error", cause),
            },
            EngineError::InUse { .. } => Report::new(Blame::Request, "runtime_busy", error)
                .hint("wait for its end, or let `kith` take it up if it was cut short"),
            EngineError::Place(PlaceError::NothingToClone) => {
                Report::new(Blame::Request, "invalid_request", error)
            }
            EngineError::Place(_) => Report::new(Blame::Request, "invalid_event_id", error),
            EngineError::Conflict { .. } | EngineError::Taken { .. } => {
                Report::new(Blame::Request, "conflict", error)
            }
            EngineError::NotBuilt { .. } => Report::new(Blame::Request, "invalid_request", error),
        }
    }
}
