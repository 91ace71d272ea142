//! What outlives a life of the host: disk, desk, the time of day.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kith_engine::state::State;
use kith_sessions::catalog::SqliteCatalog;
use kith_sessions::desk::{Desk, Inbox, MemoryDesk, RowStatus, ThreadRecords};
use kith_sessions::read::Tail;
use kith_sessions::storage::StorageFuture;
use kith_sessions::store::SessionStore;
use kith_testkit::clock::START;
use kith_testkit::files::{CrashModel, MemoryFiles};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::SessionId;
use serde_json::Value;

use super::catalog::KeptCheckpoints;
use super::settings;
use super::world::World;

/// A month after the first time that ids can carry, so that the clock can be set back.
const WALL_START: u64 = START + 30 * 24 * 60 * 60 * 1000;
const OLD_DESKS_MAX: usize = 3;

pub(crate) struct House {
    pub(crate) files: MemoryFiles,
    pub(crate) desk: MemoryDesk,
    pub(crate) catalog: Arc<SqliteCatalog>,
    /// Of each session, the oldest first.
    pub(crate) checkpoints: KeptCheckpoints,
    pub(crate) wall: u64,
    pub(crate) next_id: u64,
    old_desks: Vec<MemoryDesk>,
    /// Only the desk tells a damaged end from a torn one, so the bytes up to the damage are kept.
    damaged: BTreeMap<SessionId, Vec<u8>>,
}

impl House {
    pub(crate) fn new() -> House {
        House {
            files: MemoryFiles::new(),
            desk: MemoryDesk::new("device"),
            catalog: Arc::new(SqliteCatalog::in_memory(SessionStore::new(
                Arc::new(MemoryFiles::new()),
                &settings::house().kith_dir(),
            ))),
            checkpoints: KeptCheckpoints::default(),
            wall: WALL_START,
            next_id: 1,
            old_desks: Vec::new(),
            damaged: BTreeMap::new(),
        }
    }

    pub(crate) fn store(&self) -> SessionStore {
        SessionStore::new(Arc::new(self.files.clone()), &settings::house().kith_dir())
    }

