//! What is promised to the outside: the inbox, the current session of each thread, session heads,
//! and which repositories the owner trusts.
//!
//! A message is acknowledged when its row is committed here, and the key of the row makes every
//! later delivery of it the same message.

mod error;
mod inbox;
mod schema;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;
use rusqlite::Connection;

use crate::database::{Durability, Gone, StartError, Worker, make_file};
use crate::line::Head;

pub use error::DeskError;
pub use schema::DESK_VERSION;
pub use trust::{REPOSITORIES_MAX, Repository};

/// A handle on the desk. When the last one is gone, the file is closed.
#[derive(Clone, Debug)]
pub struct Desk(Arc<OpenDesk>);

/// Which session a message goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The thread's current one, or a fresh one if it has none.
    Current,
    /// A fresh one.
    New,
    Session(SessionId),
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Whether this key was seen for the first time.
    pub first: bool,
    pub session_id: SessionId,
    /// Whether the turn it caused has ended.
    pub closed: bool,
    /// Whether no message of the session that came before it still waits.
    pub is_next: bool,
    /// The event as it was accepted, which a later delivery does not change.
    pub event: IngressEvent,
}

/// A message that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxRow {
    pub key: String,
    pub session_id: SessionId,
    pub event: IngressEvent,
    pub accepted_at: u64,
    pub closed_at: Option<u64>,
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

impl Desk {
    /// Opens the desk for writing, and makes it if there is none. A new one gets the device id.
    pub async fn open(path: &Path, new_device_id: String) -> Result<Desk, DeskError> {
        let connect = move |path: &Path| schema::open(path, &new_device_id).map(Some);
        match Desk::start(path, connect).await? {
            Some(desk) => Ok(desk),
            None => Err(DeskError::Gone { path: path.to_owned() }),
        }
    }

    /// Opens the desk for reading; `None` if there is none. Makes no file, not for a moment.
    ///
    /// Without a host the file is taken as it stands: the handle is for one short command.
    pub async fn open_read_only(path: &Path) -> Result<Option<Desk>, DeskError> {
        Desk::start(path, schema::open_read_only).await
    }

    /// Takes the message in, once. When this returns `Ok`, it is on the disk.
    pub async fn accept(
        &self,
        event: &IngressEvent,
        target: Target,
        fresh: SessionId,
        now: u64,
    ) -> Result<Accepted, DeskError> {
        inbox::check_size(event)?;
        let event = event.clone();
        self.change(Durability::Synced, move |desk| inbox::accept(desk, event, target, fresh, now))
            .await
    }

    /// The messages of a session whose turn has not ended, in the order of their acceptance.
    pub async fn unclosed(&self, session: SessionId) -> Result<Vec<InboxRow>, DeskError> {
        self.run(move |desk| inbox::unclosed(desk, session)).await
    }

    /// The sessions that have such messages, the longest waiting first.
    pub async fn unclosed_sessions(&self) -> Result<Vec<SessionId>, DeskError> {
        self.run(|desk| inbox::unclosed_sessions(desk)).await
    }

    /// Notes that a turn ended: its messages are closed and the log is durable up to `head`.
    ///
    /// This does not wait for the disk: the log says it already, and a row that is found open after
    /// a crash is closed again. A head never goes back. Keys that are not in the inbox are passed
    /// over: a desk that was lost and made anew must not keep an old session from ending its turn.
    pub async fn close(
        &self,
        keys: Vec<String>,
        session: SessionId,
        head: Head,
        now: u64,
    ) -> Result<(), DeskError> {
        let work = move |desk: &Connection| inbox::close(desk, &keys, session, head, now);
        let asked = self.0.worker.begin_change(Durability::Eventual, work).await;
        asked.map(drop).map_err(|Gone| DeskError::Gone { path: self.0.path.clone() })
    }

    /// A thread goes on in another session: `old` can only be read. Messages that wait for it
    /// wait for `new`, but for those it already holds: saying them again could do twice what was
    /// done once.
    pub async fn replace_session(
        &self,
        agent_id: &str,
        thread_id: &ThreadId,
        (old, new): (SessionId, SessionId),
        held: Vec<String>,
        now: u64,
    ) -> Result<(), DeskError> {
        let (agent_id, thread_id) = (agent_id.to_owned(), thread_id.clone());
        self.change(Durability::Synced, move |desk| {
            inbox::replace_session(desk, &agent_id, &thread_id, (old, new), &held, now)
        })
        .await
    }

    /// Makes a session that exists already its thread's current one. Messages that wait for
    /// another session of the thread go on waiting for that one.
    pub async fn place_session(
        &self,
        thread: ThreadRow,
        head: Option<Head>,
    ) -> Result<(), DeskError> {
        self.change(Durability::Synced, move |desk| inbox::place_session(desk, &thread, head)).await
    }

