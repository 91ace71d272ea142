//! The statements of the desk. What changes something is one change of a transaction.

use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::{INGRESS_KEY_BYTES_MAX, IngressContent, IngressEvent, MESSAGE_BYTES_MAX};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Result, Row, TransactionBehavior, params};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::StringDeserializer;

use super::{Accepted, DeskError, InboxRow, Target, ThreadRow};
use crate::line::Head;

/// Names, ids and paths around a message: no platform has any of this length.
pub(super) const ENVELOPE_BYTES_MAX: usize = 64 * 1024;

const ROW_COLUMNS: &str = "key, session_id, event, accepted_at, closed_at";

/// Refuses at the door what is too long to be kept.
pub(super) fn check_size(event: &IngressEvent) -> std::result::Result<(), DeskError> {
    let key_bytes = event.key.len();
    if key_bytes == 0 || key_bytes > INGRESS_KEY_BYTES_MAX {
        return Err(DeskError::KeyLength { bytes: key_bytes });
    }
    let IngressContent::Text { text } = &event.content;
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(DeskError::MessageTooLong { bytes: text.len() });
    }
    let envelope = [
        &event.agent_id,
        &event.client_id,
        &event.author.user_id,
        &event.author.display_name,
        &event.ingress.platform,
        &event.ingress.account,
        &event.ingress.message_id,
        &event.ingress.correlation_id,
        &event.cwd,
    ];
    let bytes = envelope.iter().map(|it| it.len()).sum();
    if bytes > ENVELOPE_BYTES_MAX {
        return Err(DeskError::EnvelopeTooLong { bytes });
    }
    Ok(())
}

pub(super) fn accept(
    desk: &Connection,
    event: IngressEvent,
    target: Target,
    fresh: SessionId,
    now: u64,
) -> Result<Accepted> {
    if let Some(row) = row_of(desk, &event.key)? {
        let InboxRow { session_id, event, closed_at, .. } = row;
        let closed = closed_at.is_some();
        let is_next = false;
        return Ok(Accepted { first: false, session_id, closed, is_next, event });
    }
    let session_id = match target {
        Target::Current => {
            current_session(desk, &event.agent_id, &event.thread_id)?.unwrap_or(fresh)
        }
        Target::New => fresh,
        Target::Session(session_id) => session_id,
    };
    let is_next = !desk
        .prepare_cached("SELECT 1 FROM inbox WHERE session_id = ?1 AND closed_at IS NULL")?
        .exists([session_id.to_string()])?;
    let IngressEvent { agent_id, thread_id, audience, .. } = &event;
    set_current(desk, (agent_id, thread_id), session_id, *audience, now)?;
    let now = stored(now)?;
    desk.prepare_cached(
        "INSERT INTO inbox (key, agent_id, thread_id, session_id, event, accepted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        event.key,
        event.agent_id,
        event.thread_id.as_str(),
        session_id.to_string(),
        json(&event)?,
        now,
    ])?;
    Ok(Accepted { first: true, session_id, closed: false, is_next, event })
}

pub(super) fn place_session(desk: &Connection, row: &ThreadRow, head: Option<Head>) -> Result<()> {
    let ThreadRow { agent_id, thread_id, session_id, audience, updated_at } = row;
    set_current(desk, (agent_id, thread_id), *session_id, *audience, *updated_at)?;
    head.map_or(Ok(()), |head| set_head(desk, *session_id, head))
}

fn set_current(
    desk: &Connection,
    (agent_id, thread_id): (&str, &ThreadId),
    session_id: SessionId,
    audience: Audience,
    now: u64,
) -> Result<()> {
    // What others could read once is never the owner's alone again, whatever session it goes to.
    let before = thread_audience(desk, agent_id, thread_id)?;
    let audience = before.map_or(audience, |before| before.narrowed_by(audience));
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
        audience_word(audience),
        stored(now)?,
    ])?;
    Ok(())
}

pub(super) fn unclosed(desk: &Connection, session: SessionId) -> Result<Vec<InboxRow>> {
    let sql = format!(
        "SELECT {ROW_COLUMNS} FROM inbox
         WHERE session_id = ?1 AND closed_at IS NULL ORDER BY place"
    );
    desk.prepare_cached(&sql)?.query_map([session.to_string()], inbox_row)?.collect()
}

pub(super) fn unclosed_sessions(desk: &Connection) -> Result<Vec<SessionId>> {
    desk.prepare_cached(
        "SELECT session_id FROM inbox WHERE closed_at IS NULL
         GROUP BY session_id ORDER BY min(place)",
    )?
    .query_map([], |row| parsed(row, 0))?
    .collect()
}

pub(super) fn close(
    desk: &Connection,
    keys: &[String],
    session: SessionId,
    head: Head,
    now: u64,
) -> Result<()> {
    let now = stored(now)?;
    close_rows(desk, keys, now)?;
    set_head(desk, session, head)?;
    desk.prepare_cached(
        "UPDATE threads SET updated_at = max(updated_at, ?2) WHERE session_id = ?1",
    )?
    .execute(params![session.to_string(), now])?;
    Ok(())
}

