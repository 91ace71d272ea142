//! The current session of each thread, and the newest event of each session.

use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::columns::{number, parsed, read_word, stored, word};
use super::inbox::close_rows;
use super::{DeskError, SqliteDesk};
use crate::desk::{RowOutcome, ThreadRecords, ThreadRow};
use crate::line::LogHead;
use crate::storage::StorageFuture;

impl ThreadRecords for SqliteDesk {
    fn current_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<SessionId>> {
        let (agent_id, thread_id) = (agent_id.to_owned(), thread_id.clone());
        Box::pin(self.read(move |desk| current_session(desk, &agent_id, &thread_id)))
    }

    fn thread_audience<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<Audience>> {
        let (agent_id, thread_id) = (agent_id.to_owned(), thread_id.clone());
        Box::pin(self.read(move |desk| thread_audience(desk, &agent_id, &thread_id)))
    }

    fn place_session(&self, thread: ThreadRow, head: Option<LogHead>) -> StorageFuture<'_, ()> {
        Box::pin(self.change(move |desk| {
            let ThreadRow { agent_id, thread_id, session_id, audience, updated_at } = &thread;
            let thread = (agent_id.as_str(), thread_id);
            let before = thread_place(desk, thread)?;
            move_thread(desk, thread, before, (*session_id, *audience), *updated_at)?;
            head.map_or(Ok(()), |head| set_head(desk, *session_id, head))
        }))
    }

    fn replace_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
        sessions: (SessionId, SessionId),
        held: Vec<String>,
        now: u64,
    ) -> StorageFuture<'a, ()> {
        let thread = (agent_id.to_owned(), thread_id.clone());
        Box::pin(self.change(move |desk| replace_session(desk, &thread, sessions, &held, now)))
    }

    fn threads(&self) -> StorageFuture<'_, Vec<ThreadRow>> {
        Box::pin(self.read(|desk| threads(desk)))
    }

    fn head(&self, session: SessionId) -> StorageFuture<'_, Option<LogHead>> {
        Box::pin(self.read(move |desk| head(desk, session)))
    }

    fn heads(&self) -> StorageFuture<'_, Vec<(SessionId, LogHead)>> {
        Box::pin(self.read(|desk| heads(desk)))
    }

    fn forget_session(&self, session: SessionId) -> StorageFuture<'_, bool> {
        Box::pin(async move {
            if !self.change(move |desk| forget_session(desk, session)).await? {
                return Ok(false);
            }
            if self.read(|desk| wipe_log(desk)).await? {
                return Ok(true);
            }
            Err(DeskError::LogInUse { path: self.0.path.clone() }.into())
        })
    }
}

/// The session and the audience of a thread.
pub(super) fn thread_place(
    desk: &Connection,
    (agent_id, thread_id): (&str, &ThreadId),
) -> Result<Option<(SessionId, Audience)>> {
    desk.prepare_cached(
        "SELECT session_id, audience FROM threads WHERE agent_id = ?1 AND thread_id = ?2",
    )?
    .query_row([agent_id, thread_id.as_str()], |row| Ok((parsed(row, 0)?, read_word(row, 1)?)))
    .optional()
}

/// Has the thread go on in this session, where it may be already.
pub(super) fn move_thread(
    desk: &Connection,
    (agent_id, thread_id): (&str, &ThreadId),
    before: Option<(SessionId, Audience)>,
    (session_id, audience): (SessionId, Audience),
    now: u64,
) -> Result<()> {
    // What others could read once is never the owner's alone again, whatever session it goes to.
    let audience = before.map_or(audience, |(_, before)| before.narrowed_by(audience));
    if before == Some((session_id, audience)) {
        // The index of sessions stays as it is.
        desk.prepare_cached(
            "UPDATE threads SET updated_at = max(updated_at, ?3)
             WHERE agent_id = ?1 AND thread_id = ?2",
        )?
        .execute(params![agent_id, thread_id.as_str(), stored(now)?])?;
        return Ok(());
    }
    desk.prepare_cached(
        "INSERT INTO threads (agent_id, thread_id, session_id, audience, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (agent_id, thread_id) DO UPDATE SET
            session_id = excluded.session_id,
            audience = excluded.audience,
            updated_at = max(updated_at, excluded.updated_at)",
    )?
    .execute(params![
        agent_id,
        thread_id.as_str(),
        session_id.to_string(),
        word(&audience)?,
        stored(now)?,
    ])?;
    Ok(())
}

