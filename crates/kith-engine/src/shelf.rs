//! Where sessions are put away: what a long log amounts to, so that it need not be read again.
//!
//! All of it is derived. Whatever goes wrong here is not worth a word: the log is read from its
//! beginning, and only takes longer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kith_sessions::checkpoint::CheckpointPlace;
use kith_sessions::index::{Checkpoint, Index, IndexRow, Passage, Searched};
use kith_sessions::line::Head;
use kith_sessions::read::Tail;
use kith_sessions::store::{FileStamp, SessionStore};
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::SessionId;
use tokio::sync::OnceCell;

use crate::passage::passage;
use crate::reading::state_of;
use crate::state::calls::Stage;
use crate::state::{FOLD_VERSION, State};

/// A shorter log is read from its beginning faster than a checkpoint is found.
pub const CHECKPOINT_BYTES_MIN: u64 = 256 * 1024;
/// So many sessions are read at once to complete the index.
pub const CATCH_UP_SESSIONS_MAX: usize = 20_000;
/// So many sessions are remembered before their rows are written to the index together.
pub const ROWS_WAITING_MAX: usize = 64;

/// A long session is read again for its words when it has grown by this part of itself.
const SEARCHED_PART: u64 = 8;

pub struct Shelf {
    path: PathBuf,
    /// Opened when it is first needed: a short command on a short session never does.
    index: OnceCell<Option<Index>>,
    rows: Mutex<HashMap<SessionId, IndexRow>>,
}

impl Shelf {
    /// `path` is that of the index, which is made when there is something to keep.
    pub fn new(path: &Path) -> Shelf {
        Shelf { path: path.to_owned(), index: OnceCell::new(), rows: Mutex::default() }
    }

    /// What a session's log amounts to up to some place in it.
    pub(crate) async fn take(&self, id: SessionId) -> Option<(CheckpointPlace, State)> {
        let index = self.index().await?;
        let checkpoint = index.checkpoint(id, FOLD_VERSION).await.ok()??;
        let state = serde_json::from_slice(&checkpoint.state).ok()?;
        Some((checkpoint.place, state))
    }

    pub(crate) async fn put(&self, id: SessionId, place: CheckpointPlace, state: &State) {
        let Ok(state) = serde_json::to_vec(state) else { return };
        let checkpoint = Checkpoint { place, fold_version: FOLD_VERSION, state };
        if let Some(index) = self.index().await {
            // One that could not be put is made again after the next turns.
            index.put_checkpoint(id, checkpoint).await.ok();
        }
    }

    /// Remembers what a list shows of the session.
    pub(crate) async fn list(&self, row: IndexRow) {
        let n_rows = {
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            rows.insert(row.session_id, row);
            rows.len()
        };
        if n_rows >= ROWS_WAITING_MAX {
            self.flush().await;
        }
    }

    /// Writes what was remembered. Whoever ends calls this; without it lists take longer.
    pub async fn flush(&self) {
        let rows: Vec<IndexRow> = {
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            rows.drain().map(|(_, row)| row).collect()
        };
        if rows.is_empty() {
            return;
        }
        if let Some(index) = self.index().await {
            index.put_rows(rows).await.ok();
        }
    }

    /// Reads the sessions that the index does not know as they are now, so that the next list need
    /// not. What is damaged is left to whoever lists it, to be named.
    pub(crate) async fn catch_up(&self, store: &SessionStore, heads: &HashMap<SessionId, Head>) {
        let Some(index) = self.index().await else { return };
        let Ok(listing) = index.listing(store).await else { return };
        let Ok(searched) = index.searched().await else { return };
        let mut rows = Vec::new();
        let mut n_read = 0;
        let known = listing.rows.iter().map(|row| (row.session_id, row.stamp.bytes));
        let due = known.filter(|(id, bytes)| is_due(searched.get(id), *bytes)).map(|(id, _)| id);
        let due: Vec<SessionId> = due.collect();
        for id in listing.unread.into_iter().chain(due).take(CATCH_UP_SESSIONS_MAX) {
            let after = searched.get(&id).copied().unwrap_or_default();
            let Some(read) = read_session(store, id, heads.get(&id), after) else { continue };
            n_read += 1;
            rows.push(read.row);
            index.put_passages(id, (after, read.searched), read.passages).await.ok();
        }
        if n_read > 0 {
            index.put_rows(rows).await.ok();
        }
    }

    /// Forgets all that is known of a session.
    pub(crate) async fn forget(&self, id: SessionId) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(index) = self.index().await {
            // What is left of it is passed over: there is no file to it any more.
            index.forget(id).await.ok();
        }
    }

    async fn index(&self) -> Option<&Index> {
        let open = || async { Index::open(&self.path).await.ok() };
        self.index.get_or_init(open).await.as_ref()
    }
}

/// Whether a session should be read again for its words. To read all of a long one after each of
/// its turns would cost more than it saves: until it has grown by a part, a search reads its end.
fn is_due(searched: Option<&Searched>, bytes: u64) -> bool {
    let Some(Searched { file_bytes, .. }) = searched else { return true };
    let grown = bytes.saturating_sub(*file_bytes);
    grown > 0 && (bytes < CHECKPOINT_BYTES_MIN || grown >= bytes / SEARCHED_PART)
}

struct Known {
    row: IndexRow,
    searched: Searched,
    passages: Vec<Passage>,
}

fn read_session(
    store: &SessionStore,
    id: SessionId,
    head: Option<&Head>,
    after: Searched,
) -> Option<Known> {
    let stamp = store.stat(id).ok()?;
    let mut passages = Vec::new();
    let mut seq = 0;
    let read = state_of(|each| {
        passages.clear();
        store.read(id, head, &mut |event: Event| {
            each(&event);
            seq = event.seq;
            if event.seq > after.seq {
                passages.extend(passage(&event));
            }
        })
    });
    let (reading, state) = read.ok()?;
    let row = row_of(&reading.header, &state, stamp);
    let searched = Searched { seq, file_bytes: stamp.bytes };
    (reading.tail == Tail::Clean).then_some(Known { row, searched, passages })
}

/// What a list shows of a session with this state.
pub fn row_of(header: &SessionHeader, state: &State, stamp: FileStamp) -> IndexRow {
    let title = state.title.as_ref().map(|(title, _)| title.clone());
    let title = title.or_else(|| header.meta.title.clone()).or_else(|| state.first_words.clone());
    // What it was made from may be older than itself.
    let updated_at = state.last_ts.max(header.created_at);
    IndexRow {
        session_id: header.session_id,
        thread_id: Some(header.thread_id.clone()),
        agent_id: Some(header.agent_id.clone()),
        title,
        created_at: Some(header.created_at),
        updated_at: Some(updated_at),
        events: state.n_events,
        leaf: state.leaf(),
        state: standing(state).to_owned(),
        stamp,
    }
}

/// One word for where a session stands.
pub fn standing(state: &State) -> &'static str {
    match &state.turn {
        None => "idle",
        Some(turn) if turn.calls.iter().any(|it| matches!(it.stage, Stage::Asked { .. })) => {
            "waiting"
        }
        Some(_) => "running",
    }
}
