//! Which sessions are open, and which have a driver.
//!
//! Mail is submitted under the one lock here, which also starts a driver if there is none; a driver
//! ends under the same lock, and only if its mailbox is empty. So no mail is lost in between.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kith_vocab::ids::SessionId;
use tokio::sync::watch;

use crate::mailbox::{Mail, Mailbox};
use crate::permits::TurnPermit;
use crate::session::Session;

/// Sessions that stay open between their turns; beyond that, the least recently used is closed. A
/// closed one costs neither memory nor a descriptor, and the next message opens it again.
pub const OPEN_SESSIONS_MAX: usize = 256;
/// Maximum total size of the logs of these sessions.
pub const OPEN_SESSION_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// A session that failed is opened again after 1, 2, 4 … seconds, but at least this often.
pub const REOPEN_MS_MAX: u64 = 60_000;
const REOPEN_MS_FIRST: u64 = 1_000;
/// Sessions whose failures are remembered.
const FAILURES_MAX: usize = 1024;

/// An open session that has no driver.
pub(crate) struct IdleSession {
    pub(crate) session: Session,
    /// Kept while a turn waits for a person or for a time far ahead.
    pub(crate) permit: Option<TurnPermit>,
}

enum SessionEntry {
    Running(Mailbox),
    Idle {
        idle: Box<IdleSession>,
        used: u64,
        n_bytes: u64,
    },
    /// It is being removed or replaced.
    Reserved,
}

#[derive(Default)]
struct SessionTable {
    entries: BTreeMap<SessionId, SessionEntry>,
    n_used: u64,
    /// Number of idle entries, and the total size of their logs.
    n_idle: usize,
    n_idle_bytes: u64,
    failures: BTreeMap<SessionId, Failures>,
}

/// How often in a row the driver of a session has failed.
#[derive(Clone, Copy, Default)]
struct Failures {
    n: u32,
    /// A task waits to open it again.
    is_waited_for: bool,
}

pub(crate) struct Registry {
    sessions: Mutex<SessionTable>,
    n_running: watch::Sender<usize>,
}

/// Why something could not be submitted.
pub(crate) enum SubmitError {
    /// Too many commands wait.
    Full,
    /// The session is being removed.
    Reserved,
}

/// A driver that has to be started.
pub(crate) struct NewDriver {
    pub(crate) mailbox: Mailbox,
    pub(crate) idle: Option<Box<IdleSession>>,
}

impl Registry {
    pub(crate) fn new() -> Registry {
        Registry { sessions: Mutex::default(), n_running: watch::Sender::new(0) }
    }

    /// Announces rows, or hands a command over. The caller starts the driver that is returned.
    pub(crate) fn submit(
        &self,
        id: SessionId,
        mail: Option<Mail>,
    ) -> Result<Option<NewDriver>, SubmitError> {
        let mut sessions = self.lock();
        let idle = match sessions.remove(id) {
            Some(SessionEntry::Running(mailbox)) => {
                let sent = deliver(&mailbox, mail);
                sessions.entries.insert(id, SessionEntry::Running(mailbox));
                return sent.map(|()| None);
            }
            Some(SessionEntry::Reserved) => {
                sessions.entries.insert(id, SessionEntry::Reserved);
                return Err(SubmitError::Reserved);
            }
            Some(SessionEntry::Idle { idle, .. }) => Some(idle),
            None => None,
        };
        let mailbox = Mailbox::default();
        let sent = deliver(&mailbox, mail);
        sessions.entries.insert(id, SessionEntry::Running(mailbox.clone()));
        self.n_running.send_modify(|n| *n += 1);
        sent.map(|()| Some(NewDriver { mailbox, idle }))
    }

    /// Puts the session of a driver that has nothing to do among the open ones. Gives it back if
    /// something has come meanwhile.
    pub(crate) fn rest(
        &self,
        mailbox: &Mailbox,
        idle: Box<IdleSession>,
        close: &dyn Fn(SessionId),
    ) -> Result<(), Box<IdleSession>> {
        let mut sessions = self.lock();
        if !mailbox.is_empty() {
            return Err(idle);
        }
        let id = idle.session.id();
        sessions.failures.remove(&id);
        sessions.n_used += 1;
        let (used, n_bytes) = (sessions.n_used, idle.session.weight());
        sessions.n_idle += 1;
        sessions.n_idle_bytes += n_bytes;
        sessions.entries.insert(id, SessionEntry::Idle { idle, used, n_bytes });
        for evicted in sessions.evict() {
            close(evicted);
        }
        self.n_running.send_modify(|n| *n -= 1);
        Ok(())
    }

