//! The desk in a SQLite file.
//!
//! What changes something is committed together with whatever else waits, so a hundred threads cost
//! hardly more than one.

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
use crate::database::{Durability, Worker, WorkerStopped, make_file, while_recovering};
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
    #[expect(clippy::unused_async, reason = "a desk elsewhere would have to be waited for")]
    pub async fn open(path: &Path, new_device_id: String) -> Result<SqliteDesk, DeskError> {
        let connect = move |path: &Path| schema::open(path, &new_device_id).map(Some);
        match SqliteDesk::start(path, connect)? {
            Some(desk) => Ok(desk),
            None => Err(DeskError::Gone { path: path.to_owned() }),
        }
    }

    /// Opens the desk for reading; `None` if there is none. Makes no file, not for a moment.
    ///
    /// Without a host the file is taken as it stands: the handle is for one short command.
    #[expect(clippy::unused_async, reason = "a desk elsewhere would have to be waited for")]
    pub async fn open_read_only(path: &Path) -> Result<Option<SqliteDesk>, DeskError> {
        SqliteDesk::start(path, schema::open_read_only)
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
        let answer = self.0.worker.run(|desk| check::problem(desk)).await;
        self.answer(answer).await
    }

    fn start(
        path: &Path,
        connect: impl Fn(&Path) -> Result<Option<Connection>, DeskError>,
    ) -> Result<Option<SqliteDesk>, DeskError> {
        let open_once = || {
            let Some(connection) = connect(path)? else { return Ok::<_, DeskError>(None) };
            let failed = |source| DeskError::of(path, source);
            let device_id = while_recovering(|| schema::device_id(&connection)).map_err(failed)?;
            let generation =
                while_recovering(|| schema::generation(&connection)).map_err(failed)?;
            Ok(Some((connection, (device_id, generation))))
        };
        // A read that fails once is no reason to give up, and SQLite calls it damage.
        let opened = Worker::open(|| match open_once() {
            Err(error) if error.is_retryable() => open_once().map_err(DeskError::unless_unreadable),
            done => done,
        })?;
        Ok(opened.map(|(worker, facts)| SqliteDesk::of(path.to_owned(), facts, worker)))
    }

    pub(super) fn of(path: PathBuf, facts: (String, u64), worker: Worker) -> SqliteDesk {
        let (device_id, found_generation) = facts;
        SqliteDesk(Arc::new(OpenDesk { path, device_id, found_generation, worker }))
    }

    /// Changes something durably, in one commit with what else waits.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let answer = self.0.worker.change(Durability::Synced, work).await;
        self.answer(answer).await
    }

    /// Changes what follows from elsewhere, and waits neither for those at work nor for the disk: if it
    /// fails, it is done again when its session is opened.
    async fn change_later<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<(), StorageError> {
        let asked = self.0.worker.begin_change(Durability::Eventual, work).await;
        asked.map(drop).map_err(|WorkerStopped| self.stopped())
    }

    /// Reads a few rows, and reads them again if the disk fails.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let answer = self.0.worker.read(work).await;
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
        Box::pin(self.read(|desk| schema::generation(desk)))
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
