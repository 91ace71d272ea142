//! What could be read off the logs, only faster.
//!
//! The index knows what a list of sessions shows, and where each can be read on from. It is derived:
//! delete it and it comes back the same. So nothing is promised by it, a file that is damaged or
//! not ours is thrown away and made anew, and whoever is told that it failed goes on without it.

mod passages;
mod tables;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::ids::{EventId, SessionId, ThreadId};
use rusqlite::{Connection, ErrorCode};

use crate::checkpoint::CheckpointPlace;
use crate::database::{Gone, StartError, Worker};
use crate::log::LogError;
use crate::store::{FileStamp, SessionStore};
use crate::words::Query;

pub use passages::{FOUND_MAX, PASSAGE_BYTES_MAX};
pub use tables::{CHECKPOINT_BYTES_MAX, INDEX_VERSION};

/// A handle on the index. When the last one is gone, the file is closed.
#[derive(Clone, Debug)]
pub struct Index(Arc<OpenIndex>);

/// What a list shows of a session. Of one that cannot be read most is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRow {
    pub session_id: SessionId,
    pub thread_id: Option<ThreadId>,
    pub agent_id: Option<String>,
    pub title: Option<String>,
    pub created_at: Option<u64>,
    pub updated_at: Option<u64>,
    pub events: u64,
    pub leaf: Option<EventId>,
    /// A word of the caller's.
    pub state: String,
    /// Of the file when it was read: [`SessionStore::stat`], asked *before* reading.
    pub stamp: FileStamp,
}

/// What the index knows of the sessions there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Of the sessions whose file is as it was, oldest first.
    pub rows: Vec<IndexRow>,
    /// The others, which must be read, oldest first.
    pub unread: Vec<SessionId>,
}

/// A place in a session file, and what everything before it amounts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub place: CheckpointPlace,
    /// Of the code that made `state`.
    pub fold_version: u32,
    pub state: Vec<u8>,
}

/// Something that was said, to be found by its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    pub event_id: EventId,
    pub text: String,
}

/// How much of a session can be found by words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The last event whose words are known.
    pub seq: u64,
    /// The length of the file when it was read. A log only grows, so a file of this length holds
    /// nothing more.
    pub file_bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("cannot open the index `{}`", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("the index `{}` could not do what was asked", path.display())]
    Failed { path: PathBuf, source: rusqlite::Error },
    #[error("the index `{}` is no longer open", path.display())]
    Gone { path: PathBuf },
    #[error(transparent)]
    Sessions(#[from] LogError),
}

impl Index {
    /// Opens the index for writing, and makes it if there is none that can be used.
    pub async fn open(path: &Path) -> Result<Index, IndexError> {
        let thread_path = path.to_owned();
        let open = move || tables::open(&thread_path).map(|connection| Some((connection, ())));
        let path = path.to_owned();
        match Worker::start("kith-index", open).await {
            Ok(Some((worker, ()))) => Ok(Index(Arc::new(OpenIndex { path, worker }))),
            Err(StartError::Refused(error)) => Err(error),
            Err(StartError::NoThread(source)) => Err(IndexError::Open { path, source }),
            Ok(None) | Err(StartError::Gone) => Err(IndexError::Gone { path }),
        }
    }

    /// Opens the index for reading; `None` if there is none that can be used. Makes no file.
    pub async fn open_read_only(path: &Path) -> Option<Index> {
        let thread_path = path.to_owned();
        let open = move || Ok::<_, ()>(tables::open_read_only(&thread_path).map(|it| (it, ())));
        // Without an index everything is read from the logs.
        let (worker, ()) = Worker::start("kith-index", open).await.ok().flatten()?;
        Some(Index(Arc::new(OpenIndex { path: path.to_owned(), worker })))
    }

    pub async fn put_row(&self, row: IndexRow) -> Result<(), IndexError> {
        self.put_rows(vec![row]).await
    }

    /// Puts all rows, or none.
    pub async fn put_rows(&self, rows: Vec<IndexRow>) -> Result<(), IndexError> {
        self.run(move |index| tables::put_rows(index, &rows)).await
    }

