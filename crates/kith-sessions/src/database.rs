//! A SQLite file and its one connection.
//!
//! A handle queues work and waits, so no caller ever holds a connection across an `await`. The
//! tables belong to the desk and to the index.

mod group;
mod memory;
mod queue;

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kith_vocab::blocking::blocking;
use kith_vocab::files::FileSystem;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use tokio::sync::oneshot;

use crate::disk::{DiskFiles, owner_only};
use crate::own_file;
use group::{Change, Pending};
use queue::ConnectionQueue;

pub(crate) use group::Durability;
pub(crate) use memory::MemoryDatabase;

/// How long to wait for another program that looks into the file.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(5);

/// Prepared statements that a connection keeps: more than the desk has, so that none is prepared twice.
const STATEMENTS_MAX: usize = 64;

/// Attempts per database operation when the disk fails.
const DISK_TRIES_MAX: u32 = 3;

/// Whether the disk alone may be at fault, and trying again may help: SQLite calls a read that
/// fails damage.
fn is_retryable(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase, SystemIoFailure};
    matches!(
        error.sqlite_error_code(),
        Some(SystemIoFailure | CannotOpen | DatabaseCorrupt | NotADatabase)
    )
}

/// Who does the work on a database.
#[derive(Debug)]
pub(crate) enum Worker {
    /// Whoever asks, or who is at work already.
    Callers(Arc<ConnectionQueue>),
    /// The caller itself, on a database in memory.
    Here(Arc<MemoryDatabase>),
}

type ConnectionWork = Box<dyn FnOnce(&mut Connection) + Send>;

enum Job {
    /// Reads a few rows, which takes no longer than to wake a thread.
    Read(ConnectionWork),
    /// Done by itself; it may take long.
    Alone(ConnectionWork),
    /// Done and committed together with what else waits.
    Change(Box<dyn Change>),
}

/// The file is closed, and no more work is done on it.
#[derive(Debug)]
pub(crate) struct WorkerStopped;

impl Worker {
    /// Opens the file; `None` if `open` finds none.
    ///
    /// Besides the connection `open` gives what the caller is to know of the file.
    pub(crate) fn open<K, E>(
        open: impl FnOnce() -> Result<Option<(Connection, K)>, E>,
    ) -> Result<Option<(Worker, K)>, E> {
        let opened = blocking(open)?;
        Ok(opened.map(|(connection, known)| {
            (Worker::Callers(Arc::new(ConnectionQueue::new(connection))), known)
        }))
    }

    /// Does work that may take long. It is done even if the caller stops waiting.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, WorkerStopped> {
        self.answer(work, Job::Alone).await
    }

    /// Reads a few rows, and reads them again if the disk fails.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<rusqlite::Result<T>, WorkerStopped> {
        let repeat = move |connection: &mut Connection| {
            for _ in 1..DISK_TRIES_MAX {
                match while_recovering(|| work(connection)) {
                    Err(error) if is_retryable(&error) => (),
                    done => return done,
                }
            }
            work(connection)
        };
        self.answer(repeat, Job::Read).await
    }

    /// Makes a change, in one commit with others that wait. It is made again if the disk fails before
    /// the commit.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<rusqlite::Result<T>, WorkerStopped> {
        self.begin_change(durability, work).await?.await.map_err(|_| WorkerStopped)
    }

    /// Asks for a change, which is made in its turn whether or not the answer is waited for.
    pub(crate) async fn begin_change<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<oneshot::Receiver<rusqlite::Result<T>>, WorkerStopped> {
        let (reply, answer) = oneshot::channel();
        let change = Pending { durability, work, result: None, reply };
        self.send(Job::Change(Box::new(change))).await?;
        Ok(answer)
    }

    async fn answer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
        job: fn(ConnectionWork) -> Job,
    ) -> Result<T, WorkerStopped> {
        let (reply, answer) = oneshot::channel();
        let work = move |connection: &mut Connection| {
            // The caller may have stopped waiting; the work is done all the same.
            reply.send(work(connection)).ok();
        };
        self.send(job(Box::new(work))).await?;
        answer.await.map_err(|_| WorkerStopped)
    }

    async fn send(&self, job: Job) -> Result<(), WorkerStopped> {
        match self {
            Worker::Callers(queue) => queue.submit(job).await,
            Worker::Here(database) => {
                database.perform(job);
                Ok(())
            }
        }
    }
}

/// Makes the file if there is none, readable by its owner only.
///
/// SQLite gives its log and index the mode of the file, so it is enough to make the file ourselves.
pub(crate) fn make_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        DiskFiles.create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    owner_only(&mut options);
    own_file::open(path, &mut options)?;
    check_files(path)
}

