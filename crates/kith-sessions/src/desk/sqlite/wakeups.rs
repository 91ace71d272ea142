//! When sessions and threads are to be looked at again.

use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::SqliteDesk;
use super::columns::{number, read_word, stored, unreadable, word};
use crate::desk::{Wakeup, WakeupReason, WakeupRecords};
use crate::storage::StorageFuture;

impl WakeupRecords for SqliteDesk {
    fn set_wakeup(&self, wakeup: Wakeup) -> StorageFuture<'_, ()> {
        if wakeup.reason == WakeupReason::SessionRetry {
            return Box::pin(
                async move { self.change(move |desk| set(desk, &wakeup)).await.map(drop) },
            );
        }
        Box::pin(self.change_later(move |desk| set(desk, &wakeup)))
    }

    fn remove_wakeup<'a>(&'a self, key: &'a str) -> StorageFuture<'a, ()> {
        let key = key.to_owned();
        Box::pin(self.change_later(move |desk| {
            desk.prepare_cached("DELETE FROM wakeups WHERE key = ?1")?.execute([&key])
        }))
    }

    fn next_wakeup(&self) -> StorageFuture<'_, Option<Wakeup>> {
        Box::pin(self.read(|desk| {
            desk.prepare_cached("SELECT * FROM wakeups ORDER BY at, key LIMIT 1")?
                .query_row([], wakeup)
                .optional()
        }))
    }

    fn wakeups(&self) -> StorageFuture<'_, Vec<Wakeup>> {
        Box::pin(self.read(|desk| all(desk)))
    }
}

pub(super) fn all(desk: &Connection) -> Result<Vec<Wakeup>> {
    let mut statement = desk.prepare_cached("SELECT * FROM wakeups ORDER BY at, key")?;
    statement.query_map([], wakeup)?.collect()
}

fn set(desk: &Connection, wakeup: &Wakeup) -> Result<()> {
    let Wakeup { key, session_id, agent_thread, at, reason } = wakeup;
    let (agent_id, thread_id) = agent_thread.as_ref().map(|(a, t)| (a, t.as_str())).unzip();
    desk.prepare_cached("INSERT OR REPLACE INTO wakeups VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![
            key,
            session_id.map(|it| it.to_string()),
            agent_id,
            thread_id,
            stored(*at)?,
            word(reason)?,
        ])?;
    Ok(())
}

fn wakeup(row: &Row<'_>) -> Result<Wakeup> {
    let maybe = |column| row.get::<_, Option<String>>(column);
    let bad = |column| move |error: kith_vocab::ids::IdError| unreadable(column, error);
    let session_id = maybe(1)?.map(|it| it.parse().map_err(bad(1))).transpose()?;
    let thread_id = maybe(3)?.map(|it| it.parse().map_err(bad(3))).transpose()?;
    Ok(Wakeup {
        key: row.get(0)?,
        session_id,
        agent_thread: maybe(2)?.zip(thread_id),
        at: number(row, 4)?,
        reason: read_word(row, 5)?,
    })
}
