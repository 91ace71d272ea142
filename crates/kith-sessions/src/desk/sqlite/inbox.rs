//! The inbox: messages that were accepted, each once.
//!
//! A row holds its event only while it is open. Afterwards the log has the text, and the row keeps
//! what tells a later delivery of the same key: digest, session and outcome.

use kith_vocab::ids::SessionId;
use kith_vocab::ingress::IngressEvent;
use rusqlite::{Connection, MAIN_DB, OptionalExtension, Result, Row, params};

use super::columns::{
    bad_row, from_json, in_row, json, number, parsed, read_word, row_problem, stored, word,
};
use super::threads::{head, move_thread, set_head, thread_place};
use super::{SqliteDesk, schema};
use crate::desk::checks::{
    WaitingRows, check_digest, check_message, check_waiting, content_bytes, digest,
};
use crate::desk::{AcceptOutcome, Inbox, InboxRow, RowOutcome, RowStatus, RowTarget};
use crate::line::LogHead;
use crate::storage::{StorageError, StorageFuture};

impl Inbox for SqliteDesk {
    fn accept<'a>(
        &'a self,
        event: &'a IngressEvent,
        target: RowTarget,
        fresh: SessionId,
        now: u64,
    ) -> StorageFuture<'a, AcceptOutcome> {
        Box::pin(async move {
            check_message(event)?;
            let (event, found_generation) = (event.clone(), self.0.found_generation);
            let delivery = InboxDelivery { event, target, fresh, now, found_generation };
            self.change(move |desk| accept(desk, &delivery)).await?
        })
    }

    fn open_rows(&self, session: SessionId) -> StorageFuture<'_, Vec<InboxRow>> {
        Box::pin(async move {
            let read = move |desk: &mut Connection| {
                Ok((open_rows(desk, session)?, desk.is_readonly(MAIN_DB)?))
            };
            let (found, is_read_only) = self.read(read).await?;
            if found.corrupt.is_empty() || is_read_only {
                return Ok(found.rows);
            }
            self.change(move |desk| close_corrupt_rows(desk, session)).await
        })
    }

    fn row<'a>(&'a self, key: &'a str) -> StorageFuture<'a, Option<RowStatus>> {
        let key = key.to_owned();
        Box::pin(self.read(move |desk| Ok(known_row(desk, &key)?.map(|it| it.status))))
    }

    fn sessions_with_open_rows(&self) -> StorageFuture<'_, Vec<SessionId>> {
        Box::pin(self.read(|desk| sessions_with_open_rows(desk)))
    }

    fn close(
        &self,
        rows: Vec<(String, RowOutcome)>,
        session: SessionId,
        head: LogHead,
        now: u64,
    ) -> StorageFuture<'_, ()> {
        Box::pin(self.change_later(move |desk| close(desk, &rows, session, head, now)))
    }

    fn prune(&self, closed_before: u64) -> StorageFuture<'_, ()> {
        Box::pin(self.change_later(move |desk| {
            desk.prepare_cached("DELETE FROM inbox WHERE closed_at < ?1")?
                .execute([stored(closed_before)?])
        }))
    }
}

struct InboxDelivery {
    event: IngressEvent,
    target: RowTarget,
    fresh: SessionId,
    now: u64,
    found_generation: u64,
}

/// A row of the inbox as it is found by its key.
struct KnownRow {
    status: RowStatus,
    digest: String,
    /// Only of an open row.
    event: Option<IngressEvent>,
    accepted_at: u64,
}

/// The open rows of a session.
#[derive(Default)]
struct OpenRows {
    rows: Vec<InboxRow>,
    /// Keys of rows that do not hold the accepted message.
    corrupt: Vec<String>,
}

