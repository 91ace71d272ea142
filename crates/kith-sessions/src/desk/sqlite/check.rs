//! Reading the whole desk, to see whether all of it can be used.
//!
//! SQLite looks at the form of its pages, and at the types of columns. It does not know that a text is
//! to be an id or a message, so every row is read as it would be in use.

use rusqlite::{Connection, Error, Result};

use super::columns::row_problem;
use super::{grants, inbox, schema, taint, threads, trust, wakeups};

/// The first thing that is wrong, in words.
pub(super) fn problem(desk: &Connection) -> Result<Option<String>> {
    let found: String =
        desk.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).or_else(in_words)?;
    if found != "ok" {
        return Ok(Some(found));
    }
    let read = schema::device_id(desk)
        .and_then(|_| schema::generation(desk))
        .and_then(|_| inbox::read_all(desk))
        .and_then(|()| threads::threads(desk))
        .and_then(|_| threads::heads(desk))
        .and_then(|_| trust::repositories(desk))
        .and_then(|_| grants::all(desk))
        .and_then(|_| taint::contents(desk))
        .and_then(|_| wakeups::all(desk));
    match read {
        Ok(_) => Ok(None),
        Err(error) => in_words(error).map(Some),
    }
}

/// An unreadable row is a finding; an I/O error of the disk is not.
fn in_words(error: Error) -> Result<String> {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, SystemIoFailure};
    match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked | SystemIoFailure) => Err(error),
        _ => Ok(row_problem(&error).unwrap_or_else(|| error.to_string())),
    }
}
