//! The errors of storage, the same for every backend.

use std::error::Error;
use std::io;

use kith_vocab::clock::BoxFuture;

use crate::damage::Damage;

/// The future that the methods of a storage port return.
pub type StorageFuture<'a, T> = BoxFuture<'a, Result<T, StorageError>>;

/// An error of a [`Journal`](crate::journal::Journal), a [`Desk`](crate::desk::Desk) or a
/// [`Catalog`](crate::catalog::Catalog). It holds no type of a backend, and it can be cloned: every
/// follower of a session gets it when the session fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StorageError {
    pub kind: StorageErrorKind,
    /// What could not be done, and to what. It does not repeat the causes.
    pub message: String,
    /// Why, from the nearest cause to the farthest.
    pub causes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageErrorKind {
    NotFound,
    /// The thing to be created exists already.
    Exists,
    /// The session can only be read, and only as far as the damage.
    Damaged(Damage),
    /// The desk cannot be read, or is something else.
    DamagedDesk,
    /// The session is whole, so there is nothing to repair.
    NotDamaged,
    /// The event, header or row breaks a rule of its format and was not written.
    Refused,
    /// Another writer has appended to the session since the expected head.
    Fenced,
    /// The same key stands for another message already.
    Conflict,
    /// A named limit is reached: open rows of a session, trusted repositories, sizes.
    LimitReached,
    /// The session is open, or messages still wait for it.
    InUse,
    /// There is no room on the disk.
    Full,
    ReadOnly,
    /// Another program uses the file.
    Busy,
    /// A newer version wrote it.
    NewerVersion,
    /// Reading it would have to write: only a command that writes can open it.
    NeedsRecovery,
    /// The session is not open. After a failed write only opening it again shows what the disk
    /// holds.
    MustReopen,
    /// The backend was closed.
    Closed,
    /// The disk, the file or the connection failed.
    Unavailable,
}

impl StorageError {
    pub fn new(kind: StorageErrorKind, message: impl Into<String>) -> StorageError {
        StorageError { kind, message: message.into(), causes: Vec::new() }
    }

    /// Whether making room may help.
    pub fn is_full(&self) -> bool {
        self.kind == StorageErrorKind::Full
    }

    pub fn is_not_found(&self) -> bool {
        self.kind == StorageErrorKind::NotFound
    }

    /// The damage of the session, if that is the cause.
    pub fn damage(&self) -> Option<&Damage> {
        match &self.kind {
            StorageErrorKind::Damaged(damage) => Some(damage),
            _ => None,
        }
    }
}

/// Whether this process is the writer of the files, or reads while another may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilesAccess {
    Write,
    Read,
}

/// An error of a backend in words: its own, and those of what caused it.
pub(crate) fn words_of(kind: StorageErrorKind, error: &dyn Error) -> StorageError {
    let mut causes: Vec<String> = Vec::new();
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        // An error that passes another one on says the same once more.
        if causes.last().unwrap_or(&message) != &words {
            causes.push(words);
        }
        source = cause.source();
    }
    if let Some(cause) = causes.first()
        && let Some(own) = message.strip_suffix(cause.as_str()).and_then(|it| it.strip_suffix(": "))
    {
        message = own.to_owned();
    }
    StorageError { kind, message, causes }
}

/// Which of the things a person can act upon a failure of the disk is.
pub(crate) fn kind_of_io(error: &io::Error) -> StorageErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            StorageErrorKind::Full
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StorageErrorKind::ReadOnly
        }
        _ => StorageErrorKind::Unavailable,
    }
}
