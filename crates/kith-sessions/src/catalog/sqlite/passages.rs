//! Full-text search over messages.
//!
//! The text itself is not kept a second time: a hit names an event, and the log has its text.

use std::collections::BTreeMap;

use kith_vocab::ids::{EventId, SessionId};
use rusqlite::{Connection, OptionalExtension, Result, TransactionBehavior, params};

use super::tables::{counted, stored};
use crate::catalog::{FOUND_MAX, PASSAGE_BYTES_MAX, Passage, SearchCoverage, SearchUpdate};
use crate::words;

/// Puts all updates in one commit: a commit for each session would cost as much as its words.
pub(super) fn put(index: &mut Connection, updates: &[SearchUpdate]) -> Result<()> {
    let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for update in updates {
        put_one(&transaction, update)?;
    }
    transaction.commit()
}

fn put_one(index: &Connection, update: &SearchUpdate) -> Result<()> {
    let SearchUpdate { session_id, after, now, passages } = update;
    let session = session_id.to_string();
    let known = index
        .prepare_cached("SELECT seq FROM searched WHERE session_id = ?1")?
        .query_row([&session], |row| row.get(0).map(counted))
        .optional()?;
    if known.unwrap_or_default() != after.seq {
        return Ok(());
    }
    for Passage { event_id, text } in passages {
        let end = text.floor_char_boundary(PASSAGE_BYTES_MAX);
        let words = words::for_index(text.get(..end).unwrap_or_default());
        index
            .prepare_cached("INSERT INTO passages (session_id, event_id) VALUES (?1, ?2)")?
            .execute(params![session, event_id.to_string()])?;
        let place = index.last_insert_rowid();
        index
            .prepare_cached("INSERT INTO words (rowid, said) VALUES (?1, ?2)")?
            .execute(params![place, words])?;
    }
    index
        .prepare_cached("INSERT OR REPLACE INTO searched VALUES (?1, ?2, ?3)")?
        .execute(params![session, stored(now.seq), stored(now.log_bytes)])?;
    Ok(())
}

pub(super) fn search_coverage(
    index: &mut Connection,
) -> Result<BTreeMap<SessionId, SearchCoverage>> {
    let mut statement = index.prepare_cached("SELECT session_id, seq, log_bytes FROM searched")?;
    let mut rows = statement.query([])?;
    let mut searched = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (seq, log_bytes) = (row.get(1).map(counted)?, row.get(2).map(counted)?);
        // Only somebody else could have written an id that is none.
        if let Ok(id) = row.get::<_, String>(0)?.parse() {
            searched.insert(id, SearchCoverage { seq, log_bytes });
        }
    }
    Ok(searched)
}

pub(super) fn find(index: &mut Connection, words: &str) -> Result<Vec<(SessionId, EventId)>> {
    let mut statement = index.prepare_cached(
        "SELECT session_id, event_id FROM words JOIN passages ON place = words.rowid
         WHERE words MATCH ?1 ORDER BY event_id DESC LIMIT ?2",
    )?;
    let mut rows = statement.query(params![words, FOUND_MAX])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let ids = (row.get::<_, String>(0)?.parse(), row.get::<_, String>(1)?.parse());
        if let (Ok(session), Ok(event)) = ids {
            found.push((session, event));
        }
    }
    Ok(found)
}

pub(super) fn forget(index: &Connection, session: SessionId) -> Result<()> {
    let session = session.to_string();
    index.execute(
        "DELETE FROM words WHERE rowid IN (SELECT place FROM passages WHERE session_id = ?1)",
        [&session],
    )?;
    index.execute("DELETE FROM passages WHERE session_id = ?1", [&session])?;
    index.execute("DELETE FROM searched WHERE session_id = ?1", [&session])?;
    Ok(())
}