    /// Compares what is known with the files there are.
    pub async fn listing(&self, store: &SessionStore) -> Result<Listing, IndexError> {
        let store = store.clone();
        let known = self.run(tables::rows);
        let files = tokio::task::spawn_blocking(move || stamps(&store));
        let known = known.await?;
        let files = files.await.map_err(|_| self.gone())??;
        Ok(listing(known, files))
    }

    /// Notes a checkpoint in place of the session's last. One that is too large is not kept.
    pub async fn put_checkpoint(
        &self,
        session: SessionId,
        checkpoint: Checkpoint,
    ) -> Result<(), IndexError> {
        self.run(move |index| tables::put_checkpoint(index, session, &checkpoint)).await
    }

    /// The session's checkpoint, if code of this version made it for a log of our format.
    pub async fn checkpoint(
        &self,
        session: SessionId,
        fold_version: u32,
    ) -> Result<Option<Checkpoint>, IndexError> {
        self.run(move |index| tables::checkpoint(index, session, fold_version)).await
    }

    /// Adds what was said in a session after what is known of it. Does nothing if more is known by
    /// now than `after` says, or less: whoever asks has read another state of things.
    pub async fn put_passages(
        &self,
        session: SessionId,
        (after, now): (Searched, Searched),
        passages: Vec<Passage>,
    ) -> Result<(), IndexError> {
        self.run(move |index| passages::put(index, session, (after, now), &passages)).await
    }

    /// How much of each session can be found by words.
    pub async fn searched(&self) -> Result<HashMap<SessionId, Searched>, IndexError> {
        self.run(passages::searched).await
    }

    /// The events whose words fit, newest first and at most [`FOUND_MAX`]. Whether a text really
    /// fits is told by [`Query::excerpt`]: the index knows words and not where they stand.
    pub async fn find(&self, query: &Query) -> Result<Vec<(SessionId, EventId)>, IndexError> {
        let words = query.for_fts5();
        self.run(move |index| passages::find(index, &words)).await
    }

    /// Forgets all that is known of a session.
    pub async fn forget(&self, session: SessionId) -> Result<(), IndexError> {
        self.run(move |index| tables::forget(index, session)).await
    }

    async fn run<T: Send + 'static>(
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
        let answer = answer.await.map_err(|Gone| self.gone())?;
        answer.map_err(|source| IndexError::Failed { path, source })
    }

    fn gone(&self) -> IndexError {
        IndexError::Gone { path: self.0.path.clone() }
    }
}

#[derive(Debug)]
struct OpenIndex {
    path: PathBuf,
    worker: Worker,
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Many files are looked at by two hands at once: that is most of what a long list waits for.
fn stamps(store: &SessionStore) -> Result<Vec<(SessionId, FileStamp)>, LogError> {
    let ids = store.list()?;
    let (first, second) = ids.split_at(ids.len() / 2);
    let (first, second) = std::thread::scope(|scope| {
        let beside = (!first.is_empty()).then(|| scope.spawn(|| stamps_of(store, first)));
        let second = stamps_of(store, second);
        let first = beside.map_or_else(
            || Ok(Vec::new()),
            |hand| hand.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
        (first, second)
    });
    let mut stamps = first?;
    stamps.extend(second?);
    Ok(stamps)
}

fn stamps_of(
    store: &SessionStore,
    ids: &[SessionId],
) -> Result<Vec<(SessionId, FileStamp)>, LogError> {
    let mut stamps = Vec::new();
    for &id in ids {
        match store.stat(id) {
            Ok(stamp) => stamps.push((id, stamp)),
            // Removed since it was listed.
            Err(LogError::NotFound { .. }) => (),
            Err(error) => return Err(error),
        }
    }
    Ok(stamps)
}

/// Both lists are in the order of the ids.
fn listing(known: Vec<IndexRow>, files: Vec<(SessionId, FileStamp)>) -> Listing {
    let mut listing = Listing::default();
    let mut known = known.into_iter().peekable();
    for (id, stamp) in files {
        while known.next_if(|row| row.session_id < id).is_some() {}
        match known.next_if(|row| row.session_id == id) {
            Some(row) if row.stamp == stamp => listing.rows.push(row),
            _ => listing.unread.push(id),
        }
    }
    listing
}

#[cfg(test)]
mod tests;
