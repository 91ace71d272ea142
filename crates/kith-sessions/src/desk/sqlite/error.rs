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
    #[error("cannot open `{}`", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("`{}` is not a SQLite database", path.display())]
    NotADatabase { path: PathBuf },
    #[error("`{}` is a database of another program", path.display())]
    NotADesk { path: PathBuf },
    #[error(
        "`{}` has version {found}, but this kith knows versions up to {known}; use a newer kith",
        path.display()
    )]
    NewerVersion { path: PathBuf, found: u32, known: u32 },
    /// A `-wal` file without its `-shm`: reading it would make a file.
    #[error(
        "`{}` has changes that were not applied yet, and this command only reads",
        path.display()
    )]
    NeedsRecovery { path: PathBuf },
    #[error("the disk that holds `{}` does not support a write-ahead log", path.display())]
    NoWriteAheadLog { path: PathBuf },
    #[error("no space left on the disk for `{}`", path.display())]
    Full { path: PathBuf, source: rusqlite::Error },
    #[error("cannot write to `{}`", path.display())]
    ReadOnly { path: PathBuf, source: rusqlite::Error },
    #[error("the disk that holds `{}` failed", path.display())]
    Disk { path: PathBuf, source: rusqlite::Error },
    #[error("`{}` is in use by another program", path.display())]
    Busy { path: PathBuf, source: rusqlite::Error },
    /// What was asked is done, but the log still holds words that were to be wiped.
    #[error(
        "text of the removed session may remain in the write-ahead log of `{}`, which another \
         program is reading",
        path.display()
    )]
    LogInUse { path: PathBuf },
    #[error("`{}` is damaged", path.display())]
    Damaged { path: PathBuf, source: rusqlite::Error },
    /// SQLite reads it, and it is not what was written.
    #[error("`{}` is damaged: {problem}", path.display())]
    DamagedRow { path: PathBuf, problem: String },
    #[error("a database operation on `{}` failed", path.display())]
    Failed { path: PathBuf, source: rusqlite::Error },
    #[error("`{}` is closed", path.display())]
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

    /// Whether the disk alone may be at fault: SQLite calls a read that fails damage.
    pub(super) fn is_retryable(&self) -> bool {
        matches!(
            self,
            DeskError::Disk { .. } | DeskError::Damaged { .. } | DeskError::NotADatabase { .. }
        )
    }

    /// Whether a reader may have looked at the files while a host made or removed them.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            DeskError::NeedsRecovery { .. } | DeskError::ReadOnly { .. } | DeskError::Disk { .. }
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
