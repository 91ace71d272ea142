//! The tables of the index, and how its file is opened.
//!
//! There are no migrations: a file of another version is deleted like one that is damaged. Only
//! a checkpoint carries a checksum of its own, because a session acts on what it holds.

use std::fs;
use std::io;
use std::path::Path;

use kith_vocab::digest::sha256_hex;
use kith_vocab::files::if_found;
use kith_vocab::header::LOG_FORMAT_VERSION;
use kith_vocab::ids::{SessionId, ThreadId};
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Result, Row, TransactionBehavior, params,
};

use super::index::IndexError;
use super::passages;
use crate::catalog::{CHECKPOINT_BYTES_MAX, CatalogRow, Checkpoint, LogStamp};
use crate::database::{
    FileState, beside, connect, connect_read_only, file_state, keep_room, make_file, no_room,
    require_room,
};
use crate::journal::Cursor;
use crate::line::LogHead;

/// The version of the index that this program makes.
pub const INDEX_VERSION: u32 = 4;

/// `kith` in ASCII, the application id of our files.
const APPLICATION_ID: u32 = 0x6b69_7468;

const TABLES: &str = "
    CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        thread_id TEXT,
        agent_id TEXT,
        title TEXT,
        created_at INTEGER,
        updated_at INTEGER,
        events INTEGER NOT NULL,
        leaf TEXT,
        state TEXT NOT NULL,
        log_bytes INTEGER NOT NULL,
        modified_ns INTEGER NOT NULL,
        cwd TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE checkpoints (
        session_id TEXT PRIMARY KEY,
        fold_version INTEGER NOT NULL,
        format_version INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL,
        cursor BLOB NOT NULL,
        state BLOB NOT NULL,
        checksum TEXT NOT NULL
    ) STRICT;
    CREATE TABLE searched (
        session_id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL,
        log_bytes INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE passages (
        place INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        event_id TEXT NOT NULL
    ) STRICT;
    CREATE INDEX passages_session ON passages (session_id);
    CREATE VIRTUAL TABLE words USING fts5 (
        said, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
    );
";

/// Opens the file for writing. One that is not a good index is replaced.
pub(super) fn open(path: &Path) -> std::result::Result<Connection, IndexError> {
    match open_ours(path) {
        Ok(Some(connection)) => return Ok(connection),
        Ok(None) => (),
        Err(IndexError::Failed { source, .. }) if is_the_file(&source) => (),
        // Then it may be good, and throwing it away would not help.
        Err(error) => return Err(error),
    }
    open_anew(path)
}

/// Throws the file away, and makes another.
fn open_anew(path: &Path) -> std::result::Result<Connection, IndexError> {
    throw_away(path).map_err(|source| IndexError::Open { path: path.to_owned(), source })?;
    let source = rusqlite::Error::InvalidQuery;
    open_ours(path)?.ok_or_else(|| IndexError::Failed { path: path.to_owned(), source })
}

/// Opens the file for reading; `None` if there is no good index. Makes no file.
pub(super) fn open_read_only(path: &Path) -> Option<Connection> {
    // An index that cannot be read is as good as none.
    let file_state = file_state(path).ok()?;
    if !matches!(file_state, FileState::Alone | FileState::InUse) {
        return None;
    }
    let connection = connect_read_only(path, file_state).ok()?;
    matches!(is_ours(&connection), Ok(Some(true))).then_some(connection)
}

pub(super) fn open_in_memory() -> Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    make_tables(&mut connection)?;
    Ok(connection)
}

/// Replaces a file that turned out to be damaged.
pub(super) fn renew(index: &mut Connection, path: &Path) {
    // The file must be closed before it can go. If anything fails here, the next opening meets
    // the same damage and tries again.
    let Ok(nothing) = Connection::open_in_memory() else { return };
    drop(std::mem::replace(index, nothing));
    if let Ok(fresh) = open_anew(path) {
        *index = fresh;
    }
}

/// `None` if the file is of something else or of another version.
fn open_ours(path: &Path) -> std::result::Result<Option<Connection>, IndexError> {
    let made = || {
        if !path.try_exists()? {
            // A log of an index that somebody removed belongs to no other.
            throw_away(path)?;
        }
        make_file(path)
    };
    made().map_err(|source| IndexError::Open { path: path.to_owned(), source })?;
    connect_ours(path).map_err(|source| IndexError::Failed { path: path.to_owned(), source })
}

fn connect_ours(path: &Path) -> Result<Option<Connection>> {
    require_room(path)?;
    let mut connection = connect(path)?;
    // Asked first: the journal mode of somebody else's file is not ours to change.
    let found = is_ours(&connection)?;
    if found == Some(false) {
        return Ok(None);
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // A power cut may take the newest rows and never leaves half of one.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Its log stays for the next program: to write it back and remove it would cost each command
    // that ends four syncs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    keep_room(path, &connection).map_err(|_| no_room())?;
    if found.is_none() {
        make_tables(&mut connection)?;
    }
    Ok(Some(connection))
}

/// `None` if the file is empty.
fn is_ours(connection: &Connection) -> Result<Option<bool>> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, u32>(0));
    let n_tables = number("SELECT count(*) FROM sqlite_schema")?;
    let application_id = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if (n_tables, application_id, version) == (0, 0, 0) {
        return Ok(None);
    }
    Ok(Some((application_id, version) == (APPLICATION_ID, INDEX_VERSION)))
}

