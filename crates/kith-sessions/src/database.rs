//! A SQLite file and the one thread that owns it.
//!
//! A handle sends the thread work and waits, so no caller ever holds a connection across an
//! `await`. The tables belong to the desk and to the index.

mod group;
mod memory;

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kith_vocab::files::FileSystem;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use tokio::sync::{mpsc, oneshot};

use crate::disk::{DiskFiles, owner_only};
use crate::own_file;
use group::{Change, GROUP_CHANGES_MAX, Pending};

pub(crate) use group::Durability;
pub(crate) use memory::MemoryDatabase;

/// Requests queued for a database's thread; further callers wait for a free place.
const DATABASE_QUEUE_MAX: usize = 1024;
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
    Thread(WorkerThread),
    /// The caller itself, on a database in memory.
    Here(Arc<MemoryDatabase>),
}

/// The thread. When this is dropped, the file is closed.
#[derive(Debug)]
pub(crate) struct WorkerThread {
    /// `None` only while it is dropped.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
}

enum Job {
    /// Done by itself.
    Alone(Box<dyn FnOnce(&mut Connection) + Send>),
    /// Done and committed together with what else waits.
    Change(Box<dyn Change>),
}

/// The thread has ended and does no more work.
#[derive(Debug)]
pub(crate) struct WorkerStopped;

pub(crate) enum StartError<E> {
    NoThread(io::Error),
    Gone,
    Refused(E),
}

impl Worker {
    /// Starts the thread and opens the file there; `None` if `open` finds none.
    ///
    /// Besides the connection `open` gives what the caller is to know of the file.
    pub(crate) async fn start<K: Send + 'static, E: Send + 'static>(
        name: &str,
        open: impl FnOnce() -> Result<Option<(Connection, K)>, E> + Send + 'static,
    ) -> Result<Option<(Worker, K)>, StartError<E>> {
        let (jobs, queue) = mpsc::channel(DATABASE_QUEUE_MAX);
        let (ready, opened) = oneshot::channel();
        let work = move || {
            let (answer, connection) = match open() {
                Ok(Some((connection, known))) => (Ok(Some(known)), Some(connection)),
                Ok(None) => (Ok(None), None),
                Err(error) => (Err(error), None),
            };
            // The caller may have stopped waiting; then the queue is closed as well.
            ready.send(answer).ok();
            if let Some(connection) = connection {
                serve(connection, queue);
            }
        };
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .map_err(StartError::NoThread)?;
        let worker = Worker::Thread(WorkerThread { jobs: Some(jobs), thread: Some(thread) });
        let known = opened.await.map_err(|_| StartError::Gone)?.map_err(StartError::Refused)?;
        Ok(known.map(|known| (worker, known)))
    }

    /// Has the thread do the work. It is done even if the caller stops waiting.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, WorkerStopped> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Alone(Box::new(move |connection| {
            // The caller may have stopped waiting; the change is made all the same.
            reply.send(work(connection)).ok();
        }));
        self.send(job).await?;
        answer.await.map_err(|_| WorkerStopped)
    }

    /// Like [`Worker::run`], for work that may be done again if the disk fails.
    pub(crate) async fn run_with_retry<T: Send + 'static>(
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
        self.run(repeat).await
    }

    /// Has the thread make a change, in one commit with others that wait. It is made again if the
    /// disk fails before the commit.
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

    async fn send(&self, job: Job) -> Result<(), WorkerStopped> {
        match self {
            Worker::Thread(WorkerThread { jobs, .. }) => {
                let jobs = jobs.as_ref().ok_or(WorkerStopped)?;
                jobs.send(job).await.map_err(|_| WorkerStopped)
            }
            Worker::Here(database) => {
                database.perform(job);
                Ok(())
            }
        }
    }
}

fn serve(mut connection: Connection, mut queue: mpsc::Receiver<Job>) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| queue.blocking_recv()) {
        let change = match job {
            Job::Alone(work) => {
                work(&mut connection);
                continue;
            }
            Job::Change(change) => change,
        };
        let mut changes = vec![change];
        while changes.len() < GROUP_CHANGES_MAX {
            match queue.try_recv() {
                Ok(Job::Change(change)) => changes.push(change),
                Ok(alone) => {
                    next = Some(alone);
                    break;
                }
                Err(_) => break,
            }
        }
        group::commit(&connection, changes);
    }
}

impl Drop for WorkerThread {
    // Waits for the file to be closed, so that the next process finds no WAL to recover.
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has been reported as gone to everyone who asked it.
            thread.join().ok();
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
