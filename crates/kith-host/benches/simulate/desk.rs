//! The desk in memory, watched.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use kith_engine::engine::Engine;

use kith_sessions::desk::{
    AcceptOutcome, CommandTime, Desk, GrantRecords, GrantRow, Inbox, InboxRow, MemoryDesk,
    Repository, RowOutcome, RowStatus, RowTarget, SqliteDesk, TaintRecords, TaintedContent,
    ThreadRecords, ThreadRow, TrustRecords, Wakeup, WakeupReason, WakeupRecords,
};
use kith_sessions::line::LogHead;
use kith_sessions::storage::{StorageError, StorageErrorKind, StorageFuture};
use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;

use super::bug::Bug;
use super::house::now;
use super::journal::short;
use super::world::World;

pub(crate) struct SimDesk {
    pub(crate) inner: MemoryDesk,
    pub(crate) world: Arc<World>,
    /// A second engine that drives the same sessions: one of the seeded bugs.
    pub(crate) double: OnceLock<Engine>,
}

impl SimDesk {
    /// The message is on the disk: from now on it must be answered.
    fn accepted(&self, event: &IngressEvent, accepted: &AcceptOutcome) {
        let mut world = self.world.lock();
        if accepted.status.is_open() {
            world.oracle.accepted.insert(event.key.clone(), accepted.session_id);
        }
        if accepted.first {
            world.tally.messages += 1;
        } else {
            world.tally.redeliveries += 1;
        }
        world.note(format!("{} accepted for {}", event.key, short(accepted.session_id)));
        drop(world);
        if let Some(double) = self.double.get() {
            double.wake(accepted.session_id);
        }
    }

    /// A change that nobody waits for, so nobody is told if it fails.
    fn later<'a>(
        &'a self,
        work: impl FnOnce(&'a SqliteDesk) -> StorageFuture<'a, ()> + Send + 'a,
    ) -> StorageFuture<'a, ()> {
        Box::pin(async move {
            self.world.step().await;
            work(&self.inner).await
        })
    }

    /// A change that is waited for: the disk may refuse it.
    fn change<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&'a SqliteDesk) -> StorageFuture<'a, T> + Send + 'a,
    ) -> StorageFuture<'a, T> {
        Box::pin(async move {
            self.world.step().await;
            self.commit_fault()?;
            self.call(work).await
        })
    }

    fn commit_fault(&self) -> Result<(), StorageError> {
        let mut world = self.world.lock();
        let rate = world.plan.desk_faults;
        if world.chance.per_mille(rate) {
            world.tally.disk_faults += 1;
            world.note("the desk cannot be written".to_owned());
            let message = "the simulation lets the desk fail";
            return Err(StorageError::new(StorageErrorKind::Full, message));
        }
        Ok(())
    }

    /// One call: a step before it, and one after it, so that a kill may come between.
    fn call<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&'a SqliteDesk) -> StorageFuture<'a, T> + Send + 'a,
    ) -> StorageFuture<'a, T> {
        Box::pin(async move {
            self.world.step().await;
            self.fault()?;
            let answer = work(&self.inner).await;
            self.world.step().await;
            answer
        })
    }

    fn fault(&self) -> Result<(), StorageError> {
        let mut world = self.world.lock();
        let rate = world.plan.read_faults;
        if world.chance.per_mille(rate) {
            world.tally.disk_faults += 1;
            world.note("the desk cannot be asked".to_owned());
            let message = "the simulation lets the desk fail";
            return Err(StorageError::new(StorageErrorKind::Unavailable, message));
        }
        Ok(())
    }

    /// Nobody is told that a change was lost which nobody waits for.
    fn loses_change(&self) -> bool {
        let mut world = self.world.lock();
        let rate = world.plan.desk_faults;
        let is_lost = world.chance.per_mille(rate);
        if is_lost {
            world.tally.disk_faults += 1;
            world.note("the desk loses what it was told".to_owned());
        }
        is_lost
    }

    fn loses_rows(&self) -> bool {
        let mut world = self.world.lock();
        world.bug == Some(Bug::LostWakeup) && world.chance.percent(25)
    }
}

impl Inbox for SimDesk {
    fn accept<'a>(
        &'a self,
        event: &'a IngressEvent,
        target: RowTarget,
        fresh: SessionId,
        now: u64,
    ) -> StorageFuture<'a, AcceptOutcome> {
        Box::pin(async move {
            let accepted = self.change(move |desk| desk.accept(event, target, fresh, now)).await?;
            self.accepted(event, &accepted);
            Ok(accepted)
        })
    }

    fn open_rows(&self, session: SessionId) -> StorageFuture<'_, Vec<InboxRow>> {
        Box::pin(async move {
            let rows = self.call(move |desk| desk.open_rows(session)).await?;
            Ok(if self.loses_rows() { Vec::new() } else { rows })
        })
    }

    fn row<'a>(&'a self, key: &'a str) -> StorageFuture<'a, Option<RowStatus>> {
        self.call(move |desk| desk.row(key))
    }

    fn sessions_with_open_rows(&self) -> StorageFuture<'_, Vec<SessionId>> {
        self.call(|desk| desk.sessions_with_open_rows())
    }

    fn close(
        &self,
        rows: Vec<(String, RowOutcome)>,
        session: SessionId,
        head: LogHead,
        now: u64,
    ) -> StorageFuture<'_, ()> {
        if self.loses_change() {
            return Box::pin(std::future::ready(Ok(())));
        }
        for (key, outcome) in &rows {
            self.world.note(format!("{key} is closed: {outcome:?}"));
        }
        self.later(move |desk| desk.close(rows, session, head, now))
    }

    fn prune(&self, closed_before: u64) -> StorageFuture<'_, ()> {
        Box::pin(async move {
            self.later(move |desk| desk.prune(closed_before)).await?;
            // Nobody delivers again what was delivered so long ago.
            let oracle = &mut self.world.lock().oracle;
            let is_kept = |key: &String| now(self.inner.row(key)).is_some();
            let accepted = std::mem::take(&mut oracle.accepted);
            let (kept, gone) = accepted.into_iter().partition(|(key, _)| is_kept(key));
            oracle.accepted = kept;
            let gone: BTreeMap<String, SessionId> = gone;
            oracle.sent.retain(|(caller, message)| {
                !gone.contains_key(&caller.message_key(&message.client_message_id))
            });
            Ok(())
        })
    }
}

