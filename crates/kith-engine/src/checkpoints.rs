//! Stored states of long logs, so that these need not be read again, and the rows of session lists.
//!
//! All of it is derived. Failures here are ignored: the log is read from its beginning instead, which
//! only takes longer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kith_sessions::catalog::{
    CHECKPOINT_BYTES_MAX, Catalog, CatalogRow, Checkpoint, LogStamp, SearchCoverage, SearchUpdate,
};
use kith_sessions::desk::Desk;
use kith_sessions::journal::{Cursor, Journal};
use kith_sessions::line::LogHead;
use kith_sessions::read::Tail;
use kith_vocab::bounded::BoundedBytes;
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::SessionId;

use crate::passage::passage;
use crate::session::Session;
use crate::state::calls::CallStage;
use crate::state::{FOLD_VERSION, State};

/// A shorter log is read from its beginning faster than a checkpoint is found.
pub const CHECKPOINT_BYTES_MIN: u64 = 256 * 1024;
/// Maximum number of sessions that are read at once to complete the catalog.
pub const CATCH_UP_SESSIONS_MAX: usize = 20_000;
/// Maximum number of them that are put into the catalog together, and of bytes of their texts.
const CATCH_UP_ROWS_MAX: usize = 512;
const CATCH_UP_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Number of sessions whose rows are gathered before they are written together.
pub const ROWS_WAITING_MAX: usize = 64;

/// A long session is read again for its words when it has grown by this part of itself.
const SEARCHED_PART: u64 = 8;

pub(crate) struct Checkpoints {
    catalog: Arc<dyn Catalog>,
    /// Of logs that get one.
    bytes_min: u64,
    rows: Mutex<BTreeMap<SessionId, CatalogRow>>,
}

impl Checkpoints {
    pub(crate) fn new(catalog: Arc<dyn Catalog>, bytes_min: u64) -> Checkpoints {
        Checkpoints { catalog, bytes_min, rows: Mutex::default() }
    }

    /// What a session's log amounts to up to some place in it, if that is no more than the desk
    /// knows of it.
    pub(crate) async fn take(
        &self,
        id: SessionId,
        head: Option<LogHead>,
    ) -> Option<(Cursor, State)> {
        let head = head?;
        let stamp = self.catalog.stamp(id).await.ok()?;
        if stamp.bytes < self.bytes_min {
            return None;
        }
        let checkpoint = self.catalog.checkpoint(id, FOLD_VERSION).await.ok()??;
        let fits = checkpoint.cursor.head.seq <= head.seq;
        let state = serde_json::from_slice(&checkpoint.state).ok().filter(|_| fits)?;
        Some((checkpoint.cursor, state))
    }

    /// Saves a checkpoint after a turn if the log has grown enough, and updates the list row.
    pub(crate) async fn save(&self, session: &mut Session) {
        let id = session.id();
        if let Some(cursor) = session.due_checkpoint(self.bytes_min)
            && let Ok(state) = written(session.state())
        {
            // One that is too long, or could not be put, is made again when the log has grown.
            match state {
                Err(n_bytes) => session.note_checkpoint(n_bytes),
                Ok(state) => {
                    session.note_checkpoint(state.len() as u64);
                    let checkpoint = Checkpoint { cursor, fold_version: FOLD_VERSION, state };
                    self.catalog.put_checkpoint(id, checkpoint).await.ok();
                }
            }
        }
        if let Ok(stamp) = self.catalog.stamp(id).await {
            self.list(row_of(session.header(), session.state(), stamp)).await;
        }
    }

    /// Remembers what a list shows of the session.
    pub(crate) async fn list(&self, row: CatalogRow) {
        let n_rows = {
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            rows.insert(row.session_id, row);
            rows.len()
        };
        if n_rows >= ROWS_WAITING_MAX {
            self.write_rows().await;
        }
    }

    /// Lists a session that was made with all its events.
    pub(crate) async fn list_new(&self, header: &SessionHeader, events: &[Event]) {
        if let Ok(stamp) = self.catalog.stamp(header.session_id).await {
            self.list(row_of(header, &State::of(events), stamp)).await;
        }
    }

