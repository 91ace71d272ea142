//! The repositories whose files may speak to the agents of this house.

use rusqlite::{Connection, Result, params};

use super::SqliteDesk;
use super::columns::{number, stored};
use crate::desk::checks::{REPOSITORIES_MAX, check_repository, too_many_repositories};
use crate::desk::{Repository, TrustRecords};
use crate::storage::StorageFuture;

impl TrustRecords for SqliteDesk {
    fn trust(&self, repository: Repository) -> StorageFuture<'_, ()> {
        Box::pin(async move {
            check_repository(&repository)?;
            let had_room = self.change(move |desk| trust(desk, &repository)).await?;
            if had_room { Ok(()) } else { Err(too_many_repositories()) }
        })
    }

    fn distrust<'a>(&'a self, path: &'a str) -> StorageFuture<'a, bool> {
        let path = path.to_owned();
        Box::pin(self.change(move |desk| {
            Ok(desk.execute("DELETE FROM repositories WHERE path = ?1", [&path])? > 0)
        }))
    }

    fn repositories(&self) -> StorageFuture<'_, Vec<Repository>> {
        Box::pin(self.read(|desk| repositories(desk)))
    }
}

/// Tells whether there was room for it.
fn trust(desk: &Connection, repository: &Repository) -> Result<bool> {
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

pub(super) fn repositories(desk: &Connection) -> Result<Vec<Repository>> {
    desk.prepare("SELECT path, mark, trusted_at FROM repositories ORDER BY path")?
        .query_map([], |row| {
            Ok(Repository { path: row.get(0)?, mark: row.get(1)?, trusted_at: number(row, 2)? })
        })?
        .collect()
}
