//! The error of a call: a code, whose move it is, and hints.
//!
//! Libraries return typed errors that say what went wrong. Only the host knows whose move it is
//! and what they could try, so code, blame and hints are added here and nowhere else. The same
//! value travels in the process and over the wire.

mod code;

use std::error::Error;
use std::fmt;
use std::fs;
use std::io;
use std::iter;
use std::path::Path;

use kith_engine::engine::{EngineError, SetupError};
use kith_engine::failure::SessionFailure;
use kith_engine::survey::PlaceError;
use kith_home::error::HomeError;
use kith_sessions::damage::{Damage, DamageCode};
use kith_sessions::desk::DeskError;
use kith_sessions::lock::LockError;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::ids::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use code::ErrorCode;

/// Whose move it is. Decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// A request that cannot be met.
    Request,
    /// Wrong arguments.
    Usage,
    /// The disk, the network or a vendor failed.
    Environment,
    /// We broke a promise.
    Program,
    /// Nobody's: a person stopped it.
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallError {
    pub code: ErrorCode,
    /// What could not be done.
    pub message: String,
    pub blame: Blame,
    /// What may help, each a sentence that works when it is typed.
    pub hints: Vec<String>,
    /// The line of the file that the message names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Why, from the nearest cause to the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

impl CallError {
    pub fn new(
        blame: Blame,
        code: ErrorCode,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> CallError {
        let error = error.into();
        let causes = iter::successors(error.source(), |&cause| cause.source());
        let causes = causes.map(ToString::to_string).collect();
        let (message, hints) = (error.to_string(), Vec::new());
        CallError { code, message, blame, hints, line: None, causes }
    }

    /// An error of the request itself, which the same request would meet again.
    pub fn request(code: ErrorCode, error: impl Into<Box<dyn Error + Send + Sync>>) -> CallError {
        CallError::new(Blame::Request, code, error)
    }

    /// A request that makes no sense, whatever the state of the house.
    pub fn invalid(error: impl Into<Box<dyn Error + Send + Sync>>) -> CallError {
        CallError::request(ErrorCode::InvalidRequest, error)
    }

    /// A file or folder that could not be read or written.
    pub fn filesystem(error: impl Into<Box<dyn Error + Send + Sync>>) -> CallError {
        CallError::new(Blame::Environment, ErrorCode::FilesystemError, error)
    }

    pub fn usage(message: impl Into<String>) -> CallError {
        CallError::new(Blame::Usage, ErrorCode::Usage, message.into())
    }

    /// Something that a person stopped.
    pub fn stopped(message: impl Into<String>) -> CallError {
        CallError::new(Blame::Stopped, ErrorCode::Cancelled, message.into())
    }

    /// A promise of ours that does not hold.
    pub fn bug(error: impl Into<Box<dyn Error + Send + Sync>>) -> CallError {
        CallError::new(Blame::Program, ErrorCode::InternalError, error)
    }

    /// The task that worked on a request ended without an answer.
    pub(crate) fn failed_request() -> CallError {
        CallError::bug("this is a bug in kith: the host failed to handle the request")
    }

    /// An error of the storage that concerns a session.
    pub(crate) fn of_session(id: SessionId, error: StorageError) -> CallError {
        let Some(damage) = error.damage() else { return error.into() };
        // The disk did its work; what it holds is not a session that can be used.
        let message = format!("session `{id}` {}", damage_in_words(damage));
        CallError::request(damage.code.into(), message)
            .at_line(damage.line)
            .hint(what_helps(id, damage))
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> CallError {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn at_line(mut self, line: usize) -> CallError {
        self.line = Some(line);
        self
    }

    /// The error and its causes in one line.
    pub fn message(&self) -> String {
        let parts = iter::once(&self.message).chain(&self.causes);
        parts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }
}

/// The error, its causes and its hints, each on a line, as a person reads them.
impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        for cause in &self.causes {
            writeln!(f, "  cause: {cause}")?;
        }
        for hint in &self.hints {
            writeln!(f, "hint: {hint}")?;
        }
        Ok(())
    }
}

impl Error for CallError {}

/// What to do about a desk that cannot be used, and what that costs.
pub(crate) const DESK_LOST: &str = "nothing was changed; move `.kith/state.db` with its `-wal` and \
                                    `-shm` files out of the way, and the next message rebuilds it \
                                    from the sessions. Waiting messages and your list of trusted \
                                    repositories cannot be rebuilt";

impl From<DeskError> for CallError {
    fn from(error: DeskError) -> CallError {
        if error.is_disk_full() {
            return CallError::new(Blame::Environment, ErrorCode::DiskFull, error)
                .hint("free some disk space and send it again");
        }
        StorageError::from(error).into()
    }
}

impl From<LockError> for CallError {
    fn from(error: LockError) -> CallError {
        match error {
            LockError::Held { .. } => CallError::request(ErrorCode::RuntimeBusy, error)
                .hint("wait for it to finish, or quit it"),
            LockError::Lost { .. } => {
                CallError::new(Blame::Environment, ErrorCode::RuntimeBusy, error)
                    .hint("quit this kith and start it again")
            }
            LockError::NotOurs(_) => CallError::request(ErrorCode::Untrusted, error),
            LockError::Io { .. } => on_disk(error),
        }
    }
}

/// The disk refused something in `.kith`.
/// A file that is `Agent.md` but for capital letters, which most file systems tell apart.
fn misnamed_constitution(home: &Path) -> Option<String> {
    let names = fs::read_dir(home).ok()?.filter_map(|it| it.ok()?.file_name().into_string().ok());
    names.into_iter().find(|name| name.eq_ignore_ascii_case("Agent.md"))
}

fn on_disk(error: impl Error + Send + Sync + 'static) -> CallError {
    CallError::filesystem(error).hint("check that `.kith` is a writable folder")
}

impl From<HomeError> for CallError {
    fn from(error: HomeError) -> CallError {
        match error {
            HomeError::NotAHome { ref path } => {
                let hint = match misnamed_constitution(path) {
                    Some(name) => format!("rename `{name}` to `Agent.md`"),
                    None => format!("`kith init {}` creates an agent there", quoted(path)),
                };
                CallError::request(ErrorCode::HomeNotFound, error).hint(hint)
            }
            HomeError::Untrusted { ref home, .. } => {
                let hint = format!(
                    "run `kith trust {}` if you trust it: its files then count as your \
                     instructions, and its settings apply",
                    quoted(home)
                );
                CallError::request(ErrorCode::Untrusted, error).hint(hint)
            }
            HomeError::AgentId { .. } => CallError::invalid(error),
            HomeError::ReadFile { .. } => CallError::filesystem(error)
                .hint("it is part of the agent's instructions; make it readable or delete it"),
            HomeError::MakeFolder { ref source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
                ) =>
            {
                CallError::invalid(error).hint("a file with that name exists; choose another name")
            }
            HomeError::MakeFolder { .. } | HomeError::WriteFile { .. } => {
                CallError::filesystem(error).hint("choose a folder you can write to")
            }
            HomeError::OpenFolder { .. } | HomeError::Time { .. } => CallError::filesystem(error),
        }
    }
}

/// What can be done about a damaged session.
fn what_helps(id: SessionId, damage: &Damage) -> String {
    // Without its first line nobody knows what the rest belongs to; and what a newer program wrote
    // is not damaged for the newer program.
    if damage.line <= 1 || damage.code == DamageCode::NewerVersion {
        return "nothing was changed; `kith ask --new` starts a new session".to_owned();
    }
    format!(
        "nothing was changed; `kith session repair {id}` copies the readable part into a new \
         session"
    )
}

/// What is wrong with a session, in words that follow its name.
pub fn damage_in_words(damage: &Damage) -> String {
    let Damage { line, code, detail } = damage;
    // A list of all the words there are helps nobody who is told that one is unknown.
    let detail = detail.split(", expected one of").next().unwrap_or_default();
    match code {
        DamageCode::NewerVersion => format!("cannot be read from line {line} on: {detail}"),
        _ => format!("is damaged at line {line} ({code}): {detail}"),
    }
}

/// A path as a shell takes it back.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |ch: char| ch.is_alphanumeric() || "/._-+,:@%".contains(ch);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

impl From<StorageError> for CallError {
    fn from(error: StorageError) -> CallError {
        let StorageError { kind, message, causes } = error;
        let (blame, code, hint) = match &kind {
            StorageErrorKind::NotFound => {
                (Blame::Request, ErrorCode::SessionNotFound, "`kith session ls` lists the sessions")
            }
            StorageErrorKind::Damaged(damage) => {
                let code = ErrorCode::from(damage.code);
                return CallError::new(Blame::Request, code, message)
                    .at_line(damage.line)
                    .hint("`kith session repair` copies the readable part into a new session");
            }
            StorageErrorKind::Exists => (Blame::Request, ErrorCode::AlreadyExists, ""),
            StorageErrorKind::DamagedDesk => (Blame::Request, ErrorCode::Damaged, DESK_LOST),
            StorageErrorKind::NotDamaged | StorageErrorKind::Refused => {
                (Blame::Request, ErrorCode::InvalidRequest, "")
            }
            StorageErrorKind::Conflict => (
                Blame::Request,
                ErrorCode::Conflict,
                "send it with another `--message-id`, or without one",
            ),
            StorageErrorKind::LimitReached => (
                Blame::Request,
                ErrorCode::RuntimeBusy,
                "wait until some of the waiting messages have been answered",
            ),
            StorageErrorKind::InUse | StorageErrorKind::Busy | StorageErrorKind::Fenced => {
                (Blame::Request, ErrorCode::RuntimeBusy, "")
            }
            StorageErrorKind::Full => (
                Blame::Environment,
                ErrorCode::DiskFull,
                "free some disk space; accepted messages are kept and answered next time",
            ),
            StorageErrorKind::NewerVersion => (Blame::Request, ErrorCode::NewerVersion, ""),
            StorageErrorKind::NeedsRecovery => (
                Blame::Request,
                ErrorCode::Conflict,
                "run a command that writes, such as `kith ask`",
            ),
            StorageErrorKind::ReadOnly
            | StorageErrorKind::MustReopen
            | StorageErrorKind::Closed
            | StorageErrorKind::Unavailable => (
                Blame::Environment,
                ErrorCode::FilesystemError,
                "check that `.kith` is a writable folder",
            ),
        };
        let error = CallError { causes, ..CallError::new(blame, code, message) };
        if hint.is_empty() { error } else { error.hint(hint) }
    }
}

impl From<SessionFailure> for CallError {
    fn from(failure: SessionFailure) -> CallError {
        match failure {
            SessionFailure::Storage(error) => error.into(),
            SessionFailure::Setup { .. } => CallError::filesystem(failure),
            SessionFailure::Render { .. } => {
                CallError::new(Blame::Environment, ErrorCode::ModelFailed, failure)
            }
            SessionFailure::ModelUnavailable { .. } => {
                CallError::request(ErrorCode::ModelFailed, failure)
                    .hint("run `kith retry` when the model is available again")
            }
            SessionFailure::NotBuilt { .. } => CallError::invalid(failure),
            SessionFailure::TooManySteps { .. } | SessionFailure::Panicked => {
                CallError::bug(failure)
            }
        }
    }
}

impl From<SetupError> for CallError {
    fn from(SetupError(cause): SetupError) -> CallError {
        match cause.downcast::<HomeError>() {
            Ok(error) => (*error).into(),
            Err(cause) => CallError::filesystem(cause),
        }
    }
}

impl From<EngineError> for CallError {
    fn from(error: EngineError) -> CallError {
        let (code, hint) = match error {
            EngineError::Storage(error) => return error.into(),
            EngineError::Setup(error) => return error.into(),
            EngineError::Failed(failure) => return failure.into(),
            EngineError::InUse { .. } => (
                ErrorCode::RuntimeBusy,
                "wait for it to finish; if it was interrupted, `kith` resumes it",
            ),
            EngineError::Busy { .. } | EngineError::Stopping => {
                (ErrorCode::RuntimeBusy, "try again in a moment")
            }
            EngineError::TurnRunning { .. } => {
                (ErrorCode::RuntimeBusy, "wait for it to finish, or stop it with `kith cancel`")
            }
            EngineError::ModelUnavailable { .. } => {
                (ErrorCode::ModelFailed, "run `kith retry` when the model is available again")
            }
            EngineError::Place(PlaceError::NothingToClone)
            | EngineError::NotBuilt { .. }
            | EngineError::NothingToRetry { .. }
            | EngineError::InvalidCommand { .. } => (ErrorCode::InvalidRequest, ""),
            EngineError::NoQueueItem { .. } => (
                ErrorCode::InvalidRequest,
                "it was answered or removed in the meantime; `kith queue ls` shows what waits now",
            ),
            EngineError::NotApprover { .. } => (ErrorCode::AuthFailed, ""),
            EngineError::Place(_) => (ErrorCode::InvalidEventId, ""),
            EngineError::QueueItemChanged { .. } => {
                (ErrorCode::Conflict, "`kith queue ls` shows what waits now; then change it again")
            }
            EngineError::Conflict { .. } | EngineError::Taken { .. } => (ErrorCode::Conflict, ""),
        };
        let error = CallError::new(Blame::Request, code, error);
        if hint.is_empty() { error } else { error.hint(hint) }
    }
}
