//! Standing approvals, each for one agent in one workspace.

use kith_vocab::event::calls::Grant;
use rusqlite::{Connection, Result, Row, params};

use super::SqliteDesk;
use super::columns::{number, stored, unreadable};
use crate::desk::checks::{GRANTS_MAX, too_many_grants};
use crate::desk::{GrantRecords, GrantRow};
use crate::storage::StorageFuture;

impl GrantRecords for SqliteDesk {
    fn add_grant(&self, row: GrantRow) -> StorageFuture<'_, ()> {
        Box::pin(async move {
            let had_room = self.change(move |desk| add(desk, &row)).await?;
            if had_room { Ok(()) } else { Err(too_many_grants()) }
        })
    }

    fn remove_grant<'a>(&'a self, grant_id: &'a str) -> StorageFuture<'a, bool> {
        let id = grant_id.to_owned();
        Box::pin(self.change(move |desk| {
            Ok(desk.execute("DELETE FROM grants WHERE grant_id = ?1", [&id])? > 0)
        }))
    }

    fn grants(&self, now: u64) -> StorageFuture<'_, Vec<GrantRow>> {
        Box::pin(self.read(move |desk| {
            let rows = all(desk)?;
            Ok(rows.into_iter().filter(|row| row.grant.expires_at > now).collect())
        }))
    }
}

/// Tells whether there was room for it. Those that have expired make room.
fn add(desk: &Connection, row: &GrantRow) -> Result<bool> {
    let GrantRow { agent_id, workspace, granted_by, granted_at, grant } = row;
    desk.execute("DELETE FROM grants WHERE expires_at <= ?1", [stored(*granted_at)?])?;
    let n_others = desk.query_row(
        "SELECT count(*) FROM grants WHERE grant_id <> ?1",
        [&grant.grant_id],
        |row| number(row, 0),
    )?;
    if n_others >= GRANTS_MAX {
        return Ok(false);
    }
    let json = serde_json::to_string(grant)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    desk.execute(
        "INSERT OR REPLACE INTO grants VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            grant.grant_id,
            agent_id,
            workspace,
            json,
            granted_by,
            stored(*granted_at)?,
            stored(grant.expires_at)?
        ],
    )?;
    Ok(true)
}

/// All of them, also expired ones, in the order in which they were given.
pub(super) fn all(desk: &Connection) -> Result<Vec<GrantRow>> {
    desk.prepare("SELECT * FROM grants ORDER BY granted_at, grant_id")?
        .query_map([], grant_row)?
        .collect()
}

fn grant_row(row: &Row<'_>) -> Result<GrantRow> {
    let json: String = row.get(3)?;
    let grant: Grant = serde_json::from_str(&json).map_err(|error| unreadable(3, error))?;
    Ok(GrantRow {
        agent_id: row.get(1)?,
        workspace: row.get(2)?,
        granted_by: row.get(4)?,
        granted_at: number(row, 5)?,
        grant,
    })
}