    /// The sessions there are.
    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        self.store().list().unwrap_or_default()
    }

    /// The whole log of a session, or why it cannot be read.
    pub(crate) fn log(&self, id: SessionId) -> Result<Vec<Event>, String> {
        if self.is_damaged(id) {
            return Err(format!("session {id} is damaged"));
        }
        let mut events = Vec::new();
        let reading = self.store().read(id, None, &mut |event| events.push(event));
        match reading.map(|it| it.tail) {
            Ok(Tail::Damaged(damage)) => Err(format!("session {id} is damaged: {damage:?}")),
            Ok(Tail::Clean | Tail::Torn { .. }) => Ok(events),
            Err(error) => Err(format!("session {id} cannot be read: {error}")),
        }
    }

    /// Not if it was removed since, and another has its name.
    fn is_damaged(&self, id: SessionId) -> bool {
        let damaged = self.damaged.get(&id).zip(self.files.contents(self.store().path(id)));
        damaged.is_some_and(|(then, now)| now.starts_with(then))
    }

    pub(crate) fn state(&self, id: SessionId) -> Option<State> {
        Some(State::of(&self.log(id).ok()?))
    }

    /// The same as its driver knows it, also of a damaged session: a checkpoint may stand for the
    /// part that cannot be read.
    pub(crate) fn driven_state(&self, id: SessionId, world: &World) -> Option<State> {
        let damaged = world.lock().oracle.damaged.get(&id).map(|it| State::of(it.as_slice()));
        damaged.or_else(|| self.state(id))
    }

    /// The events that can be read, also of a damaged session.
    pub(crate) fn readable(&self, id: SessionId) -> Vec<Event> {
        let mut events = Vec::new();
        // Of one without a good first line there is nothing.
        self.store().read(id, None, &mut |event| events.push(event)).ok();
        events
    }

    /// The inbox keys that stand behind the damage of a session.
    pub(crate) fn keys_behind_damage(&self, id: SessionId) -> Vec<String> {
        let bytes = self.files.contents(self.store().path(id)).unwrap_or_default();
        let n_readable = self.readable(id).len();
        let mut keys = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n').skip(1 + n_readable) {
            if let Ok(line) = serde_json::from_slice(line) {
                collect_keys(&line, &mut keys);
            }
        }
        keys
    }

    /// Whether no turn is open and no message waits.
    pub(crate) fn is_complete(&self) -> bool {
        let is_open = |id| self.state(id).is_some_and(|state| state.turn.is_some());
        now(self.desk.sessions_with_open_rows()).is_empty()
            && !self.sessions().into_iter().any(is_open)
    }

    /// Changes a byte of a session file somewhere before where the desk knows that it ends.
    fn damage(&mut self, world: &World) {
        let mut guard = world.lock();
        let state = &mut *guard;
        if !state.chance.percent(state.plan.damage) {
            return;
        }
        let ids = self.sessions();
        let Some(id) = state.chance.pick(&ids).copied() else { return };
        let Some(head) = now(self.desk.head(id)) else { return };
        if self.is_damaged(id) {
            return;
        }
        let path = self.store().path(id);
        let Some(mut bytes) = self.files.contents(&path) else { return };
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|it| it.0);
        let n_lines = usize::try_from(head.seq).unwrap_or_default() + 1;
        let Some(end) = ends.take(n_lines).last() else { return };
        let place = state.chance.index(end);
        bytes[place] ^= 1 << state.chance.below(8);
        let events = self.readable(id);
        self.files.write_raw(&path, &bytes);
        let n_left = self.readable(id).len();
        state.note(format!("byte {place} of {id} is damaged, {n_left} events can be read"));
        state.tally.damages += 1;
        state.oracle.damaged.insert(id, events);
        bytes.truncate(place + 1);
        self.damaged.insert(id, bytes);
    }

    /// The host has ended as it should.
    pub(crate) fn end(&mut self, world: &World) {
        self.keep_desk(world);
        self.files = self.files.reboot(CrashModel::ProcessKilled);
        self.desk = self.desk.crash(usize::MAX);
        self.damage(world);
    }

    /// The host was killed, or the power failed.
    pub(crate) fn crash(&mut self, world: &World) {
        self.keep_desk(world);
        let mut state = world.lock();
        let rate = state.plan.power_cuts;
        let model = if state.chance.percent(rate) {
            state.tally.power_cuts += 1;
            CrashModel::PowerCut
        } else {
            state.tally.kills += 1;
            CrashModel::ProcessKilled
        };
        let kept = state.chance.index(self.desk.n_unsynced() + 1);
        let n_unsynced = self.desk.n_unsynced();
        state.note(format!("{model:?}, the desk keeps {kept} of {n_unsynced} commits"));
        let rate = state.plan.old_desks;
        let puts_back = state.chance.percent(rate);
        drop(state);
        self.files = self.files.reboot(model);
        self.desk = self.desk.crash(kept);
        world.draw(|chance| self.checkpoints.crash(chance));
        self.damage(world);
        if puts_back {
            self.put_old_desk_back(world);
        }
    }

    /// Sometimes somebody makes a copy of the desk.
    fn keep_desk(&mut self, world: &World) {
        if world.draw(|chance| chance.percent(50)) && self.old_desks.len() < OLD_DESKS_MAX {
            self.old_desks.push(self.desk.copy());
        }
    }

    /// Only a copy that the lock shows to be old: of another nobody could know.
    fn put_old_desk_back(&mut self, world: &World) {
        let mut state = world.lock();
        let generation = state.oracle.generation;
        self.old_desks.retain(|desk| now(desk.generation()) < generation);
        let Some(old) = state.chance.pick(&self.old_desks) else { return };
        self.desk = old.copy();
        state.tally.old_desks += 1;
        state.note("an old copy of the desk is put back".to_owned());
        drop(state);
        // What only the lost desk knew was lost with it.
        let mut in_logs = BTreeSet::new();
        for id in self.sessions() {
            // What the log holds beyond that may not be on the disk.
            let n_told = world.lock().oracle.sessions.get(&id).map_or(0, |it| it.events.len());
            for event in self.log(id).unwrap_or_default().into_iter().take(n_told) {
                if event.source_tag.is_none() {
                    in_logs.extend(row_keys(&event));
                }
            }
        }
        let mut state = world.lock();
        let desk = &self.desk;
        // Of a session that was removed nobody can know any more what was said in it.
        let mut removed = BTreeSet::new();
        for (_, events) in &mut state.oracle.removed {
            removed.extend(events.iter().flat_map(row_keys));
            for event in events {
                event.ingress_key = None;
            }
        }
        let is_known = |key: &String| {
            let is_open = now(desk.row(key)).is_some_and(RowStatus::is_open);
            in_logs.contains(key) || (is_open && !removed.contains(key))
        };
        state.oracle.accepted.retain(|key, _| is_known(key));
    }

    /// Time passes while no host runs, and sometimes the clock is set meanwhile.
    pub(crate) fn pass_time(&mut self, world: &World) {
        let mut state = world.lock();
        self.wall += state.chance.magnitude(26);
        let rate = state.plan.clock_jumps;
        if state.chance.percent(rate) {
            let by = state.chance.magnitude(28);
            state.tally.clock_jumps += 1;
            state.note(format!("the clock is set back by {by} ms"));
            self.wall = self.wall.saturating_sub(by).max(START);
        }
    }
}

/// The answer of a desk in memory, which never waits.
pub(crate) fn now<T>(mut answer: StorageFuture<'_, T>) -> T {
    use std::task::{Context, Poll, Waker};
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(value)) => value,
        Poll::Ready(Err(error)) => panic!("the desk in memory fails: {error}"),
        Poll::Pending => panic!("the desk in memory waits"),
    }
}

/// The rows that an event is about: those of the messages in a queue stand in its items.
fn row_keys(event: &Event) -> Vec<String> {
    let queued = match &event.body {
        Body::QueueUpdate(it) => it.items.iter().filter_map(|it| it.ingress_key.clone()).collect(),
        _ => Vec::new(),
    };
    event.ingress_key.iter().cloned().chain(queued).collect()
}

fn collect_keys(value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            keys.extend(members.get("ingressKey").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|it| collect_keys(it, keys));
        }
        Value::Array(items) => items.iter().for_each(|it| collect_keys(it, keys)),
        _ => (),
    }
}
