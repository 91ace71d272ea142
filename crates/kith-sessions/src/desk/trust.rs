//! The repositories whose files may speak to the agents of this house.

use rusqlite::{Connection, Result, params};

use super::DeskError;
use super::inbox::{number, stored};

/// Nobody has decided about more.
pub const REPOSITORIES_MAX: u64 = 10_000;
/// No system knows a longer path.
const PATH_BYTES_MAX: usize = 4096;

/// A repository that the owner trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Of its root, canonical.
    pub path: String,
    /// Tells it from another folder that has its name later.
    pub mark: String,
    pub trusted_at: u64,
}

pub(super) fn check_size(repository: &Repository) -> std::result::Result<(), DeskError> {
    let bytes = repository.path.len() + repository.mark.len();
    if bytes > PATH_BYTES_MAX { Err(DeskError::PathTooLong { bytes }) } else { Ok(()) }
}

/// Tells whether there was room for it.
pub(super) fn trust(desk: &Connection, repository: &Repository) -> Result<bool> {
    let Repository { path, mark, trusted_at } = repository;
    let n_others =
        desk.query_row("SELECT count(*) FROM repositories WHERE path <> ?1", [path], |row| {
            number(row, 0)
        })?;
    if n_others >= REPOSITORIES_MAX {
        return Ok(false);
    }
    desk.execute(
        "INSERT INTO repositories (path, mark, trusted_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (path) DO UPDATE SET mark = excluded.mark, trusted_at = excluded.trusted_at",
        params![path, mark, stored(*trusted_at)?],
    )?;
    Ok(true)
}

/// Tells whether it was trusted.
pub(super) fn distrust(desk: &Connection, path: &str) -> Result<bool> {
    Ok(desk.execute("DELETE FROM repositories WHERE path = ?1", [path])? > 0)
}

/// All of them, by path. A desk of the first version, which is only read, has none.
pub(super) fn repositories(desk: &Connection) -> Result<Vec<Repository>> {
    let is_known = desk
        .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'repositories'")?
        .exists([])?;
    if !is_known {
        return Ok(Vec::new());
    }
    let mut statement =
        desk.prepare("SELECT path, mark, trusted_at FROM repositories ORDER BY path")?;
    let rows = statement.query_map([], |row| {
        Ok(Repository { path: row.get(0)?, mark: row.get(1)?, trusted_at: number(row, 2)? })
    })?;
    rows.collect()
}
