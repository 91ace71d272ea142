//! Contents that were written while untrusted text was on the path.

use rusqlite::{Connection, Result, params};

use super::SqliteDesk;
use super::columns::{number, stored};
use crate::desk::checks::{TAINTED_CONTENTS_MAX, check_tainted, too_many_tainted};
use crate::desk::{TaintRecords, TaintedContent};
use crate::storage::StorageFuture;

impl TaintRecords for SqliteDesk {
    fn note_tainted(&self, content: TaintedContent) -> StorageFuture<'_, ()> {
        Box::pin(async move {
            check_tainted(&content)?;
            let had_room = self.change(move |desk| note(desk, &content)).await?;
            if had_room { Ok(()) } else { Err(too_many_tainted()) }
        })
    }

    fn tainted_contents(&self) -> StorageFuture<'_, Vec<TaintedContent>> {
        Box::pin(self.read(|desk| contents(desk)))
    }
}

/// Tells whether there was room for it. None is dropped for it: a content that is forgotten would be
/// trusted again.
fn note(desk: &Connection, content: &TaintedContent) -> Result<bool> {
    let TaintedContent { sha256, bytes, noted_at } = content;
    let n_others = desk.query_row(
        "SELECT count(*) FROM tainted_contents WHERE sha256 <> ?1",
        [sha256],
        |row| number(row, 0),
    )?;
    if n_others >= TAINTED_CONTENTS_MAX {
        return Ok(false);
    }
    desk.execute(
        "INSERT INTO tainted_contents (sha256, bytes, noted_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (sha256) DO NOTHING",
        params![sha256, stored(*bytes)?, stored(*noted_at)?],
    )?;
    Ok(true)
}

pub(super) fn contents(desk: &Connection) -> Result<Vec<TaintedContent>> {
    desk.prepare("SELECT sha256, bytes, noted_at FROM tainted_contents ORDER BY sha256")?
        .query_map([], |row| {
            let (sha256, bytes) = (row.get(0)?, number(row, 1)?);
            Ok(TaintedContent { sha256, bytes, noted_at: number(row, 2)? })
        })?
        .collect()
}