// Two turns of a session may end in one breath and be noted in either order.
fn set_head(desk: &Connection, session: SessionId, head: Head) -> Result<()> {
    desk.prepare_cached(
        "INSERT INTO heads (session_id, seq, hash) VALUES (?1, ?2, ?3)
         ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash
         WHERE excluded.seq > heads.seq",
    )?
    .execute(params![session.to_string(), stored(head.seq)?, head.hash.to_string()])?;
    Ok(())
}

fn close_rows(desk: &Connection, keys: &[String], now: i64) -> Result<()> {
    for key in keys {
        desk.prepare_cached(
            "UPDATE inbox SET closed_at = ?2 WHERE key = ?1 AND closed_at IS NULL",
        )?
        .execute(params![key, now])?;
    }
    Ok(())
}

pub(super) fn replace_session(
    desk: &Connection,
    agent_id: &str,
    thread_id: &ThreadId,
    (old, new): (SessionId, SessionId),
    held: &[String],
    now: u64,
) -> Result<()> {
    close_rows(desk, held, stored(now)?)?;
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
    Ok(())
}

pub(super) fn forget_session(desk: &mut Connection, session: SessionId) -> Result<bool> {
    // Words that someone wants gone must not stay in the free pages of the file.
    desk.pragma_update(None, "secure_delete", true)?;
    let transaction = desk.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !unclosed(&transaction, session)?.is_empty() {
        return Ok(false);
    }
    let session = session.to_string();
    transaction.execute("DELETE FROM threads WHERE session_id = ?1", [&session])?;
    transaction.execute("DELETE FROM heads WHERE session_id = ?1", [&session])?;
    transaction.execute(
        "UPDATE inbox SET event = json_set(event, '$.content.text', '') WHERE session_id = ?1",
        [&session],
    )?;
    transaction.commit()?;
    desk.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    desk.pragma_update(None, "secure_delete", false)?;
    Ok(true)
}

pub(super) fn head(desk: &Connection, session: SessionId) -> Result<Option<Head>> {
    desk.prepare_cached("SELECT seq, hash FROM heads WHERE session_id = ?1")?
        .query_row([session.to_string()], |row| {
            Ok(Head { seq: number(row, 0)?, hash: parsed(row, 1)? })
        })
        .optional()
}

pub(super) fn heads(desk: &Connection) -> Result<Vec<(SessionId, Head)>> {
    desk.prepare_cached("SELECT session_id, seq, hash FROM heads ORDER BY session_id")?
        .query_map([], |row| {
            Ok((parsed(row, 0)?, Head { seq: number(row, 1)?, hash: parsed(row, 2)? }))
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

pub(super) fn thread_audience(
    desk: &Connection,
    agent_id: &str,
    thread_id: &ThreadId,
) -> Result<Option<Audience>> {
    desk.prepare_cached("SELECT audience FROM threads WHERE agent_id = ?1 AND thread_id = ?2")?
        .query_row([agent_id, thread_id.as_str()], |row| audience(row, 0))
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
            audience: audience(row, 3)?,
            updated_at: number(row, 4)?,
        })
    })?
    .collect()
}

fn row_of(desk: &Connection, key: &str) -> Result<Option<InboxRow>> {
    let sql = format!("SELECT {ROW_COLUMNS} FROM inbox WHERE key = ?1");
    desk.prepare_cached(&sql)?.query_row([key], inbox_row).optional()
}

fn inbox_row(row: &Row<'_>) -> Result<InboxRow> {
    Ok(InboxRow {
        key: row.get(0)?,
        session_id: parsed(row, 1)?,
        event: from_json(row, 2)?,
        accepted_at: number(row, 3)?,
        closed_at: row.get::<_, Option<i64>>(4)?.map(|it| unsigned(4, it)).transpose()?,
    })
}

fn audience_word(audience: Audience) -> &'static str {
    match audience {
        Audience::Owner => "owner",
        Audience::Shared => "shared",
        Audience::Peer => "peer",
    }
}

fn audience(row: &Row<'_>, column: usize) -> Result<Audience> {
    let word: String = row.get(column)?;
    let deserializer: StringDeserializer<serde::de::value::Error> = word.into_deserializer();
    Audience::deserialize(deserializer)
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

fn json(event: &IngressEvent) -> Result<String> {
    serde_json::to_string(event).map_err(|error| Error::ToSqlConversionFailure(error.into()))
}

fn from_json(row: &Row<'_>, column: usize) -> Result<IngressEvent> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text)
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

fn parsed<T>(row: &Row<'_>, column: usize) -> Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse()
        .map_err(|error: T::Err| Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

// SQLite counts to 2^63.
pub(super) fn stored(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|error| Error::ToSqlConversionFailure(error.into()))
}

pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64> {
    unsigned(column, row.get(column)?)
}

fn unsigned(column: usize, number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(column, number))
}