    /// Forgets a session: no thread is in it any more, and of what was said to it only the keys
    /// stay, so that a late delivery is not taken for a new message. `false`, and nothing is
    /// changed, if a message still waits for it.
    pub async fn forget_session(&self, session: SessionId) -> Result<bool, DeskError> {
        self.run(move |desk| inbox::forget_session(desk, session)).await
    }

    /// Writes a copy of the desk as it is now to a file that must not exist.
    pub async fn copy_to(&self, path: &Path) -> Result<(), DeskError> {
        make_file(path).map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
        let to = path.to_string_lossy().into_owned();
        self.run(move |desk| desk.execute("VACUUM INTO ?1", [to]).map(drop)).await
    }

    pub async fn head(&self, session: SessionId) -> Result<Option<Head>, DeskError> {
        self.run(move |desk| inbox::head(desk, session)).await
    }

    pub async fn heads(&self) -> Result<Vec<(SessionId, Head)>, DeskError> {
        self.run(|desk| inbox::heads(desk)).await
    }

    pub async fn current_session(
        &self,
        agent_id: &str,
        thread_id: &ThreadId,
    ) -> Result<Option<SessionId>, DeskError> {
        let (agent_id, thread_id) = (agent_id.to_owned(), thread_id.clone());
        self.run(move |desk| inbox::current_session(desk, &agent_id, &thread_id)).await
    }

    /// Who could read the thread when it was last spoken in.
    pub async fn thread_audience(
        &self,
        agent_id: &str,
        thread_id: &ThreadId,
    ) -> Result<Option<Audience>, DeskError> {
        let (agent_id, thread_id) = (agent_id.to_owned(), thread_id.clone());
        self.run(move |desk| inbox::thread_audience(desk, &agent_id, &thread_id)).await
    }

    /// Notes that the owner trusts a repository; said again, it is that folder from now on.
    pub async fn trust(&self, repository: Repository) -> Result<(), DeskError> {
        trust::check_size(&repository)?;
        let work = move |desk: &Connection| trust::trust(desk, &repository);
        let had_room = self.change(Durability::Synced, work).await?;
        if had_room { Ok(()) } else { Err(DeskError::TooManyRepositories) }
    }

    /// Takes it back, and tells whether there was something to take back.
    pub async fn distrust(&self, path: &str) -> Result<bool, DeskError> {
        let path = path.to_owned();
        self.change(Durability::Synced, move |desk| trust::distrust(desk, &path)).await
    }

    /// The repositories that the owner trusts, by path.
    pub async fn repositories(&self) -> Result<Vec<Repository>, DeskError> {
        self.run(|desk| trust::repositories(desk)).await
    }

    /// All threads, the last spoken in first.
    pub async fn threads(&self) -> Result<Vec<ThreadRow>, DeskError> {
        self.run(|desk| inbox::threads(desk)).await
    }

    pub fn device_id(&self) -> &str {
        &self.0.device_id
    }

    async fn start(
        path: &Path,
        connect: impl FnOnce(&Path) -> Result<Option<Connection>, DeskError> + Send + 'static,
    ) -> Result<Option<Desk>, DeskError> {
        let thread_path = path.to_owned();
        let open = move || {
            let Some(connection) = connect(&thread_path)? else { return Ok(None) };
            let device_id = schema::device_id(&connection)
                .map_err(|source| DeskError::of(&thread_path, source))?;
            Ok(Some((connection, device_id)))
        };
        let path = path.to_owned();
        match Worker::start("kith-desk", open).await {
            Ok(opened) => Ok(opened
                .map(|(worker, device_id)| Desk(Arc::new(OpenDesk { path, device_id, worker })))),
            Err(StartError::Refused(error)) => Err(error),
            Err(StartError::NoThread(source)) => Err(DeskError::Open { path, source }),
            Err(StartError::Gone) => Err(DeskError::Gone { path }),
        }
    }

    /// Has the desk's thread change something, in one commit with what else waits.
    async fn change<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, DeskError> {
        let path = &self.0.path;
        let answer = self.0.worker.change(durability, work).await;
        let answer = answer.map_err(|Gone| DeskError::Gone { path: path.clone() })?;
        answer.map_err(|source| DeskError::of(path, source))
    }

    /// Has the desk's thread do the work. It is done even if the caller stops waiting.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, DeskError> {
        let path = &self.0.path;
        let answer = self.0.worker.run(work).await;
        let answer = answer.map_err(|Gone| DeskError::Gone { path: path.clone() })?;
        answer.map_err(|source| DeskError::of(path, source))
    }
}

#[derive(Debug)]
struct OpenDesk {
    path: PathBuf,
    device_id: String,
    worker: Worker,
}

#[cfg(test)]
mod tests;
