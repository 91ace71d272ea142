//! The errors of a desk in a SQLite file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

use super::columns::row_problem;
use crate::database::has_room;
use crate::storage::{StorageError, StorageErrorKind, kind_of_io, words_of};

#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    #[error("cannot open the desk `{}`", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("`{}` is not a desk: it is not a SQLite database", path.display())]
    NotADatabase { path: PathBuf },
    #[error("`{}` is not a desk: it is a database of something else", path.display())]
    NotADesk { path: PathBuf },
    #[error(
        "the desk `{}` has version {found}, this program knows up to {known}; use a newer kith",
        path.display()
    )]
    NewerVersion { path: PathBuf, found: u32, known: u32 },
    /// A `-wal` file without its `-shm`: reading it would make a file.
    #[error(
        "the desk `{}` was left with changes that only a command that writes can take over",
        path.display()
    )]
    NeedsRecovery { path: PathBuf },
    #[error("the disk under the desk `{}` cannot keep a write-ahead log", path.display())]
    NoWriteAheadLog { path: PathBuf },
    #[error("no room on the disk for the desk `{}`", path.display())]
    Full { path: PathBuf, source: rusqlite::Error },
    #[error("the desk `{}` cannot be written to", path.display())]
    ReadOnly { path: PathBuf, source: rusqlite::Error },
    #[error("the disk failed under the desk `{}`", path.display())]
    Disk { path: PathBuf, source: rusqlite::Error },
    #[error("the desk `{}` is in use by another program", path.display())]
    Busy { path: PathBuf, source: rusqlite::Error },
    /// What was asked is done, but the log still holds words that were to be wiped.
    #[error(
        "words of the removed session may still stand in the log of the desk `{}`, which another \
         program reads",
        path.display()
    )]
    LogInUse { path: PathBuf },
    #[error("the desk `{}` is damaged", path.display())]
    Damaged { path: PathBuf, source: rusqlite::Error },
    /// SQLite reads it, and it is not what was written.
    #[error("the desk `{}` is damaged: {problem}", path.display())]
    DamagedRow { path: PathBuf, problem: String },
    #[error("the desk `{}` could not do what was asked", path.display())]
    Failed { path: PathBuf, source: rusqlite::Error },
    #[error("the desk `{}` is no longer open", path.display())]
    Gone { path: PathBuf },
}

impl DeskError {
    /// Whether making room may help.
    pub fn is_disk_full(&self) -> bool {
        match self {
            DeskError::Full { .. } => true,
            DeskError::Open { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    pub fn is_read_only(&self) -> bool {
        match self {
            DeskError::ReadOnly { .. } => true,
            DeskError::Open { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
            ),
            _ => false,
        }
    }

    /// Whether the disk alone may be at fault: SQLite calls a read that fails damage.
    pub(super) fn is_retryable(&self) -> bool {
        matches!(
            self,
            DeskError::Disk { .. } | DeskError::Damaged { .. } | DeskError::NotADatabase { .. }
        )
    }

    /// The same, unless the file cannot even be read: then it is not known to be damaged.
    pub(super) fn unless_unreadable(self) -> DeskError {
        if let DeskError::Damaged { path, .. } | DeskError::NotADatabase { path } = &self {
            let read = fs::File::open(path).and_then(|mut file| {
                let read = io::copy(&mut file, &mut io::sink());
                // To close it would take SQLite's locks on the file from this whole process.
                std::mem::forget(file);
                read
            });
            if let Err(source) = read {
                return DeskError::Open { path: path.clone(), source };
            }
        }
        self
    }

    /// Says which of the things a person can act upon the failure is.
    pub(super) fn of(path: &Path, source: rusqlite::Error) -> DeskError {
        let path = path.to_owned();
        if let Some(problem) = row_problem(&source) {
            return DeskError::DamagedRow { path, problem };
        }
        let extended = source.sqlite_error().map(|error| error.extended_code);
        match source.sqlite_error_code() {
            // The index of its log could not grow: on a full disk that fails before anything else.
            _ if extended == Some(ffi::SQLITE_IOERR_SHMSIZE) && !has_room(&path) => {
                DeskError::Full { path, source }
            }
            Some(ErrorCode::DiskFull) => DeskError::Full { path, source },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                DeskError::ReadOnly { path, source }
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                DeskError::Disk { path, source }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                DeskError::Busy { path, source }
            }
            Some(ErrorCode::NotADatabase) => DeskError::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => DeskError::Damaged { path, source },
            _ => DeskError::Failed { path, source },
        }
    }
}

impl From<DeskError> for StorageError {
    fn from(error: DeskError) -> StorageError {
        let kind = match &error {
            DeskError::Open { source, .. } => kind_of_io(source),
            DeskError::NewerVersion { .. } => StorageErrorKind::NewerVersion,
            DeskError::NeedsRecovery { .. } => StorageErrorKind::NeedsRecovery,
            DeskError::Full { .. } => StorageErrorKind::Full,
            DeskError::ReadOnly { .. } => StorageErrorKind::ReadOnly,
            DeskError::Busy { .. } | DeskError::LogInUse { .. } => StorageErrorKind::Busy,
            DeskError::Gone { .. } => StorageErrorKind::Closed,
            DeskError::NotADatabase { .. }
            | DeskError::NotADesk { .. }
            | DeskError::DamagedRow { .. }
            | DeskError::Damaged { .. } => StorageErrorKind::DamagedDesk,
            DeskError::NoWriteAheadLog { .. }
            | DeskError::Disk { .. }
            | DeskError::Failed { .. } => StorageErrorKind::Unavailable,
        };
        words_of(kind, &error)
    }
}
