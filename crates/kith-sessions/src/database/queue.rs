//! Work that waits for a connection, and who does it.
//!
//! Whoever finds nobody at work does what waits, on its own thread: a thread that only did this would
//! have to be woken, and would have to wake whoever waits for it, for what mostly takes less time than
//! that.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_vocab::blocking::{blocking, briefly};
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::group::{self, Change, GROUP_CHANGES_MAX};
use super::{Durability, Job, WorkerStopped};

/// Jobs that wait for a database; further callers wait for a free place.
const DATABASE_QUEUE_MAX: usize = 1024;
/// How much one caller does before a thread made for waiting goes on with what others brought meanwhile.
const ROUNDS_MAX: usize = 4;

pub(crate) struct ConnectionQueue {
    places: Arc<Semaphore>,
    waiting: Mutex<WaitingJobs>,
    /// Locked only by whoever is at work. `None` after work that panicked.
    connection: Mutex<Option<Connection>>,
}

#[derive(Default)]
struct WaitingJobs {
    jobs: VecDeque<(Job, OwnedSemaphorePermit)>,
    /// Somebody is at work, and looks at what waits before ending.
    is_worked_on: bool,
}

/// What is done at once.
enum Round {
    Job(Job),
    Changes(Vec<Box<dyn Change>>),
}

impl ConnectionQueue {
    pub(super) fn new(connection: Connection) -> ConnectionQueue {
        ConnectionQueue {
            places: Arc::new(Semaphore::new(DATABASE_QUEUE_MAX)),
            waiting: Mutex::default(),
            connection: Mutex::new(Some(connection)),
        }
    }

    /// Has the job done: by whoever is at work, or here and now.
    pub(super) async fn submit(self: &Arc<Self>, job: Job) -> Result<(), WorkerStopped> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| WorkerStopped)?;
        {
            let mut waiting = self.waiting();
            waiting.jobs.push_back((job, place));
            if std::mem::replace(&mut waiting.is_worked_on, true) {
                return Ok(());
            }
        }
        for _ in 0..ROUNDS_MAX {
            if !self.work() {
                return Ok(());
            }
        }
        let queue = Arc::clone(self);
        let rest = move || while queue.work() {};
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(rest)),
            Err(_) => rest(),
        }
        Ok(())
    }

    /// Does what waits first; false if nothing does.
    fn work(&self) -> bool {
        let Some(round) = self.next_round() else { return false };
        let mut held = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a connection the work is dropped, which tells whoever waits for it.
        let Some(connection) = held.as_mut() else { return true };
        let done = catch_unwind(AssertUnwindSafe(|| perform(round, connection)));
        if done.is_err() {
            *held = None;
        }
        true
    }

    fn next_round(&self) -> Option<Round> {
        let mut waiting = self.waiting();
        let Some((job, _place)) = waiting.jobs.pop_front() else {
            waiting.is_worked_on = false;
            return None;
        };
        let Job::Change(change) = job else { return Some(Round::Job(job)) };
        let mut changes = vec![change];
        while changes.len() < GROUP_CHANGES_MAX {
            match waiting.jobs.pop_front() {
                Some((Job::Change(change), _place)) => changes.push(change),
                Some(other) => {
                    waiting.jobs.push_front(other);
                    break;
                }
                None => break,
            }
        }
        Some(Round::Changes(changes))
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingJobs> {
        // It is never left half-changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn perform(round: Round, connection: &mut Connection) {
    match round {
        // Only a sync is waited for.
        Round::Changes(changes) if changes.iter().all(|it| is_eventual(&**it)) => {
            group::commit(connection, changes);
        }
        Round::Changes(changes) => briefly(|| group::commit(connection, changes)),
        Round::Job(Job::Read(work)) => work(connection),
        Round::Job(Job::Alone(work)) => blocking(|| work(connection)),
        Round::Job(Job::Change(change)) => group::commit(connection, vec![change]),
    }
}

fn is_eventual(change: &dyn Change) -> bool {
    change.durability() == Durability::Eventual
}

impl Drop for ConnectionQueue {
    /// What was asked for and not waited for is done before the file is closed.
    fn drop(&mut self) {
        while self.work() {}
    }
}

impl fmt::Debug for ConnectionQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionQueue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