/// SQLite opens the file and those beside it by their names, so they are looked at before.
fn check_files(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        own_file::metadata(&beside(path, suffix))?;
    }
    Ok(())
}

pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT_MAX)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // A statement is planned once, not anew for each value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// What the index of a log (`-shm`) takes. It is mapped, and grows beyond this only with a log of
/// more than 30 MB.
const INDEX_BYTES: u64 = 64 * 1024;
/// SQLite writes to each of these of the index before it relies on them.
const INDEX_PAGE_BYTES: u64 = 4096;

/// Whether the index of the log can be made where this file lies.
pub(crate) fn has_room(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    rustix::fs::statvfs(folder)
        .is_ok_and(|it| it.f_bavail.saturating_mul(it.f_frsize) >= 2 * INDEX_BYTES)
}

/// Refuses to open a file where the index would be mapped over blocks that the disk does not have: who
/// writes there is killed by the system. Blocks as large as SQLite's pages are there once it wrote.
pub(crate) fn require_room(path: &Path) -> rusqlite::Result<()> {
    if has_small_blocks(path) && !has_room(path) {
        return Err(no_room());
    }
    Ok(())
}

pub(crate) fn no_room() -> rusqlite::Error {
    let full = ffi::Error::new(ffi::SQLITE_FULL);
    rusqlite::Error::SqliteFailure(full, None)
}

/// Has the disk keep the blocks of the index.
pub(crate) fn keep_room(path: &Path, connection: &Connection) -> io::Result<()> {
    if !has_small_blocks(path) {
        return Ok(());
    }
    // The index is made by the first who reads; what is wrong with the file shows when it is used.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).ok();
    let index = OpenOptions::new().read(true).write(true).open(beside(path, "-shm"))?;
    let kept = rustix::fs::fallocate(&index, rustix::fs::FallocateFlags::empty(), 0, INDEX_BYTES);
    // To close it would take SQLite's locks on the file from this whole process.
    std::mem::forget(index);
    Ok(kept?)
}

fn has_small_blocks(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    rustix::fs::statvfs(folder).is_ok_and(|it| it.f_frsize < INDEX_PAGE_BYTES)
}

/// How often a reader looks again at files that a host is opening or closing, and how long it waits in
/// between.
pub(crate) const READ_TRIES_MAX: u32 = 50;
pub(crate) const READ_WAIT: Duration = Duration::from_millis(10);

/// Reads, and reads again while the host that opens the file has not filled the index of its log: only
/// the host may.
pub(crate) fn while_recovering<T>(
    mut read: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let is_recovering = |error: &rusqlite::Error| {
        let code = error.sqlite_error().map(|error| error.extended_code);
        matches!(code, Some(ffi::SQLITE_READONLY_RECOVERY | ffi::SQLITE_READONLY_CANTINIT))
    };
    for _ in 0..READ_TRIES_MAX {
        match read() {
            Err(error) if is_recovering(&error) => thread::sleep(READ_WAIT),
            done => return done,
        }
    }
    read()
}

/// How a file can be read without making another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    Absent,
    /// No process writes to it.
    Alone,
    /// A host has it open.
    InUse,
    /// A `-wal` file without its `-shm`: reading it would make a file.
    NeedsRecovery,
}

pub(crate) fn file_state(path: &Path) -> io::Result<FileState> {
    check_files(path)?;
    if !path.try_exists()? {
        return Ok(FileState::Absent);
    }
    // A running host keeps a WAL file. Without one, no process writes.
    let has_log = beside(path, "-wal").try_exists()?;
    let has_index = beside(path, "-shm").try_exists()?;
    Ok(match (has_log, has_index) {
        (false, _) => FileState::Alone,
        (true, true) => FileState::InUse,
        (true, false) => FileState::NeedsRecovery,
    })
}

/// Opens a file that stands [`FileState::Alone`] or [`FileState::InUse`]. Makes no file.
pub(crate) fn connect_read_only(
    path: &Path,
    file_state: FileState,
) -> rusqlite::Result<Connection> {
    // `immutable` keeps SQLite from creating a WAL file.
    let how = if file_state == FileState::Alone { "immutable=1" } else { "readonly_shm=1" };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path, how), flags)?;
    connection.busy_timeout(BUSY_WAIT_MAX)?;
    Ok(connection)
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The path as a SQLite URI. Every byte that could mean something in one is escaped.
fn uri(path: &Path, parameter: &str) -> String {
    let mut uri = "file:".to_owned();
    // A path that is not absolute is taken as it is; `fs::canonicalize` fails only if it is gone.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(uri, "%{byte:02X}").ok();
        }
    }
    uri.push('?');
    uri.push_str(parameter);
    uri
}

#[cfg(test)]
mod tests;