// Turns of a session that end close together may be noted in either order.
pub(super) fn set_head(desk: &Connection, session: SessionId, head: LogHead) -> Result<()> {
    desk.prepare_cached(
        "INSERT INTO heads (session_id, seq, hash) VALUES (?1, ?2, ?3)
         ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash
         WHERE excluded.seq > heads.seq",
    )?
    .execute(params![session.to_string(), stored(head.seq)?, head.hash.to_string()])?;
    Ok(())
}

fn replace_session(
    desk: &Connection,
    (agent_id, thread_id): &(String, ThreadId),
    (old, new): (SessionId, SessionId),
    held: &[String],
    now: u64,
) -> Result<()> {
    let held: Vec<_> = held.iter().map(|key| (key.clone(), RowOutcome::Failed)).collect();
    close_rows(desk, &held, old, now)?;
    desk.execute(
        "UPDATE threads SET session_id = ?4
         WHERE agent_id = ?1 AND thread_id = ?2 AND session_id = ?3",
        params![agent_id, thread_id.as_str(), old.to_string(), new.to_string()],
    )?;
    desk.execute(
        "UPDATE inbox SET session_id = ?4
         WHERE agent_id = ?1 AND thread_id = ?2 AND session_id = ?3 AND closed_at IS NULL",
        params![agent_id, thread_id.as_str(), old.to_string(), new.to_string()],
    )?;
    desk.execute("DELETE FROM wakeups WHERE session_id = ?1", [old.to_string()])?;
    Ok(())
}

fn forget_session(desk: &Connection, session: SessionId) -> Result<bool> {
    let session = session.to_string();
    let is_waited_for = desk
        .prepare_cached("SELECT 1 FROM inbox WHERE session_id = ?1 AND closed_at IS NULL")?
        .exists([&session])?;
    if is_waited_for {
        return Ok(false);
    }
    for table in ["threads", "heads", "wakeups"] {
        desk.execute(&format!("DELETE FROM {table} WHERE session_id = ?1"), [&session])?;
    }
    Ok(true)
}

/// Empties the write-ahead log, in which words may stand that the file no longer holds. `false` if
/// another program reads from it.
fn wipe_log(desk: &Connection) -> Result<bool> {
    let is_busy: bool = desk.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(!is_busy)
}

pub(super) fn head(desk: &Connection, session: SessionId) -> Result<Option<LogHead>> {
    desk.prepare_cached("SELECT seq, hash FROM heads WHERE session_id = ?1")?
        .query_row([session.to_string()], |row| {
            Ok(LogHead { seq: number(row, 0)?, hash: parsed(row, 1)? })
        })
        .optional()
}

pub(super) fn heads(desk: &Connection) -> Result<Vec<(SessionId, LogHead)>> {
    desk.prepare_cached("SELECT session_id, seq, hash FROM heads ORDER BY session_id")?
        .query_map([], |row| {
            Ok((parsed(row, 0)?, LogHead { seq: number(row, 1)?, hash: parsed(row, 2)? }))
        })?
        .collect()
}

pub(super) fn current_session(
    desk: &Connection,
    agent_id: &str,
    thread_id: &ThreadId,
) -> Result<Option<SessionId>> {
    desk.prepare_cached("SELECT session_id FROM threads WHERE agent_id = ?1 AND thread_id = ?2")?
        .query_row([agent_id, thread_id.as_str()], |row| parsed(row, 0))
        .optional()
}

fn thread_audience(
    desk: &Connection,
    agent_id: &str,
    thread_id: &ThreadId,
) -> Result<Option<Audience>> {
    desk.prepare_cached("SELECT audience FROM threads WHERE agent_id = ?1 AND thread_id = ?2")?
        .query_row([agent_id, thread_id.as_str()], |row| read_word(row, 0))
        .optional()
}

pub(super) fn threads(desk: &Connection) -> Result<Vec<ThreadRow>> {
    desk.prepare_cached(
        "SELECT agent_id, thread_id, session_id, audience, updated_at FROM threads
         ORDER BY updated_at DESC, agent_id, thread_id",
    )?
    .query_map([], |row| {
        Ok(ThreadRow {
            agent_id: row.get(0)?,
            thread_id: parsed(row, 1)?,
            session_id: parsed(row, 2)?,
            audience: read_word(row, 3)?,
            updated_at: number(row, 4)?,
        })
    })?
    .collect()
}
