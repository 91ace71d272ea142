//! The tables of the desk, and how its file is opened.
//!
//! A table changes only by a further entry of [`MIGRATIONS`]: the version of a file is the number
//! of entries it has been through, and a file that has been through more than we know is refused.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::DeskError;
use crate::database::{Standing, connect, connect_read_only, make_file, standing};

pub(super) const MIGRATIONS: [&str; 2] = [
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
];

/// The version of the desk that this program writes.
pub const DESK_VERSION: u32 = 2;

const _: () = assert!(DESK_VERSION as usize == MIGRATIONS.len(), "one version per migration");

const DEVICE_ID: &str = "deviceId";

/// Opens the file for writing; makes and migrates it as needed.
pub(super) fn open(path: &Path, new_device_id: &str) -> Result<Connection, DeskError> {
    make_file(path).map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
    let failed = |source| DeskError::of(path, source);
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
    migrate(&mut connection, new_device_id).map_err(failed)?;
    Ok(connection)
}

/// Opens the file for reading; `None` if there is no desk. Makes no file.
///
/// An older desk is read as it is: so far every migration only added tables.
pub(super) fn open_read_only(path: &Path) -> Result<Option<Connection>, DeskError> {
    let standing =
        standing(path).map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
    match standing {
        Standing::Absent => return Ok(None),
        Standing::NeedsRecovery => return Err(DeskError::NeedsRecovery { path: path.to_owned() }),
        Standing::Alone | Standing::InUse => (),
    }
    let failed = |source| DeskError::of(path, source);
    let connection = connect_read_only(path, standing).map_err(failed)?;
    let version = check_version(path, &connection)?;
    Ok((version > 0).then_some(connection))
}

pub(super) fn device_id(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT value FROM facts WHERE name = ?1", [DEVICE_ID], |row| row.get(0))
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

fn migrate(connection: &mut Connection, new_device_id: &str) -> rusqlite::Result<()> {
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
