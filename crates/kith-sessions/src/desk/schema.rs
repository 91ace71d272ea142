//! The tables of the desk, and how its file is opened.
//!
//! A table changes only by a further entry of [`MIGRATIONS`]: the version of a file is the number
//! of entries it has been through, and a file that has been through more than we know is refused.

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kith_vocab::files::FileSystem;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};

use super::DeskError;
use crate::disk::{DiskFiles, owner_only};

const MIGRATIONS: [&str; 1] = ["
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
"];

/// The version of the desk that this program writes.
pub const DESK_VERSION: u32 = 1;

const _: () = assert!(DESK_VERSION as usize == MIGRATIONS.len(), "one version per migration");

/// How long to wait for another program that looks into the file.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(5);
const DEVICE_ID: &str = "deviceId";

/// Opens the file for writing; makes and migrates it as needed.
pub(super) fn open(path: &Path, new_device_id: &str) -> Result<Connection, DeskError> {
    make_file(path).map_err(|source| DeskError::Open { path: path.to_owned(), source })?;
    let failed = |source| DeskError::of(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_WAIT_MAX).map_err(failed)?;
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
pub(super) fn open_read_only(path: &Path) -> Result<Option<Connection>, DeskError> {
    let open_error = |source| DeskError::Open { path: path.to_owned(), source };
    if !path.try_exists().map_err(open_error)? {
        return Ok(None);
    }
    // A host's log exists as long as the host does. Without one nobody writes, and saying so keeps
    // SQLite from making a log of its own.
    let has_log = beside(path, "-wal").try_exists().map_err(open_error)?;
    let has_index = beside(path, "-shm").try_exists().map_err(open_error)?;
    let how = match (has_log, has_index) {
        (false, _) => "immutable=1",
        (true, true) => "readonly_shm=1",
        (true, false) => return Err(DeskError::NeedsRecovery { path: path.to_owned() }),
    };
    let failed = |source| DeskError::of(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path, how), flags).map_err(failed)?;
    connection.busy_timeout(BUSY_WAIT_MAX).map_err(failed)?;
    match check_version(path, &connection)? {
        0 => Ok(None),
        DESK_VERSION => Ok(Some(connection)),
        found => {
            let path = path.to_owned();
            Err(DeskError::OlderVersion { path, found, known: DESK_VERSION })
        }
    }
}

pub(super) fn device_id(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT value FROM facts WHERE name = ?1", [DEVICE_ID], |row| row.get(0))
}

// SQLite gives its log and index the mode of the file, so it is enough to make the file ourselves.
fn make_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        DiskFiles.create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    owner_only(&mut options);
    options.open(path)?;
    Ok(())
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

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The path as a SQLite URI. Every byte that could mean something in one is escaped.
fn uri(path: &Path, parameter: &str) -> String {
    let mut uri = "file:".to_owned();
    // A path that is not absolute is taken as it is; `fs::canonicalize` fails only if it is gone.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(uri, "%{byte:02X}").ok();
        }
    }
    uri.push('?');
    uri.push_str(parameter);
    uri
}
