//! An index of the logs, so that lists, searches and openings need not read them.
//!
//! A catalog is derived: delete it and it comes back the same. So nothing is promised by it, and it
//! may answer "unknown" to anything: a session is then `unread`, has no checkpoint, and is searched
//! by reading its log.

pub mod sqlite;

use std::collections::BTreeMap;

use kith_vocab::ids::{EventId, SessionId, ThreadId};

use crate::journal::Cursor;
use crate::storage::StorageFuture;
use crate::words::Query;

pub use sqlite::{INDEX_VERSION, SqliteCatalog};

/// A larger state is not kept: reading the session again costs less than its copies.
pub const CHECKPOINT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Only this much of a longer text is indexed.
pub const PASSAGE_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of events examined for one query.
pub const FOUND_MAX: u32 = 2_000;

/// Length and time of a log, to detect that it has changed since it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStamp {
    pub bytes: u64,
    /// Nanoseconds since 1970; 0 for logs that are not on a real disk.
    pub modified_ns: u64,
}

/// The row of a session in a list. Most fields are absent if it cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogRow {
    pub session_id: SessionId,
    pub thread_id: Option<ThreadId>,
    pub agent_id: Option<String>,
    pub title: Option<String>,
    pub created_at: Option<u64>,
    pub updated_at: Option<u64>,
    pub events: u64,
    pub leaf: Option<EventId>,
    /// The folder it began in.
    pub cwd: Option<String>,
    /// A word of the caller's.
    pub state: String,
    /// Of the log when it was read: [`Catalog::stamp`], asked *before* reading.
    pub stamp: LogStamp,
}

/// The sessions that the catalog knows, and those it must read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogListing {
    /// Of the sessions whose log is as it was, oldest first.
    pub rows: Vec<CatalogRow>,
    /// The others, which must be read, oldest first.
    pub unread: Vec<SessionId>,
}

/// A place in a log, and the state up to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub cursor: Cursor,
    /// Of the code that made `state`.
    pub fold_version: u32,
    pub state: Vec<u8>,
}

/// A searchable text of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    pub event_id: EventId,
    pub text: String,
}

/// How much of a session can be found by words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchCoverage {
    /// The last event whose words are known.
    pub seq: u64,
    /// The length of the log when it was read. A log only grows, so one of this length holds nothing
    /// more.
    pub log_bytes: u64,
}

/// What was said in a session after what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchUpdate {
    pub session_id: SessionId,
    /// What the catalog knew when the log was read.
    pub after: SearchCoverage,
    pub now: SearchCoverage,
    pub passages: Vec<Passage>,
}

pub trait Catalog: Send + Sync {
    /// The stamp of a session's log as it is now.
    fn stamp(&self, session: SessionId) -> StorageFuture<'_, LogStamp>;

    /// Puts all rows, or none.
    fn put_rows(&self, rows: Vec<CatalogRow>) -> StorageFuture<'_, ()>;

    /// Compares what is known with the logs there are.
    fn listing(&self) -> StorageFuture<'_, CatalogListing>;

    /// Notes a checkpoint in place of the session's last. One that is too large is not kept.
    fn put_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> StorageFuture<'_, ()>;

    /// The session's checkpoint, if code of this version made it for a log of our format.
    fn checkpoint(
        &self,
        session: SessionId,
        fold_version: u32,
    ) -> StorageFuture<'_, Option<Checkpoint>>;

    /// Adds what was said in these sessions. Leaves out a session of which more is known by now
    /// than `after` says, or less: the caller has read another state of the log.
    fn put_passages(&self, updates: Vec<SearchUpdate>) -> StorageFuture<'_, ()>;

    /// How much of each session can be found by words.
    fn search_coverage(&self) -> StorageFuture<'_, BTreeMap<SessionId, SearchCoverage>>;

    /// The events whose words fit, newest first and at most [`FOUND_MAX`]. Whether a text really
    /// fits is told by [`Query::excerpt`]: a catalog may know words and not where they stand.
    fn find<'a>(&'a self, query: &'a Query) -> StorageFuture<'a, Vec<(SessionId, EventId)>>;

    /// Forgets all that is known of a session.
    fn forget(&self, session: SessionId) -> StorageFuture<'_, ()>;
}

/// Compares rows with the logs there are. Both lists are in the order of the ids.
fn compare(
    known: impl IntoIterator<Item = CatalogRow>,
    logs: impl IntoIterator<Item = (SessionId, LogStamp)>,
) -> CatalogListing {
    let mut listing = CatalogListing::default();
    let mut known = known.into_iter().peekable();
    for (id, stamp) in logs {
        while known.next_if(|row| row.session_id < id).is_some() {}
        match known.next_if(|row| row.session_id == id) {
            Some(row) if row.stamp == stamp => listing.rows.push(row),
            _ => listing.unread.push(id),
        }
    }
    listing
}