fn make_tables(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another program may have been quicker.
    if is_ours(&transaction)?.is_none() {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", INDEX_VERSION)?;
    }
    transaction.commit()
}

/// Whether it is the file itself that is wrong, not the disk or another program.
fn is_the_file(error: &rusqlite::Error) -> bool {
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
        )
    )
}

fn throw_away(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        if_found(fs::remove_file(beside(path, suffix)))?;
    }
    Ok(())
}

pub(super) fn put_rows(index: &mut Connection, rows: &[CatalogRow]) -> Result<()> {
    let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for row in rows {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO sessions VALUES
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                row.session_id.to_string(),
                row.thread_id.as_ref().map(ThreadId::as_str),
                row.agent_id,
                row.title,
                row.created_at.map(stored),
                row.updated_at.map(stored),
                stored(row.events),
                row.leaf.map(|it| it.to_string()),
                row.state,
                stored(row.stamp.bytes),
                stored(row.stamp.modified_ns),
                row.cwd,
            ])?;
    }
    transaction.commit()
}

/// In the order of the ids. A row that makes no sense is left out, so its session is read again.
pub(super) fn rows(index: &mut Connection) -> Result<Vec<CatalogRow>> {
    let mut statement = index.prepare_cached("SELECT * FROM sessions ORDER BY session_id")?;
    let mut rows = statement.query([])?;
    let mut known = Vec::new();
    while let Some(row) = rows.next()? {
        known.extend(index_row(row)?);
    }
    Ok(known)
}

fn index_row(row: &Row<'_>) -> Result<Option<CatalogRow>> {
    let word = |column| row.get::<_, Option<String>>(column);
    let number = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(counted));
    let stamp = LogStamp {
        bytes: number(9)?.unwrap_or_default(),
        modified_ns: number(10)?.unwrap_or_default(),
    };
    let (session_id, thread_id, leaf) = (word(0)?, word(1)?, word(7)?);
    let (agent_id, title, state, cwd) = (word(2)?, word(3)?, word(8)?, word(11)?);
    let (created_at, updated_at, events) = (number(4)?, number(5)?, number(6)?);
    // Only ids can be wrong, and only if somebody else wrote them.
    let parsed = || {
        Some(CatalogRow {
            session_id: session_id?.parse().ok()?,
            thread_id: thread_id.map(|it| it.parse()).transpose().ok()?,
            agent_id,
            title,
            created_at,
            updated_at,
            events: events?,
            leaf: leaf.map(|it| it.parse()).transpose().ok()?,
            cwd,
            state: state?,
            stamp,
        })
    };
    Ok(parsed())
}

pub(super) fn put_checkpoint(
    index: &mut Connection,
    session: SessionId,
    checkpoint: &Checkpoint,
) -> Result<()> {
    let Checkpoint { cursor, fold_version, state } = checkpoint;
    if cursor.bytes.len() + state.len() > CHECKPOINT_BYTES_MAX {
        index.execute("DELETE FROM checkpoints WHERE session_id = ?1", [session.to_string()])?;
        return Ok(());
    }
    index
        .prepare_cached(
            "INSERT OR REPLACE INTO checkpoints VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            session.to_string(),
            fold_version,
            LOG_FORMAT_VERSION,
            stored(cursor.head.seq),
            cursor.head.hash.to_string(),
            cursor.bytes,
            state,
            checksum(session, checkpoint),
        ])?;
    Ok(())
}

pub(super) fn checkpoint(
    index: &mut Connection,
    session: SessionId,
    fold_version: u32,
) -> Result<Option<Checkpoint>> {
    let found = index
        .prepare_cached(
            "SELECT seq, hash, cursor, state, checksum FROM checkpoints
             WHERE session_id = ?1 AND fold_version = ?2 AND format_version = ?3",
        )?
        .query_row(params![session.to_string(), fold_version, LOG_FORMAT_VERSION], |row| {
            let seq = row.get(0).map(counted)?;
            // A hash that is none fails the checksum as well.
            let Ok(hash) = row.get::<_, String>(1)?.parse() else { return Ok(None) };
            let cursor = Cursor { head: LogHead { seq, hash }, bytes: row.get(2)? };
            let checkpoint = Checkpoint { cursor, fold_version, state: row.get(3)? };
            let is_whole = row.get::<_, String>(4)? == checksum(session, &checkpoint);
            Ok(is_whole.then_some(checkpoint))
        })
        .optional()?;
    Ok(found.flatten())
}

pub(super) fn forget(index: &mut Connection, session: SessionId) -> Result<()> {
    let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    passages::forget(&transaction, session)?;
    let session = session.to_string();
    transaction.execute("DELETE FROM sessions WHERE session_id = ?1", [&session])?;
    transaction.execute("DELETE FROM checkpoints WHERE session_id = ?1", [&session])?;
    transaction.commit()?;
    // Its words must not stay in the log. Who reads from it just now keeps it from being emptied;
    // then the next removal does.
    index.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn checksum(session: SessionId, checkpoint: &Checkpoint) -> String {
    let Checkpoint { cursor, fold_version, state } = checkpoint;
    let Cursor { head: LogHead { seq, hash }, bytes } = cursor;
    let (cursor, state) = (sha256_hex(bytes), sha256_hex(state));
    let words = format!("{session} {fold_version} {seq} {hash} {cursor} {state}");
    sha256_hex(words.as_bytes())
}

/// SQLite's numbers have a sign; no count or time of ours needs the last bit.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn counted(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