    /// Ends a driver whose session is not kept open, and closes the session. False if something has
    /// come meanwhile.
    pub(crate) fn close(
        &self,
        id: SessionId,
        mailbox: &Mailbox,
        close: &dyn Fn(SessionId),
    ) -> bool {
        let mut sessions = self.lock();
        if !mailbox.is_empty() {
            return false;
        }
        // Under the lock: the next driver opens it again.
        close(id);
        sessions.entries.remove(&id);
        self.n_running.send_modify(|n| *n -= 1);
        true
    }

    /// Ends a driver whose session goes on elsewhere. Its commands are answered by dropping them.
    /// True if rows were announced that the driver has not read.
    pub(crate) fn abandon(&self, id: SessionId) -> bool {
        let mut sessions = self.lock();
        let has_rows = match sessions.entries.get(&id) {
            Some(SessionEntry::Running(mailbox)) => mailbox.take_rows_flag(),
            _ => false,
        };
        self.end_driver(&mut sessions, id);
        has_rows
    }

    /// Ends a driver that failed. `tell` lets its followers know; those whose commands are dropped
    /// find out by that. Returns how long to wait before the session is opened again; `None` if
    /// another task waits for that already.
    pub(crate) fn fail(&self, id: SessionId, tell: impl FnOnce()) -> Option<u64> {
        let mut sessions = self.lock();
        tell();
        self.end_driver(&mut sessions, id);
        if sessions.failures.len() >= FAILURES_MAX {
            // Bounded: clients may name sessions that do not exist.
            sessions.failures.pop_first();
        }
        let failures = sessions.failures.entry(id).or_default();
        let wait = (REOPEN_MS_FIRST << failures.n.min(10)).min(REOPEN_MS_MAX);
        failures.n += 1;
        (!std::mem::replace(&mut failures.is_waited_for, true)).then_some(wait)
    }

    /// The wait for a session that failed is over.
    pub(crate) fn end_wait(&self, id: SessionId) {
        if let Some(failures) = self.lock().failures.get_mut(&id) {
            failures.is_waited_for = false;
        }
    }

    fn end_driver(&self, sessions: &mut SessionTable, id: SessionId) {
        if let Some(SessionEntry::Running(mailbox)) = sessions.entries.remove(&id) {
            mailbox.clear();
        }
        self.n_running.send_modify(|n| *n -= 1);
    }

    /// Keeps drivers away from a session. `None` if it has one.
    pub(crate) fn reserve(&self, id: SessionId) -> Option<Reservation<'_>> {
        let mut sessions = self.lock();
        if let Some(SessionEntry::Running(_) | SessionEntry::Reserved) = sessions.entries.get(&id) {
            return None;
        }
        sessions.remove(id);
        sessions.entries.insert(id, SessionEntry::Reserved);
        Some(Reservation { registry: self, id })
    }

    /// Waits until no session has a driver.
    pub(crate) async fn until_rest(&self) {
        // The sender is ours, so it cannot be gone.
        self.n_running.subscribe().wait_for(|n| *n == 0).await.ok();
    }

    pub(crate) fn n_running(&self) -> usize {
        *self.n_running.borrow()
    }

    /// Sessions in memory, with or without a driver.
    pub(crate) fn n_open(&self) -> usize {
        let sessions = self.lock();
        let is_open = |it: &&SessionEntry| !matches!(it, SessionEntry::Reserved);
        sessions.entries.values().filter(is_open).count()
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn deliver(mailbox: &Mailbox, mail: Option<Mail>) -> Result<(), SubmitError> {
    match mail {
        None => {
            mailbox.announce_rows();
            Ok(())
        }
        Some(mail) => mailbox.send(mail).then_some(()).ok_or(SubmitError::Full),
    }
}

impl SessionTable {
    fn remove(&mut self, id: SessionId) -> Option<SessionEntry> {
        let entry = self.entries.remove(&id);
        if let Some(SessionEntry::Idle { n_bytes, .. }) = &entry {
            self.n_idle -= 1;
            self.n_idle_bytes -= n_bytes;
        }
        entry
    }

    /// Takes out the least recently used sessions that are too many. One whose turn waits keeps its
    /// place: others of its thread wait for it.
    fn evict(&mut self) -> Vec<SessionId> {
        let mut evicted = Vec::new();
        while self.n_idle > OPEN_SESSIONS_MAX || self.n_idle_bytes > OPEN_SESSION_BYTES_MAX {
            let idle = self.entries.iter().filter_map(|(id, entry)| match entry {
                SessionEntry::Idle { idle, used, .. } if idle.permit.is_none() => {
                    Some((*used, *id))
                }
                _ => None,
            });
            let Some((_, id)) = idle.min() else { break };
            self.remove(id);
            evicted.push(id);
        }
        evicted
    }
}

/// Keeps drivers away from a session until it is dropped.
pub(crate) struct Reservation<'a> {
    registry: &'a Registry,
    id: SessionId,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.registry.lock().remove(self.id);
    }
}

#[cfg(test)]
mod tests;
