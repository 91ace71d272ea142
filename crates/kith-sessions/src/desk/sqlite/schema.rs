//! The tables of the desk, and how its file is opened.
//!
//! A table changes only by a further entry of [`MIGRATIONS`]: the version of a file is the number
//! of entries it has been through, and a file that has been through more than we know is refused.

use std::path::Path;
use std::thread;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::DeskError;
use super::columns::unreadable;
use crate::database::{
    FileState, READ_TRIES_MAX, READ_WAIT, connect, connect_read_only, file_state, keep_room,
    make_file, require_room,
};

pub(super) const MIGRATIONS: [&str; 6] = [
    "
    CREATE TABLE inbox (
        place INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        agent_id TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        event TEXT NOT NULL,
        accepted_at INTEGER NOT NULL,
        closed_at INTEGER
    ) STRICT;
    CREATE INDEX inbox_unclosed ON inbox (session_id, place) WHERE closed_at IS NULL;
    CREATE TABLE threads (
        agent_id TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        audience TEXT NOT NULL,
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (agent_id, thread_id)
    ) STRICT;
    CREATE INDEX threads_session ON threads (session_id);
    CREATE TABLE heads (
        session_id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
    CREATE TABLE facts (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT;
",
    "
    CREATE TABLE repositories (
        path TEXT PRIMARY KEY,
        mark TEXT NOT NULL,
        trusted_at INTEGER NOT NULL
    ) STRICT;
",
    "
    ALTER TABLE inbox RENAME TO old_inbox;
    DROP INDEX inbox_unclosed;
    CREATE TABLE inbox (
        place INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        agent_id TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        event TEXT,
        event_bytes INTEGER NOT NULL,
        accepted_at INTEGER NOT NULL,
        closed_at INTEGER,
        outcome TEXT,
        CHECK ((closed_at IS NULL) = (outcome IS NULL)),
        CHECK ((closed_at IS NULL) = (event IS NOT NULL))
    ) STRICT;
    INSERT INTO inbox SELECT
        place, key, agent_id, thread_id, session_id, '',
        iif(closed_at IS NULL, event, NULL),
        iif(closed_at IS NULL, coalesce(length(CAST(event ->> '$.content.text' AS BLOB)), 0), 0),
        accepted_at, closed_at, iif(closed_at IS NULL, NULL, 'done')
        FROM old_inbox ORDER BY place;
    DROP TABLE old_inbox;
    CREATE INDEX inbox_open ON inbox (session_id, place) WHERE closed_at IS NULL;
    CREATE INDEX inbox_closed ON inbox (closed_at) WHERE closed_at IS NOT NULL;
    CREATE TABLE wakeups (
        key TEXT PRIMARY KEY,
        session_id TEXT,
        agent_id TEXT,
        thread_id TEXT,
        at INTEGER NOT NULL,
        reason TEXT NOT NULL
    ) STRICT;
    CREATE INDEX wakeups_at ON wakeups (at);
    CREATE INDEX wakeups_session ON wakeups (session_id);
    INSERT INTO facts (name, value) VALUES ('generation', '0');
",
    "
    CREATE TABLE grants (
        grant_id TEXT PRIMARY KEY,
        agent_id TEXT NOT NULL,
        workspace TEXT NOT NULL,
        form TEXT NOT NULL,
        granted_by TEXT NOT NULL,
        granted_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT;
",
    "
    CREATE TABLE tainted_contents (
        sha256 TEXT PRIMARY KEY,
        bytes INTEGER NOT NULL,
        noted_at INTEGER NOT NULL
    ) STRICT;
",
    "
    CREATE TABLE command_times (
        root TEXT NOT NULL,
        began INTEGER NOT NULL,
        ended INTEGER,
        PRIMARY KEY (root, began)
    ) STRICT;
",
];

/// Temporary tables that an older desk lacks, for readers; they shadow the names of the file.
const STAND_INS: [&str; 5] = [
    "CREATE TEMP TABLE repositories (path TEXT, mark TEXT, trusted_at INTEGER);",
    "CREATE TEMP VIEW inbox AS SELECT
        place, key, agent_id, thread_id, session_id, '' AS digest, event, 0 AS event_bytes,
        accepted_at, closed_at, iif(closed_at IS NULL, NULL, 'done') AS outcome FROM main.inbox;
     CREATE TEMP TABLE wakeups
        (key TEXT, session_id TEXT, agent_id TEXT, thread_id TEXT, at INTEGER, reason TEXT);",
    "CREATE TEMP TABLE grants
        (grant_id TEXT, agent_id TEXT, workspace TEXT, form TEXT, granted_by TEXT,
         granted_at INTEGER, expires_at INTEGER);",
    "CREATE TEMP TABLE tainted_contents (sha256 TEXT, bytes INTEGER, noted_at INTEGER);",
    "CREATE TEMP TABLE command_times (root TEXT, began INTEGER, ended INTEGER);",
];

/// The version of the desk that this program writes.
pub const DESK_VERSION: u32 = 6;

const _: () = assert!(DESK_VERSION as usize == MIGRATIONS.len(), "one version per migration");

const _: () = assert!(STAND_INS.len() + 1 == MIGRATIONS.len(), "one for each later version");

const DEVICE_ID: &str = "deviceId";
const GENERATION: &str = "generation";

/// Opens the file for writing; makes and migrates it as needed.
pub(super) fn open(path: &Path, new_device_id: &str) -> Result<Connection, DeskError> {
    make_file(path).map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
    let failed = |source| DeskError::of(path, source);
    require_room(path).map_err(failed)?;
    let mut connection = connect(path).map_err(failed)?;
    check_version(path, &connection)?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        return Err(DeskError::NoWriteAheadLog { path: path.to_owned() });
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    // A row loses its text when it is closed; the text must not stay in the free part of a page.
    connection.pragma_update_and_check(None, "secure_delete", true, |_| Ok(())).map_err(failed)?;
    keep_room(path, &connection)
        .map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
    migrate(&mut connection, new_device_id).map_err(failed)?;
    Ok(connection)
}

/// Opens the file for reading; `None` if there is no desk. Makes no file.
///
/// An older desk is read as it is, with stand-ins in memory for what it lacks.
///
/// A host that is opening or closing the desk makes and removes the files beside it one after the other.
/// Who looks in between finds a log without its index, so looks again.
pub(super) fn open_read_only(path: &Path) -> Result<Option<Connection>, DeskError> {
    for _ in 0..READ_TRIES_MAX {
        match try_open_read_only(path) {
            Err(error) if error.may_pass() => thread::sleep(READ_WAIT),
            done => return done,
        }
    }
    try_open_read_only(path)
}

fn try_open_read_only(path: &Path) -> Result<Option<Connection>, DeskError> {
    let file_state =
        file_state(path).map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
    match file_state {
        FileState::Absent => return Ok(None),
        FileState::NeedsRecovery => return Err(DeskError::NeedsRecovery { path: path.to_owned() }),
        FileState::Alone | FileState::InUse => (),
    }
    let failed = |source| DeskError::of(path, source);
    let connection = connect_read_only(path, file_state).map_err(failed)?;
    let version = check_version(path, &connection)?;
    if version == 0 {
        return Ok(None);
    }
    connection.pragma_update(None, "temp_store", "MEMORY").map_err(failed)?;
    for stand_in in STAND_INS.iter().skip(version as usize - 1) {
        connection.execute_batch(stand_in).map_err(failed)?;
    }
    Ok(Some(connection))
}

pub(in crate::desk) fn device_id(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT value FROM facts WHERE name = ?1", [DEVICE_ID], |row| row.get(0))
}

/// A desk that has never had one is of generation 0.
pub(in crate::desk) fn generation(connection: &Connection) -> rusqlite::Result<u64> {
    let value: Option<String> = connection
        .prepare_cached("SELECT value FROM facts WHERE name = ?1")?
        .query_row([GENERATION], |row| row.get(0))
        .optional()?;
    let Some(value) = value else { return Ok(0) };
    value.parse().map_err(|error: std::num::ParseIntError| unreadable(0, error))
}

/// Raises the generation to at least this one, and gives the one it has now.
pub(super) fn raise_generation(connection: &Connection, at_least: u64) -> rusqlite::Result<u64> {
    let stored = generation(connection)?;
    if stored >= at_least {
        return Ok(stored);
    }
    connection
        .prepare_cached("UPDATE facts SET value = ?2 WHERE name = ?1")?
        .execute([GENERATION, &at_least.to_string()])?;
    Ok(at_least)
}

fn check_version(path: &Path, connection: &Connection) -> Result<u32, DeskError> {
    let failed = |source| DeskError::of(path, source);
    let path = || path.to_owned();
    let found: u32 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    if found > DESK_VERSION {
        return Err(DeskError::NewerVersion { path: path(), found, known: DESK_VERSION });
    }
    let n_tables: u32 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    if found == 0 && n_tables > 0 {
        return Err(DeskError::NotADesk { path: path() });
    }
    Ok(found)
}

pub(in crate::desk) fn migrate(
    connection: &mut Connection,
    new_device_id: &str,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another program may have been quicker.
    let found: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for (migration, version) in MIGRATIONS.iter().zip(1..).skip(found as usize) {
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    let known = transaction
        .query_row("SELECT 1 FROM facts WHERE name = ?1", [DEVICE_ID], |_| Ok(()))
        .optional()?;
    if known.is_none() {
        transaction.execute(
            "INSERT INTO facts (name, value) VALUES (?1, ?2)",
            [DEVICE_ID, new_device_id],
        )?;
    }
    transaction.commit()
}
