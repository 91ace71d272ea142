//! Promises to the outside: the inbox, the current session of each thread, session heads, wake-ups,
//! which repositories the owner trusts, and standing approvals.
//!
//! A message is acknowledged when its row is committed here, and the key of the row makes every
//! later delivery of it the same message. There is one trait per noun and each method is one
//! transaction, so that another backend needs to implement no more than these.

mod checks;
pub mod memory;
pub mod sqlite;

use kith_vocab::event::calls::Grant;
use kith_vocab::header::{Audience, SessionHeader};
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;
use serde::{Deserialize, Serialize};

use crate::line::LogHead;
use crate::storage::StorageFuture;

pub use checks::{
    COMMAND_TIMES_MAX, ENVELOPE_BYTES_MAX, GRANTS_MAX, MESSAGE_MODELS_MAX, REPOSITORIES_MAX,
    TAINTED_CONTENTS_MAX,
};
pub use memory::MemoryDesk;
pub use sqlite::{DESK_VERSION, DeskError, SqliteDesk};

/// Maximum number of messages that wait for one session; further ones are refused.
pub const OPEN_ROWS_MAX: usize = 64;
/// Their texts together.
pub const OPEN_ROW_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Which session a message goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTarget {
    /// The thread's current one, or a fresh one if it has none.
    Current,
    /// A fresh one.
    New,
    Session(SessionId),
}

/// The result of accepting a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptOutcome {
    /// Whether this key was seen for the first time.
    pub first: bool,
    pub session_id: SessionId,
    pub status: RowStatus,
    /// The event as it was accepted, which a later delivery does not change. A closed row no longer
    /// has it: then it is the event of this delivery.
    pub event: IngressEvent,
    /// The desk's generation, which the first new row of a handle has raised.
    pub generation: u64,
    /// Up to where the desk knew the session's log when it took the message in: the message stands
    /// behind it. `None` for a later delivery.
    pub head: Option<LogHead>,
}

/// A message that was accepted and is not closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxRow {
    pub key: String,
    pub session_id: SessionId,
    pub event: IngressEvent,
    pub accepted_at: u64,
}

/// The status of a key on the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    Open { session_id: SessionId },
    Closed { session_id: SessionId, outcome: RowOutcome },
}

impl RowStatus {
    pub fn session_id(self) -> SessionId {
        match self {
            RowStatus::Open { session_id } | RowStatus::Closed { session_id, .. } => session_id,
        }
    }

    pub fn is_open(self) -> bool {
        matches!(self, RowStatus::Open { .. })
    }
}

/// Why a row was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    /// Its turn ended, or it was an approval reply that was read.
    Done,
    Cancelled,
    Failed,
    /// Its turn reached a limit.
    Bound,
    /// It was declined, and its author was told.
    Declined,
    /// It was removed from the queue before its turn.
    Removed,
}

/// A conversation on a platform and the session it is in now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    pub agent_id: String,
    pub thread_id: ThreadId,
    pub session_id: SessionId,
    pub audience: Audience,
    pub updated_at: u64,
}

impl ThreadRow {
    /// The thread of a session that it is in.
    pub fn of(header: &SessionHeader, updated_at: u64) -> ThreadRow {
        let SessionHeader { agent_id, thread_id, session_id, audience, .. } = header.clone();
        ThreadRow { agent_id, thread_id, session_id, audience, updated_at }
    }
}

/// The content of a file that was written while untrusted text was on the path. Wherever it is read,
/// it is untrusted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaintedContent {
    /// In hex.
    pub sha256: String,
    pub bytes: u64,
    pub noted_at: u64,
}

/// When a command could change a folder that may have written what strangers said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandTime {
    /// The folder, absolute.
    pub root: String,
    pub began: u64,
    /// `None` while it runs, or if its host died.
    pub ended: Option<u64>,
}

/// A time at which a session or a thread is to be looked at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// One wake-up has this key: setting it again moves it.
    pub key: String,
    pub session_id: Option<SessionId>,
    /// The agent and its thread, for what concerns no session in particular.
    pub agent_thread: Option<(String, ThreadId)>,
    pub at: u64,
    pub reason: WakeupReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeupReason {
    ModelRetry,
    SessionRetry,
    ApprovalExpiry,
}

/// A repository that the owner trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The canonical path of its root.
    pub path: String,
    /// Tells it from another folder that has its name later.
    pub mark: String,
    pub trusted_at: u64,
}

/// A standing approval of an agent in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRow {
    pub agent_id: String,
    /// The working folder of the session that asked.
    pub workspace: String,
    /// The user id of the person who gave it.
    pub granted_by: String,
    pub granted_at: u64,
    pub grant: Grant,
}

pub trait Inbox: Send + Sync {
    /// Takes the message in, once. When this returns `Ok`, it is durable.
    ///
    /// Refused with `Conflict` if the key stands for another message, and with `LimitReached` if
    /// too much waits for the session already.
    fn accept<'a>(
        &'a self,
        event: &'a IngressEvent,
        target: RowTarget,
        fresh: SessionId,
        now: u64,
    ) -> StorageFuture<'a, AcceptOutcome>;

    /// The messages that wait for a session, in the order of their acceptance. One that no longer is
    /// what was accepted is closed as failed instead.
    fn open_rows(&self, session: SessionId) -> StorageFuture<'_, Vec<InboxRow>>;

    fn row<'a>(&'a self, key: &'a str) -> StorageFuture<'a, Option<RowStatus>>;

    /// The sessions for which messages wait, the longest waiting first.
    fn sessions_with_open_rows(&self) -> StorageFuture<'_, Vec<SessionId>>;

    /// Closes rows of a session whose log is durable up to `head`; with no rows it notes the head.
    ///
    /// This does not wait for the disk: the log says it already, and a row that is found open after
    /// a crash is closed again. A head never goes back. A key that is not known is entered as a
    /// closed row, so that a desk which was lost learns from the logs what it had accepted.
    fn close(
        &self,
        rows: Vec<(String, RowOutcome)>,
        session: SessionId,
        head: LogHead,
        now: u64,
    ) -> StorageFuture<'_, ()>;

    /// Forgets the keys of rows that were closed before this time.
    fn prune(&self, closed_before: u64) -> StorageFuture<'_, ()>;
}

