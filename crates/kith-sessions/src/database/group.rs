//! Group commit: changes that wait at the same time are committed as one.
//!
//! A commit costs a sync of the disk, whatever stands in it. Changes that wait while one is under
//! way are therefore committed as one: a hundred threads cost hardly more than one. Each still
//! succeeds or fails alone, and none is acknowledged before the commit that holds it.

use rusqlite::{Connection, Error, ffi};
use tokio::sync::oneshot;

use super::{DISK_TRIES_MAX, is_retryable};

/// Maximum number of changes in one commit.
pub(super) const GROUP_CHANGES_MAX: usize = 256;

/// Whether a change must be on the disk when it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    Synced,
    /// The change can be derived again from other files, so losing it costs only time.
    Eventual,
}

/// One change that waits for its commit.
pub(super) trait Change: Send {
    fn durability(&self) -> Durability;

    /// Makes the change, or makes it again. `Err` if it failed; what it did is then undone.
    fn apply(&mut self, connection: &Connection) -> Result<(), Error>;

    /// Sends the caller the result: the change's own failure, or that of the commit.
    fn reply(self: Box<Self>, committed: Result<(), Error>);
}

pub(super) struct Pending<T, W> {
    pub(super) durability: Durability,
    pub(super) work: W,
    pub(super) result: Option<rusqlite::Result<T>>,
    pub(super) reply: oneshot::Sender<rusqlite::Result<T>>,
}

impl<T: Send, W: FnMut(&Connection) -> rusqlite::Result<T> + Send> Change for Pending<T, W> {
    fn durability(&self) -> Durability {
        self.durability
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Error> {
        let result = self.result.insert((self.work)(connection));
        result.as_ref().map(drop).map_err(copy_of)
    }

    fn reply(self: Box<Self>, committed: Result<(), Error>) {
        let answer = match (self.result, committed) {
            (Some(Err(own)), _) => Err(own),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::InvalidQuery),
        };
        // The caller may have stopped waiting; the change is made all the same.
        self.reply.send(answer).ok();
    }
}

/// Applies the changes in their order and commits them as one.
///
/// Until the commit nothing has happened, so a disk error before it leads to another attempt. After
/// a failed commit it is unknown what the disk holds, so that failure is reported.
pub(super) fn commit(connection: &Connection, mut changes: Vec<Box<dyn Change>>) {
    let must_sync = changes.iter().any(|change| change.durability() == Durability::Synced);
    let mut n_left = DISK_TRIES_MAX;
    let committed = loop {
        n_left -= 1;
        let attempt = if n_left > 0 { Attempt::MayRepeat } else { Attempt::Last };
        let applied = apply_all(connection, must_sync, &mut changes, attempt);
        let (outcome, is_over) = match applied {
            Ok(ending) => (run(connection, ending), true),
            Err(error) => {
                let is_over = attempt == Attempt::Last || !is_retryable(&error);
                (Err(error), is_over)
            }
        };
        if outcome.is_err() && !connection.is_autocommit() {
            // If it cannot be rolled back, the next `BEGIN` fails and says so.
            connection.execute_batch("ROLLBACK").ok();
        }
        if is_over {
            break outcome;
        }
    };
    for change in changes {
        change.reply(committed.as_ref().map_err(copy_of).copied());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    MayRepeat,
    /// A change that fails now fails alone.
    Last,
}

/// Begins a transaction, makes the changes, and says how it is to be ended.
fn apply_all(
    connection: &Connection,
    must_sync: bool,
    changes: &mut [Box<dyn Change>],
    attempt: Attempt,
) -> rusqlite::Result<&'static str> {
    let is_repeated = |error: &Error| attempt == Attempt::MayRepeat && is_retryable(error);
    // Outside a transaction, where alone it has an effect.
    run(
        connection,
        if must_sync { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" },
    )?;
    // The lock is taken at once: two deliveries of one message must not both find no row.
    run(connection, "BEGIN IMMEDIATE")?;
    if let [alone] = changes {
        return match alone.apply(connection) {
            Ok(()) => Ok("COMMIT"),
            Err(error) if is_repeated(&error) => Err(error),
            Err(_) => Ok("ROLLBACK"),
        };
    }
    for change in changes {
        run(connection, "SAVEPOINT change")?;
        match change.apply(connection) {
            Ok(()) => (),
            Err(error) if is_repeated(&error) => return Err(error),
            Err(_) => run(connection, "ROLLBACK TO change")?,
        }
        run(connection, "RELEASE change")?;
    }
    Ok("COMMIT")
}

/// Statements of every commit; compiling them anew would cost more than running them.
fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.raw_execute().map(drop)
}

/// A copy of the failure, one for each change that it concerns.
fn copy_of(error: &Error) -> Error {
    match error {
        Error::SqliteFailure(code, message) => Error::SqliteFailure(*code, message.clone()),
        other => Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(other.to_string())),
    }
}
