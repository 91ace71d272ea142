//! The file of the catalog, open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode};

use super::tables;
use crate::database::{MemoryDatabase, Worker, WorkerStopped};
use crate::storage::{StorageError, StorageErrorKind, kind_of_io, words_of};

/// A handle on the file. When the last one is gone, the file is closed.
#[derive(Clone, Debug)]
pub(super) struct Index(Arc<OpenIndex>);

#[derive(Debug)]
struct OpenIndex {
    path: PathBuf,
    worker: Worker,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    #[error("cannot open the index `{}`", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("a database operation on the index `{}` failed", path.display())]
    Failed { path: PathBuf, source: rusqlite::Error },
    #[error("the index `{}` is closed", path.display())]
    Gone { path: PathBuf },
}

impl From<IndexError> for StorageError {
    fn from(error: IndexError) -> StorageError {
        let kind = match &error {
            IndexError::Open { source, .. } => kind_of_io(source),
            IndexError::Failed { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => StorageErrorKind::Full,
                Some(ErrorCode::ReadOnly) => StorageErrorKind::ReadOnly,
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StorageErrorKind::Busy,
                _ => StorageErrorKind::Unavailable,
            },
            IndexError::Gone { .. } => StorageErrorKind::Closed,
        };
        words_of(kind, &error)
    }
}

impl Index {
    /// Opens the index for writing, and makes it if there is none that can be used.
    pub(super) fn open(path: &Path) -> Result<Index, IndexError> {
        let opened = Worker::open(|| tables::open(path).map(|connection| Some((connection, ()))))?;
        let path = path.to_owned();
        match opened {
            Some((worker, ())) => Ok(Index(Arc::new(OpenIndex { path, worker }))),
            None => Err(IndexError::Gone { path }),
        }
    }

    /// Opens the index for reading; `None` if there is none that can be used. Makes no file.
    pub(super) fn open_read_only(path: &Path) -> Option<Index> {
        let open = || Ok::<_, ()>(tables::open_read_only(path).map(|it| (it, ())));
        // Without an index everything is read from the logs.
        let (worker, ()) = Worker::open(open).ok().flatten()?;
        Some(Index(Arc::new(OpenIndex { path: path.to_owned(), worker })))
    }

    pub(super) fn in_memory(path: &Path) -> rusqlite::Result<Index> {
        let database = MemoryDatabase::new(tables::open_in_memory()?)?;
        let (path, worker) = (path.to_owned(), Worker::Here(Arc::new(database)));
        Ok(Index(Arc::new(OpenIndex { path, worker })))
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, IndexError> {
        let path = self.0.path.clone();
        let renewed_path = path.clone();
        let answer = self.0.worker.run(move |index| {
            work(index).inspect_err(|error| {
                if is_damage(error) && !index.is_readonly("main").unwrap_or(true) {
                    tables::renew(index, &renewed_path);
                }
            })
        });
        let answer =
            answer.await.map_err(|WorkerStopped| IndexError::Gone { path: path.clone() })?;
        answer.map_err(|source| IndexError::Failed { path, source })
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
