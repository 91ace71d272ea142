//! Changes that are written together.
//!
//! A commit costs a sync of the disk, whatever stands in it. Changes that wait while one is under
//! way are therefore committed as one: a hundred threads cost hardly more than one. Each still
//! succeeds or fails alone, and none is acknowledged before the commit that holds it.

use rusqlite::{Connection, Error, ffi};
use tokio::sync::oneshot;

/// So many changes are committed at once.
pub(super) const GROUP_CHANGES_MAX: usize = 256;

/// Whether a change must be on the disk when it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    Synced,
    /// It follows from what is on the disk elsewhere: losing it costs time, not truth.
    Eventual,
}

/// One change, from being asked for to being answered.
pub(super) trait Change: Send {
    fn durability(&self) -> Durability;

    /// False if it failed; what it did is then undone.
    fn apply(&mut self, connection: &Connection) -> bool;

    /// Answers whoever asked: with its own failure, or with what became of the commit.
    fn settle(self: Box<Self>, committed: Result<(), Error>);
}

pub(super) struct Pending<T, W> {
    pub(super) durability: Durability,
    pub(super) work: Option<W>,
    pub(super) result: Option<rusqlite::Result<T>>,
    pub(super) reply: oneshot::Sender<rusqlite::Result<T>>,
}

impl<T: Send, W: FnOnce(&Connection) -> rusqlite::Result<T> + Send> Change for Pending<T, W> {
    fn durability(&self) -> Durability {
        self.durability
    }

    fn apply(&mut self, connection: &Connection) -> bool {
        self.result = self.work.take().map(|work| work(connection));
        matches!(self.result, Some(Ok(_)))
    }

    fn settle(self: Box<Self>, committed: Result<(), Error>) {
        let answer = match (self.result, committed) {
            (Some(Err(own)), _) => Err(own),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::InvalidQuery),
        };
        // Whoever asked may have stopped waiting; what was done is done all the same.
        self.reply.send(answer).ok();
    }
}

/// Applies the changes in their order and commits them as one.
pub(super) fn commit(connection: &Connection, mut changes: Vec<Box<dyn Change>>) {
    let must_sync = changes.iter().any(|change| change.durability() == Durability::Synced);
    let committed = transact(connection, must_sync, &mut changes);
    if committed.is_err() && !connection.is_autocommit() {
        // If it cannot be rolled back, the next `BEGIN` fails and says so.
        connection.execute_batch("ROLLBACK").ok();
    }
    for change in changes {
        change.settle(committed.as_ref().map_err(again).copied());
    }
}

fn transact(
    connection: &Connection,
    must_sync: bool,
    changes: &mut [Box<dyn Change>],
) -> rusqlite::Result<()> {
    // Outside a transaction, where alone it has an effect.
    run(
        connection,
        if must_sync { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" },
    )?;
    // The lock is taken at once: two deliveries of one message must not both find no row.
    run(connection, "BEGIN IMMEDIATE")?;
    if let [alone] = changes {
        let how = if alone.apply(connection) { "COMMIT" } else { "ROLLBACK" };
        return run(connection, how);
    }
    for change in changes {
        run(connection, "SAVEPOINT change")?;
        if !change.apply(connection) {
            run(connection, "ROLLBACK TO change")?;
        }
        run(connection, "RELEASE change")?;
    }
    run(connection, "COMMIT")
}

/// Statements of every commit; compiling them anew would cost more than running them.
fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.raw_execute().map(drop)
}

/// The same failure, for each of those it concerns.
fn again(error: &Error) -> Error {
    match error {
        Error::SqliteFailure(code, message) => Error::SqliteFailure(*code, message.clone()),
        other => Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(other.to_string())),
    }
}