fn accept(
    desk: &Connection,
    delivery: &InboxDelivery,
) -> Result<std::result::Result<AcceptOutcome, StorageError>> {
    let InboxDelivery { event, target, fresh, now, found_generation } = delivery;
    let (target, fresh, now) = (*target, *fresh, *now);
    if let Some(row) = known_or_failed_row(desk, &event.key)? {
        if let Err(conflict) = check_digest(event, &row.digest) {
            return Ok(Err(conflict));
        }
        return Ok(Ok(AcceptOutcome {
            first: false,
            session_id: row.status.session_id(),
            status: row.status,
            event: row.event.unwrap_or_else(|| event.clone()),
            generation: schema::generation(desk)?,
            head: None,
        }));
    }
    let thread = (event.agent_id.as_str(), &event.thread_id);
    let place = thread_place(desk, thread)?;
    let session_id = match target {
        RowTarget::Current => place.map_or(fresh, |(session_id, _)| session_id),
        RowTarget::New => fresh,
        RowTarget::Session(session_id) => session_id,
    };
    if let Err(refused) = check_waiting(session_id, waiting(desk, session_id)?, event) {
        return Ok(Err(refused));
    }
    move_thread(desk, thread, place, (session_id, event.audience), now)?;
    desk.prepare_cached(
        "INSERT INTO inbox
            (key, agent_id, thread_id, session_id, digest, event, event_bytes, accepted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        event.key,
        event.agent_id,
        event.thread_id.as_str(),
        session_id.to_string(),
        digest(event),
        json(event)?,
        stored(content_bytes(event))?,
        stored(now)?,
    ])?;
    let generation = schema::raise_generation(desk, found_generation.saturating_add(1))?;
    let status = RowStatus::Open { session_id };
    let head = head(desk, session_id)?;
    Ok(Ok(AcceptOutcome {
        first: true,
        session_id,
        status,
        event: event.clone(),
        generation,
        head,
    }))
}

fn waiting(desk: &Connection, session: SessionId) -> Result<WaitingRows> {
    desk.prepare_cached(
        "SELECT count(*), coalesce(sum(event_bytes), 0) FROM inbox
         WHERE session_id = ?1 AND closed_at IS NULL",
    )?
    .query_row([session.to_string()], |row| {
        let n_rows = usize::try_from(number(row, 0)?).unwrap_or(usize::MAX);
        Ok(WaitingRows { n_rows, bytes: number(row, 1)? })
    })
}

