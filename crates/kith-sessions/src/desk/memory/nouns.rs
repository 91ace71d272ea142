//! The nouns of a desk, kept in memory.

use std::cmp::Reverse;

use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;

use super::{MemoryDesk, Tables};
use crate::desk::WakeupReason;
use crate::desk::checks::{
    REPOSITORIES_MAX, check_message, check_repository, too_many_repositories,
};
use crate::desk::{
    AcceptOutcome, Inbox, InboxRow, Repository, RowOutcome, RowStatus, RowTarget, ThreadRecords,
    ThreadRow, TrustRecords, Wakeup, WakeupRecords,
};
use crate::line::LogHead;
use crate::storage::StorageFuture;

impl Inbox for MemoryDesk {
    fn accept<'a>(
        &'a self,
        event: &'a IngressEvent,
        target: RowTarget,
        fresh: SessionId,
        now: u64,
    ) -> StorageFuture<'a, AcceptOutcome> {
        let found_generation = self.0.found_generation;
        self.change_now(|tables| {
            check_message(event)?;
            tables.accept(event, (target, fresh), now, found_generation)
        })
    }

    fn open_rows(&self, session: SessionId) -> StorageFuture<'_, Vec<InboxRow>> {
        self.read(|tables| tables.open_rows(session))
    }

    fn row<'a>(&'a self, key: &'a str) -> StorageFuture<'a, Option<RowStatus>> {
        self.read(|tables| tables.status(key))
    }

    fn sessions_with_open_rows(&self) -> StorageFuture<'_, Vec<SessionId>> {
        self.read(Tables::sessions_with_open_rows)
    }

    fn close(
        &self,
        rows: Vec<(String, RowOutcome)>,
        session: SessionId,
        head: LogHead,
        now: u64,
    ) -> StorageFuture<'_, ()> {
        self.change_later(|tables| {
            tables.close_rows(rows, session, now);
            tables.set_head(session, head);
            tables.touch_threads_of(session, now);
        })
    }

    fn prune(&self, closed_before: u64) -> StorageFuture<'_, ()> {
        self.change_later(|tables| tables.prune(closed_before))
    }
}

impl ThreadRecords for MemoryDesk {
    fn current_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<SessionId>> {
        let key = (agent_id.to_owned(), thread_id.clone());
        self.read(|tables| tables.threads.get(&key).map(|it| it.session_id))
    }

    fn thread_audience<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<Audience>> {
        let key = (agent_id.to_owned(), thread_id.clone());
        self.read(|tables| tables.threads.get(&key).map(|it| it.audience))
    }

    fn place_session(&self, thread: ThreadRow, head: Option<LogHead>) -> StorageFuture<'_, ()> {
        self.change_now(|tables| {
            let ThreadRow { agent_id, thread_id, session_id, audience, updated_at } = thread;
            tables.set_current((agent_id, thread_id), session_id, audience, updated_at);
            if let Some(head) = head {
                tables.set_head(session_id, head);
            }
            Ok(())
        })
    }

    fn replace_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
        sessions: (SessionId, SessionId),
        held: Vec<String>,
        now: u64,
    ) -> StorageFuture<'a, ()> {
        let thread = (agent_id.to_owned(), thread_id.clone());
        self.change_now(|tables| {
            tables.replace_session(&thread, sessions, held, now);
            Ok(())
        })
    }

    fn threads(&self) -> StorageFuture<'_, Vec<ThreadRow>> {
        self.read(|tables| {
            // Stable: those of one time stay in the order of agents and threads.
            let mut threads: Vec<ThreadRow> = tables.threads.values().cloned().collect();
            threads.sort_by_key(|thread| Reverse(thread.updated_at));
            threads
        })
    }

    fn head(&self, session: SessionId) -> StorageFuture<'_, Option<LogHead>> {
        self.read(|tables| tables.heads.get(&session).copied())
    }

    fn heads(&self) -> StorageFuture<'_, Vec<(SessionId, LogHead)>> {
        self.read(|tables| tables.heads.iter().map(|(id, head)| (*id, *head)).collect())
    }

    fn forget_session(&self, session: SessionId) -> StorageFuture<'_, bool> {
        self.change_now(|tables| Ok(tables.forget_session(session)))
    }
}

impl WakeupRecords for MemoryDesk {
    fn set_wakeup(&self, wakeup: Wakeup) -> StorageFuture<'_, ()> {
        let is_durable = wakeup.reason == WakeupReason::SessionRetry;
        let set = |tables: &mut Tables| {
            tables.wakeups.insert(wakeup.key.clone(), wakeup);
        };
        if is_durable {
            return self.change_now(|tables| {
                set(tables);
                Ok(())
            });
        }
        self.change_later(set)
    }

    fn remove_wakeup<'a>(&'a self, key: &'a str) -> StorageFuture<'a, ()> {
        self.change_later(|tables| {
            tables.wakeups.remove(key);
        })
    }

    fn next_wakeup(&self) -> StorageFuture<'_, Option<Wakeup>> {
        self.read(|tables| tables.wakeups_by_time().first().copied().cloned())
    }

    fn wakeups(&self) -> StorageFuture<'_, Vec<Wakeup>> {
        self.read(|tables| tables.wakeups_by_time().into_iter().cloned().collect())
    }
}

impl TrustRecords for MemoryDesk {
    fn trust(&self, repository: Repository) -> StorageFuture<'_, ()> {
        self.change_now(|tables| {
            check_repository(&repository)?;
            let is_new = !tables.repositories.contains_key(&repository.path);
            if is_new && tables.repositories.len() as u64 >= REPOSITORIES_MAX {
                return Err(too_many_repositories());
            }
            tables.repositories.insert(repository.path.clone(), repository);
            Ok(())
        })
    }

    fn distrust<'a>(&'a self, path: &'a str) -> StorageFuture<'a, bool> {
        self.change_now(|tables| Ok(tables.repositories.remove(path).is_some()))
    }

    fn repositories(&self) -> StorageFuture<'_, Vec<Repository>> {
        self.read(|tables| tables.repositories.values().cloned().collect())
    }
}
