//! What was written while untrusted text was on the path: contents, and the times of commands.

use rusqlite::{Connection, Result, params};

use super::SqliteDesk;
use super::columns::{number, stored};
use crate::desk::checks::{
    COMMAND_TIMES_MAX, TAINTED_CONTENTS_MAX, check_command, check_tainted, too_many_commands,
    too_many_tainted,
};
use crate::desk::{CommandTime, TaintRecords, TaintedContent};
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

    fn note_command(&self, time: CommandTime) -> StorageFuture<'_, ()> {
        Box::pin(async move {
            check_command(&time)?;
            let had_room = self.change(move |desk| note_time(desk, &time)).await?;
            if had_room { Ok(()) } else { Err(too_many_commands()) }
        })
    }

    fn command_times(&self) -> StorageFuture<'_, Vec<CommandTime>> {
        Box::pin(self.read(|desk| times(desk)))
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

/// Tells whether there was room for it. As with contents, none is dropped.
fn note_time(desk: &Connection, CommandTime { root, began, ended }: &CommandTime) -> Result<bool> {
    let began = stored(*began)?;
    let n_others = desk.query_row(
        "SELECT count(*) FROM command_times WHERE root <> ?1 OR began <> ?2",
        params![root, began],
        |row| number(row, 0),
    )?;
    if n_others >= COMMAND_TIMES_MAX {
        return Ok(false);
    }
    desk.execute(
        "INSERT INTO command_times (root, began, ended) VALUES (?1, ?2, ?3)
         ON CONFLICT (root, began) DO UPDATE SET ended = excluded.ended",
        params![root, began, ended.map(stored).transpose()?],
    )?;
    Ok(true)
}

fn times(desk: &Connection) -> Result<Vec<CommandTime>> {
    desk.prepare("SELECT root, began, ended FROM command_times ORDER BY root, began")?
        .query_map([], |row| {
            let is_open = row.get::<_, Option<i64>>(2)?.is_none();
            let ended = if is_open { None } else { Some(number(row, 2)?) };
            Ok(CommandTime { root: row.get(0)?, began: number(row, 1)?, ended })
        })?
        .collect()
}