fn open_rows(desk: &Connection, session: SessionId) -> Result<OpenRows> {
    let mut statement = desk.prepare_cached(
        "SELECT session_id, outcome, digest, event, key, accepted_at FROM inbox
         WHERE session_id = ?1 AND closed_at IS NULL ORDER BY place",
    )?;
    let mut rows = statement.query([session.to_string()])?;
    let mut found = OpenRows::default();
    while let Some(row) = rows.next()? {
        let key: String = row.get(4)?;
        match read_known_row(row) {
            Ok(KnownRow { status, event: Some(event), accepted_at, .. }) => {
                let session_id = status.session_id();
                found.rows.push(InboxRow { key, session_id, event, accepted_at });
            }
            Ok(KnownRow { event: None, .. }) => found.corrupt.push(key),
            Err(error) if row_problem(&error).is_some() => found.corrupt.push(key),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Closes the corrupt rows, which do not hold the accepted message, and returns the others.
fn close_corrupt_rows(desk: &Connection, session: SessionId) -> Result<Vec<InboxRow>> {
    let OpenRows { rows, corrupt } = open_rows(desk, session)?;
    for key in &corrupt {
        close_corrupt_row(desk, key)?;
    }
    Ok(rows)
}

/// Closes a row as failed, if it is open, and replaces the columns that may be corrupt. SQLite gives
/// the time: callers that read rows have no clock.
fn close_corrupt_row(desk: &Connection, key: &str) -> Result<()> {
    desk.prepare_cached(
        "UPDATE inbox SET
            digest = '', event = NULL, event_bytes = 0, accepted_at = unixepoch() * 1000,
            closed_at = unixepoch() * 1000, outcome = ?2
         WHERE key = ?1 AND closed_at IS NULL",
    )?
    .execute([key, &word(&RowOutcome::Failed)?])?;
    Ok(())
}

fn sessions_with_open_rows(desk: &Connection) -> Result<Vec<SessionId>> {
    desk.prepare_cached(
        "SELECT session_id FROM inbox WHERE closed_at IS NULL
         GROUP BY session_id ORDER BY min(place)",
    )?
    .query_map([], |row| parsed(row, 0))?
    .collect()
}

fn known_row(desk: &Connection, key: &str) -> Result<Option<KnownRow>> {
    desk.prepare_cached(
        "SELECT session_id, outcome, digest, event, key, accepted_at FROM inbox WHERE key = ?1",
    )?
    .query_row([key], read_known_row)
    .optional()
}

/// The same; an open row that is corrupt is closed as failed, so that its author gets a report.
fn known_or_failed_row(desk: &Connection, key: &str) -> Result<Option<KnownRow>> {
    match known_row(desk, key) {
        Err(error) if row_problem(&error).is_some() => {
            close_corrupt_row(desk, key)?;
            known_row(desk, key)
        }
        known => known,
    }
}

/// Reads a row whose first columns are session, outcome, digest, event, key and time.
fn read_known_row(row: &Row<'_>) -> Result<KnownRow> {
    let key: String = row.get(4)?;
    let known = known_row_in(row).map_err(|error| in_row(name_of(&key), error))?;
    if let Some(event) = &known.event
        && (event.key != key || check_digest(event, &known.digest).is_err())
    {
        let problem =
            "differs from the message that was accepted, so it will not be sent to the model";
        return Err(bad_row(name_of(&key), problem));
    }
    Ok(known)
}

fn name_of(key: &str) -> String {
    format!("message `{}`", key.escape_debug())
}

fn known_row_in(row: &Row<'_>) -> Result<KnownRow> {
    let (session_id, digest, accepted_at) = (parsed(row, 0)?, row.get(2)?, number(row, 5)?);
    if row.get_ref(1)?.as_str_or_null()?.is_some() {
        let status = RowStatus::Closed { session_id, outcome: read_word(row, 1)? };
        return Ok(KnownRow { status, digest, event: None, accepted_at });
    }
    let status = RowStatus::Open { session_id };
    Ok(KnownRow { status, digest, event: Some(from_json(row, 3)?), accepted_at })
}

/// Reads every row as it is read in use.
pub(super) fn read_all(desk: &Connection) -> Result<()> {
    let mut rows = desk.prepare(
        "SELECT session_id, outcome, digest, event, key, accepted_at, event_bytes FROM inbox",
    )?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        read_known_row(row)?;
        number(row, 6)?;
    }
    Ok(())
}

fn close(
    desk: &Connection,
    rows: &[(String, RowOutcome)],
    session: SessionId,
    head: LogHead,
    now: u64,
) -> Result<()> {
    close_rows(desk, rows, session, now)?;
    set_head(desk, session, head)?;
    desk.prepare_cached(
        "UPDATE threads SET updated_at = max(updated_at, ?2) WHERE session_id = ?1",
    )?
    .execute(params![session.to_string(), stored(now)?])?;
    Ok(())
}

pub(super) fn close_rows(
    desk: &Connection,
    rows: &[(String, RowOutcome)],
    session: SessionId,
    now: u64,
) -> Result<()> {
    for (key, outcome) in rows {
        let (now, outcome) = (stored(now)?, word(outcome)?);
        let n_closed = desk
            .prepare_cached(
                "UPDATE inbox SET closed_at = ?2, outcome = ?3, event = NULL, event_bytes = 0
                 WHERE key = ?1 AND closed_at IS NULL",
            )?
            .execute(params![key, now, outcome])?;
        if n_closed == 0 {
            // It is closed, or a desk that was lost had it.
            desk.prepare_cached(
                "INSERT INTO inbox
                    (key, agent_id, thread_id, session_id, digest, event_bytes, accepted_at,
                     closed_at, outcome)
                 VALUES (?1, '', '', ?2, '', 0, ?3, ?3, ?4)
                 ON CONFLICT (key) DO NOTHING",
            )?
            .execute(params![key, session.to_string(), now, outcome])?;
        }
    }
    Ok(())
}
