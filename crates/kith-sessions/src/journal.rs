//! Where session logs are kept, whatever keeps them.
//!
//! A journal owns what is open. A writer names the head that it expects, so one that was stalled
//! while another took over is refused instead of writing a second history.

pub mod files;

use kith_vocab::clock::Clock;
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::tool::SpillFile;

use crate::blob::BlobPin;
use crate::line::LogHead;
use crate::read::Reading;
use crate::storage::{StorageError, StorageErrorKind, StorageFuture};

pub use files::FilesJournal;

/// Gets events one at a time, so that a session of any length can be read.
pub type EachEvent<'a> = &'a mut (dyn FnMut(Event) + Send);

/// Events that are written together, all or none, with the blobs that they name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub events: Vec<Event>,
    /// Whole outputs of which the events hold a part. Long texts inside events need no entry: the
    /// journal takes them out and puts them back by itself.
    pub blobs: Vec<NewBlob>,
}

impl From<Vec<Event>> for Batch {
    fn from(events: Vec<Event>) -> Batch {
        Batch { events, blobs: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewBlob {
    Bytes(Vec<u8>),
    File(SpillFile),
}

/// Keeps blobs from being removed while it lives.
#[derive(Debug)]
pub struct BlobHold {
    _pin: BlobPin,
}

impl BlobHold {
    pub(crate) fn new(pin: BlobPin) -> BlobHold {
        BlobHold { _pin: pin }
    }
}

/// A place in a log from which it can be opened without reading what stands before. Only the
/// journal that made it understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The last event before the place.
    pub head: LogHead,
    pub bytes: Vec<u8>,
}

/// A session that was opened for writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedSession {
    pub header: SessionHeader,
    /// `None` if the log holds no event yet.
    pub head: Option<LogHead>,
    /// The size of the log in bytes.
    pub bytes: u64,
}

/// The copy of a damaged session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedSession {
    pub session_id: SessionId,
    /// Number of events in the copy, reminders about missing ones included.
    pub n_events: u64,
    /// The first line of the damaged log that could not be read.
    pub lost_from_line: usize,
    pub code: crate::damage::DamageCode,
    pub head: Option<LogHead>,
    /// The keys of the messages that stand in the damaged log.
    pub keys: Vec<String>,
}

/// The parts that belonged to a session alone and were removed with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedSession {
    /// File names beneath `.kith`, or whatever names the backend's parts have.
    pub parts: Vec<String>,
    pub bytes: u64,
}

pub trait Journal: Send + Sync {
    /// Makes the session with its first batches. It exists whole or not at all, and it is open.
    fn create<'a>(
        &'a self,
        header: &'a SessionHeader,
        batches: Vec<Batch>,
    ) -> StorageFuture<'a, Option<LogHead>>;

    /// Opens the session for writing, also if it is open already, and gives its events to `each`, all of them or those behind
    /// the cursor. `head` is what the desk knows: if less is found, the session is damaged.
    ///
    /// `None` if the cursor does not fit: then what `each` got is to be forgotten, and the session
    /// opened without one. A torn tail is set aside, which a `log_repaired` says.
    fn open<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        cursor: Option<&'a Cursor>,
        clock: &'a dyn Clock,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Option<OpenedSession>>;

    /// Appends the batch to a session that is open. When this returns `Ok`, it is durable. An empty
    /// batch is not written, nor are its blobs.
    ///
    /// If the head is another than expected, the batch is refused (`Fenced`) and nothing changes.
    /// After any other error the session is closed: only opening it again shows what the log holds.
    fn append(
        &self,
        id: SessionId,
        expected_head: Option<LogHead>,
        batch: Batch,
    ) -> StorageFuture<'_, Option<LogHead>>;

    /// Where the session that is open can be opened from later.
    fn cursor(&self, id: SessionId) -> Option<Cursor>;

    /// The size in bytes of the log of a session that is open.
    fn open_bytes(&self, id: SessionId) -> Option<u64>;

    /// Closes a session that is open. It uses no memory until it is opened again.
    fn close(&self, id: SessionId);

    /// Reads the events after `after_seq` and writes nothing. Of a session that is open in this
    /// journal, nothing beyond what is durable; otherwise nothing beyond what the log held when the
    /// reading began.
    fn read<'a>(
        &'a self,
        id: SessionId,
        head: Option<LogHead>,
        after_seq: u64,
        each: EachEvent<'a>,
    ) -> StorageFuture<'a, Reading>;

    /// Finds one event of the session, wherever it stands.
    fn find(&self, id: SessionId, event_id: EventId) -> StorageFuture<'_, Option<Event>>;

    /// The number of the newest event that [`Journal::read`] would give, without reading the log.
    /// `None` if there is none, or if only reading the log can tell.
    fn newest_seq(&self, id: SessionId) -> StorageFuture<'_, Option<u64>>;

    /// The size of the log in bytes: of a session that is open, of what is durable.
    fn size(&self, id: SessionId) -> StorageFuture<'_, u64>;

    fn header(&self, id: SessionId) -> StorageFuture<'_, SessionHeader>;

    fn exists(&self, id: SessionId) -> StorageFuture<'_, bool>;

    /// All sessions, oldest first.
    fn list(&self) -> StorageFuture<'_, Vec<SessionId>>;

    /// Copies what can be read of a damaged session into a new one. `header` is the new session's.
    fn repair<'a>(
        &'a self,
        damaged: SessionId,
        head: Option<LogHead>,
        header: SessionHeader,
        clock: &'a dyn Clock,
    ) -> StorageFuture<'a, RepairedSession>;

    /// The parts that removing the session would remove.
    fn belongings(&self, id: SessionId) -> StorageFuture<'_, RemovedSession>;

    /// Removes the session with what belongs to it alone. One that is open is refused (`InUse`).
    fn remove(&self, id: SessionId) -> StorageFuture<'_, RemovedSession>;

    /// Puts blobs that a message names before it is in a log. When this returns `Ok`, they are durable.
    /// They may be removed with a session that names them too, unless they are held.
    fn put_blobs(&self, blobs: Vec<NewBlob>) -> StorageFuture<'_, ()>;

    /// Keeps these blobs from being removed until what is returned is dropped.
    fn hold_blobs(&self, hashes: Vec<String>) -> BlobHold;

    fn read_blob<'a>(&'a self, sha256: &'a str) -> StorageFuture<'a, Vec<u8>>;

    /// Whether there is a blob of this hash; its bytes are not read.
    fn has_blob(&self, sha256: &str) -> bool;
}

fn not_open(id: SessionId) -> StorageError {
    let message = format!("session `{id}` is not open; it must be reopened");
    StorageError::new(StorageErrorKind::MustReopen, message)
}

fn in_use(id: SessionId) -> StorageError {
    StorageError::new(StorageErrorKind::InUse, format!("session `{id}` is open"))
}

fn reads_only() -> StorageError {
    let message = "sessions are open read-only in this process";
    StorageError::new(StorageErrorKind::ReadOnly, message)
}

fn fenced(id: SessionId, expected: Option<LogHead>, found: Option<LogHead>) -> StorageError {
    let words = |head: Option<LogHead>| match head {
        Some(LogHead { seq, hash }) => format!("event {seq} ({hash})"),
        None => "no event".to_owned(),
    };
    let (expected, found) = (words(expected), words(found));
    let message = format!("session `{id}` ends with {found} where {expected} was expected");
    StorageError::new(StorageErrorKind::Fenced, message)
}