pub trait ThreadRecords: Send + Sync {
    fn current_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<SessionId>>;

    /// The audience of the thread at its last message.
    fn thread_audience<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<Audience>>;

    /// Makes a session that exists already its thread's current one. Messages that wait for
    /// another session of the thread go on waiting for that one.
    fn place_session(&self, thread: ThreadRow, head: Option<LogHead>) -> StorageFuture<'_, ()>;

    /// Lets a thread go on in another session: `old` can only be read. Messages that wait for it
    /// wait for `new`, but for those it holds already: these are closed as failed, because saying
    /// them again could do twice what was done once.
    fn replace_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
        sessions: (SessionId, SessionId),
        held: Vec<String>,
        now: u64,
    ) -> StorageFuture<'a, ()>;

    /// All threads, the last spoken in first.
    fn threads(&self) -> StorageFuture<'_, Vec<ThreadRow>>;

    fn head(&self, session: SessionId) -> StorageFuture<'_, Option<LogHead>>;

    /// All heads, in the order of the session ids.
    fn heads(&self) -> StorageFuture<'_, Vec<(SessionId, LogHead)>>;

    /// Forgets a session: no thread is in it any more, nothing wakes it, and of what was said to it
    /// only the keys stay, so that a late delivery is not taken for a new message. `false`, and
    /// nothing is changed, if a message still waits for it.
    ///
    /// `Busy` means that it is forgotten but another program keeps its words from being wiped;
    /// asking again wipes them.
    fn forget_session(&self, session: SessionId) -> StorageFuture<'_, bool>;
}

pub trait WakeupRecords: Send + Sync {
    /// Sets the wake-up, in place of one with its key. This does not wait for the disk: wake-ups
    /// follow from the log and are set again when their session is opened. Only
    /// [`WakeupReason::SessionRetry`] is durable: nothing else causes that session to be opened.
    fn set_wakeup(&self, wakeup: Wakeup) -> StorageFuture<'_, ()>;

    /// Removes the wake-up, if there is one. This does not wait for the disk either.
    fn remove_wakeup<'a>(&'a self, key: &'a str) -> StorageFuture<'a, ()>;

    /// The earliest of all.
    fn next_wakeup(&self) -> StorageFuture<'_, Option<Wakeup>>;

    /// All of them, the earliest first.
    fn wakeups(&self) -> StorageFuture<'_, Vec<Wakeup>>;
}

pub trait TrustRecords: Send + Sync {
    /// Notes that the owner trusts a repository; said again, it is that folder from now on.
    fn trust(&self, repository: Repository) -> StorageFuture<'_, ()>;

    /// Revokes the trust; returns whether the repository was trusted.
    fn distrust<'a>(&'a self, path: &'a str) -> StorageFuture<'a, bool>;

    /// The repositories that the owner trusts, by path.
    fn repositories(&self) -> StorageFuture<'_, Vec<Repository>>;
}

pub trait GrantRecords: Send + Sync {
    /// Stores a grant, in place of one with its id. When this returns `Ok`, it is durable.
    ///
    /// Refused with `LimitReached` if there are too many.
    fn add_grant(&self, row: GrantRow) -> StorageFuture<'_, ()>;

    /// Revokes a grant; returns whether there was one.
    fn remove_grant<'a>(&'a self, grant_id: &'a str) -> StorageFuture<'a, bool>;

    /// The grants that have not expired, in the order in which they were given.
    fn grants(&self, now: u64) -> StorageFuture<'_, Vec<GrantRow>>;
}

pub trait TaintRecords: Send + Sync {
    /// Notes a content that is about to be written while untrusted text is on the path. It is durable
    /// before the file is: what a crash leaves is a content that was never written.
    fn note_tainted(&self, content: TaintedContent) -> StorageFuture<'_, ()>;

    /// All that were noted, by hash.
    fn tainted_contents(&self) -> StorageFuture<'_, Vec<TaintedContent>>;

    /// Notes when a command began in a folder, or when it ended. When this returns `Ok`, it is durable.
    ///
    /// Refused with `LimitReached` if there are too many.
    fn note_command(&self, time: CommandTime) -> StorageFuture<'_, ()>;

    /// All that were noted, by folder and beginning.
    fn command_times(&self) -> StorageFuture<'_, Vec<CommandTime>>;
}

pub trait Desk:
    Inbox + ThreadRecords + WakeupRecords + TrustRecords + GrantRecords + TaintRecords
{
    fn device_id(&self) -> &str;

    /// Raised with the first new row of each host. A desk whose generation is behind the one in
    /// `host.lock` is an old copy.
    fn generation(&self) -> StorageFuture<'_, u64>;

    /// Raises the generation to at least this one, durably. A desk that was rebuilt from the logs is
    /// newer than any before it.
    fn raise_generation(&self, generation: u64) -> StorageFuture<'_, ()>;
}