impl ThreadRecords for SimDesk {
    fn current_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<SessionId>> {
        self.call(move |desk| desk.current_session(agent_id, thread_id))
    }

    fn thread_audience<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
    ) -> StorageFuture<'a, Option<Audience>> {
        self.call(move |desk| desk.thread_audience(agent_id, thread_id))
    }

    fn place_session(&self, thread: ThreadRow, head: Option<LogHead>) -> StorageFuture<'_, ()> {
        self.change(move |desk| desk.place_session(thread, head))
    }

    fn replace_session<'a>(
        &'a self,
        agent_id: &'a str,
        thread_id: &'a ThreadId,
        sessions: (SessionId, SessionId),
        held: Vec<String>,
        now: u64,
    ) -> StorageFuture<'a, ()> {
        self.change(move |desk| desk.replace_session(agent_id, thread_id, sessions, held, now))
    }

    fn threads(&self) -> StorageFuture<'_, Vec<ThreadRow>> {
        self.call(|desk| desk.threads())
    }

    fn head(&self, session: SessionId) -> StorageFuture<'_, Option<LogHead>> {
        self.call(move |desk| desk.head(session))
    }

    fn heads(&self) -> StorageFuture<'_, Vec<(SessionId, LogHead)>> {
        self.call(|desk| desk.heads())
    }

    fn forget_session(&self, session: SessionId) -> StorageFuture<'_, bool> {
        self.world.note(format!("the desk forgets {}", short(session)));
        self.change(move |desk| desk.forget_session(session))
    }
}

impl WakeupRecords for SimDesk {
    fn set_wakeup(&self, wakeup: Wakeup) -> StorageFuture<'_, ()> {
        if wakeup.reason == WakeupReason::SessionRetry {
            return self.change(move |desk| desk.set_wakeup(wakeup));
        }
        self.later(move |desk| desk.set_wakeup(wakeup))
    }

    fn remove_wakeup<'a>(&'a self, key: &'a str) -> StorageFuture<'a, ()> {
        self.later(move |desk| desk.remove_wakeup(key))
    }

    fn next_wakeup(&self) -> StorageFuture<'_, Option<Wakeup>> {
        self.call(|desk| desk.next_wakeup())
    }

    fn wakeups(&self) -> StorageFuture<'_, Vec<Wakeup>> {
        self.call(|desk| desk.wakeups())
    }
}

impl TrustRecords for SimDesk {
    fn trust(&self, repository: Repository) -> StorageFuture<'_, ()> {
        self.call(move |desk| desk.trust(repository))
    }

    fn distrust<'a>(&'a self, path: &'a str) -> StorageFuture<'a, bool> {
        self.call(move |desk| desk.distrust(path))
    }

    fn repositories(&self) -> StorageFuture<'_, Vec<Repository>> {
        self.call(|desk| desk.repositories())
    }
}

impl GrantRecords for SimDesk {
    fn add_grant(&self, row: GrantRow) -> StorageFuture<'_, ()> {
        self.change(move |desk| desk.add_grant(row))
    }

    fn remove_grant<'a>(&'a self, grant_id: &'a str) -> StorageFuture<'a, bool> {
        self.call(move |desk| desk.remove_grant(grant_id))
    }

    fn grants(&self, now: u64) -> StorageFuture<'_, Vec<GrantRow>> {
        self.call(move |desk| desk.grants(now))
    }
}

impl TaintRecords for SimDesk {
    fn note_tainted(&self, content: TaintedContent) -> StorageFuture<'_, ()> {
        self.change(move |desk| desk.note_tainted(content))
    }

    fn tainted_contents(&self) -> StorageFuture<'_, Vec<TaintedContent>> {
        self.call(|desk| desk.tainted_contents())
    }

    fn note_command(&self, time: CommandTime) -> StorageFuture<'_, ()> {
        self.change(move |desk| desk.note_command(time))
    }

    fn command_times(&self) -> StorageFuture<'_, Vec<CommandTime>> {
        self.call(|desk| desk.command_times())
    }
}

impl Desk for SimDesk {
    fn device_id(&self) -> &str {
        self.inner.device_id()
    }

    fn generation(&self) -> StorageFuture<'_, u64> {
        self.call(|desk| desk.generation())
    }

    fn raise_generation(&self, generation: u64) -> StorageFuture<'_, ()> {
        self.change(move |desk| desk.raise_generation(generation))
    }
}