    async fn write_rows(&self) {
        let rows: Vec<CatalogRow> = {
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *rows).into_values().collect()
        };
        if !rows.is_empty() {
            self.catalog.put_rows(rows).await.ok();
        }
    }

    /// Writes the gathered rows, and reads the sessions of which the catalog is out of date, so that
    /// the next list need not. Damaged sessions are left to the list, which names them.
    pub(crate) async fn flush(&self, journal: &dyn Journal, desk: &dyn Desk) {
        self.write_rows().await;
        let Ok(heads) = desk.heads().await else { return };
        let heads: BTreeMap<SessionId, LogHead> = heads.into_iter().collect();
        let Ok(listing) = self.catalog.listing().await else { return };
        let Ok(searched) = self.catalog.search_coverage().await else { return };
        let known = listing.rows.iter().map(|row| (row.session_id, row.stamp.bytes));
        let due = known.filter(|(id, bytes)| is_due(searched.get(id), *bytes)).map(|(id, _)| id);
        let due: Vec<SessionId> = due.collect();
        let mut read = ReadSessions::default();
        for id in listing.unread.into_iter().chain(due).take(CATCH_UP_SESSIONS_MAX) {
            let after = searched.get(&id).copied().unwrap_or_default();
            let Ok(stamp) = self.catalog.stamp(id).await else { continue };
            let head = heads.get(&id).copied();
            if let Some((row, update)) = read_session(journal, id, head, after, stamp).await {
                read.add(row, update);
            }
            if read.is_full() {
                self.put(std::mem::take(&mut read)).await;
            }
        }
        self.put(read).await;
    }

    async fn put(&self, read: ReadSessions) {
        if !read.rows.is_empty() {
            self.catalog.put_passages(read.updates).await.ok();
            self.catalog.put_rows(read.rows).await.ok();
        }
    }

    /// Forgets all that is known of a session.
    pub(crate) async fn forget(&self, id: SessionId) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        // What is left of it is passed over: there is no log to it any more.
        self.catalog.forget(id).await.ok();
    }
}

/// Serialises a state; `Err` with its length if it is too long. Its events may share texts; written,
/// they do not.
fn written(state: &State) -> serde_json::Result<Result<Vec<u8>, u64>> {
    let mut bytes = BoundedBytes::new(0, CHECKPOINT_BYTES_MAX);
    serde_json::to_writer(&mut bytes, state)?;
    Ok(bytes.finish())
}

/// Whether a session should be read again for its words. To read all of a long one after each of
/// its turns would cost more than it saves: until it has grown by a part, a search reads its end.
fn is_due(searched: Option<&SearchCoverage>, bytes: u64) -> bool {
    let Some(SearchCoverage { log_bytes, .. }) = searched else { return true };
    let grown = bytes.saturating_sub(*log_bytes);
    grown > 0 && (bytes < CHECKPOINT_BYTES_MIN || grown >= bytes / SEARCHED_PART)
}

/// Sessions that were read and are not in the catalog yet.
#[derive(Default)]
struct ReadSessions {
    rows: Vec<CatalogRow>,
    updates: Vec<SearchUpdate>,
    n_bytes: usize,
}

impl ReadSessions {
    fn add(&mut self, row: CatalogRow, update: SearchUpdate) {
        self.n_bytes += update.passages.iter().map(|it| it.text.len()).sum::<usize>();
        self.rows.push(row);
        self.updates.push(update);
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= CATCH_UP_ROWS_MAX || self.n_bytes >= CATCH_UP_BYTES_MAX
    }
}

async fn read_session(
    journal: &dyn Journal,
    id: SessionId,
    head: Option<LogHead>,
    after: SearchCoverage,
    stamp: LogStamp,
) -> Option<(CatalogRow, SearchUpdate)> {
    let mut passages = Vec::new();
    let (mut seq, mut state) = (0, State::default());
    let each = &mut |event: Event| {
        state.fold_trimming(&event);
        seq = event.seq;
        if event.seq > after.seq {
            passages.extend(passage(&event));
        }
    };
    let reading = journal.read(id, head, 0, each).await.ok()?;
    if state.needs_full_read || reading.tail != Tail::Clean {
        return None;
    }
    let row = row_of(&reading.header, &state, stamp);
    let now = SearchCoverage { seq, log_bytes: stamp.bytes };
    Some((row, SearchUpdate { session_id: id, after, now, passages }))
}

/// The list row of a session with this state.
pub fn row_of(header: &SessionHeader, state: &State, stamp: LogStamp) -> CatalogRow {
    let title = state.title.as_ref().map(|(title, _)| title.clone());
    let title = title.or_else(|| header.meta.title.clone()).or_else(|| state.first_words.clone());
    // What it was made from may be older than itself.
    let updated_at = state.last_ts.max(header.created_at);
    CatalogRow {
        session_id: header.session_id,
        thread_id: Some(header.thread_id.clone()),
        agent_id: Some(header.agent_id.clone()),
        title,
        created_at: Some(header.created_at),
        updated_at: Some(updated_at),
        events: state.n_events,
        leaf: state.leaf(),
        cwd: Some(header.cwd.clone()),
        state: activity(state).to_owned(),
        stamp,
    }
}

/// One word for what a session is doing.
pub fn activity(state: &State) -> &'static str {
    match &state.turn {
        None => "idle",
        Some(turn) if turn.calls.iter().any(|it| matches!(it.stage, CallStage::Asked { .. })) => {
            "waiting"
        }
        Some(_) => "running",
    }
}

#[cfg(test)]
mod tests;
