//! The desk in a SQLite file.
//!
//! One thread owns the file. What changes something is committed together with whatever else waits,
//! so a hundred threads cost hardly more than one.

mod check;
mod columns;
mod error;
mod grants;
mod inbox;
pub(super) mod schema;
mod taint;
mod threads;
mod trust;
mod wakeups;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::Desk;
use crate::database::{Durability, StartError, Worker, WorkerStopped, make_file, while_recovering};
use crate::storage::{StorageError, StorageFuture};

pub use error::DeskError;
pub use schema::DESK_VERSION;

/// A handle on the desk. When the last one is gone, the file is closed.
#[derive(Clone, Debug)]
pub struct SqliteDesk(Arc<OpenDesk>);

#[derive(Debug)]
struct OpenDesk {
    path: PathBuf,
    device_id: String,
    /// The generation that was found on opening; the first new row raises it by one.
    found_generation: u64,
    worker: Worker,
}

impl SqliteDesk {
    /// Opens the desk for writing, and makes it if there is none. A new one gets the device id.
    pub async fn open(path: &Path, new_device_id: String) -> Result<SqliteDesk, DeskError> {
        let connect = move |path: &Path| schema::open(path, &new_device_id).map(Some);
        match SqliteDesk::start(path, connect).await? {
            Some(desk) => Ok(desk),
            None => Err(DeskError::Gone { path: path.to_owned() }),
        }
    }

    /// Opens the desk for reading; `None` if there is none. Makes no file, not for a moment.
    ///
    /// Without a host the file is taken as it stands: the handle is for one short command.
    pub async fn open_read_only(path: &Path) -> Result<Option<SqliteDesk>, DeskError> {
        SqliteDesk::start(path, schema::open_read_only).await
    }

    /// Writes a copy of the desk as it is now to a file that must not exist.
    pub async fn copy_to(&self, path: &Path) -> Result<(), StorageError> {
        make_file(path).map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
        let to = path.as_os_str().as_encoded_bytes().to_vec();
        let copy = move |desk: &mut Connection| {
            // A second try would find the first one's file.
            desk.execute("VACUUM INTO CAST(?1 AS TEXT)", [to]).map(drop)
        };
        let answer = self.0.worker.run(copy).await;
        self.answer(answer).await
    }

    /// Checks the whole file; returns what is wrong with it.
    pub async fn problem(&self) -> Result<Option<String>, StorageError> {
        self.run(|desk| check::problem(desk)).await
    }

    async fn start(
        path: &Path,
        connect: impl Fn(&Path) -> Result<Option<Connection>, DeskError> + Send + 'static,
    ) -> Result<Option<SqliteDesk>, DeskError> {
        let thread_path = path.to_owned();
        let open_once = move || {
            let Some(connection) = connect(&thread_path)? else { return Ok::<_, DeskError>(None) };
            let failed = |source| DeskError::of(&thread_path, source);
            let device_id = while_recovering(|| schema::device_id(&connection)).map_err(failed)?;
            let generation =
                while_recovering(|| schema::generation(&connection)).map_err(failed)?;
            Ok(Some((connection, (device_id, generation))))
        };
        // A read that fails once is no reason to give up, and SQLite calls it damage.
        let open = move || match open_once() {
            Err(error) if error.is_retryable() => open_once().map_err(DeskError::unless_unreadable),
            done => done,
        };
        let path = path.to_owned();
        match Worker::start("kith-desk", open).await {
            Ok(opened) => Ok(opened.map(|(worker, facts)| SqliteDesk::of(path, facts, worker))),
            Err(StartError::Refused(error)) => Err(error),
            Err(StartError::NoThread(source)) => Err(DeskError::Open { path, source }),
            Err(StartError::Gone) => Err(DeskError::Gone { path }),
        }
    }

    pub(super) fn of(path: PathBuf, facts: (String, u64), worker: Worker) -> SqliteDesk {
        let (device_id, found_generation) = facts;
        SqliteDesk(Arc::new(OpenDesk { path, device_id, found_generation, worker }))
    }

    /// Has the desk's thread change something durably, in one commit with what else waits.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let answer = self.0.worker.change(Durability::Synced, work).await;
        self.answer(answer).await
    }

    /// Has the desk's thread change what follows from elsewhere, and waits for neither it nor the
    /// disk: if it fails, it is done again when its session is opened.
    async fn change_later<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<(), StorageError> {
        let asked = self.0.worker.begin_change(Durability::Eventual, work).await;
        asked.map(drop).map_err(|WorkerStopped| self.stopped())
    }

    /// Has the desk's thread do the work, and do it again if the disk fails. It is done even if the
    /// caller stops waiting.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let answer = self.0.worker.run_with_retry(work).await;
        self.answer(answer).await
    }

    async fn answer<T>(
        &self,
        answer: Result<rusqlite::Result<T>, WorkerStopped>,
    ) -> Result<T, StorageError> {
        let source = match answer.map_err(|WorkerStopped| self.stopped())? {
            Ok(value) => return Ok(value),
            Err(source) => source,
        };
        let error = DeskError::of(&self.0.path, source);
        let DeskError::Damaged { path, source } = error else { return Err(error.into()) };
        // Whether it is damage shows when everything is read once more.
        let problem = self.0.worker.run(|desk| check::problem(desk)).await;
        if let Ok(Ok(None)) = problem {
            return Err(DeskError::Disk { path, source }.into());
        }
        Err(DeskError::Damaged { path, source }.into())
    }

    fn stopped(&self) -> StorageError {
        DeskError::Gone { path: self.0.path.clone() }.into()
    }
}

impl Desk for SqliteDesk {
    fn device_id(&self) -> &str {
        &self.0.device_id
    }

    fn generation(&self) -> StorageFuture<'_, u64> {
        Box::pin(self.run(|desk| schema::generation(desk)))
    }

    fn raise_generation(&self, generation: u64) -> StorageFuture<'_, ()> {
        Box::pin(async move {
            let raised = self.change(move |desk| schema::raise_generation(desk, generation));
            raised.await.map(drop)
        })
    }
}

#[cfg(test)]
mod tests;
