//! Whether the host has done all that it can do.

use kith_engine::engine::Engine;
use kith_engine::report::{MessageEnd, RowReader};
use kith_engine::state::State;
use kith_sessions::desk::{Inbox, InboxRow, RowStatus, ThreadRecords};
use kith_vocab::clock::Clock;
use kith_vocab::event::models::ModelRef;
use kith_vocab::ids::SessionId;

use super::house::{House, now};
use super::journal::short;
use super::oracle::WaitsFor;
use super::scene::{PATIENCE_MS, Scene};

/// How often it is looked whether there is anything left to do.
const LOOK_MS: u64 = 30_000;

pub(crate) struct Rest<'a> {
    pub(crate) house: &'a House,
    pub(crate) scene: &'a Scene,
    pub(crate) engine: &'a Engine,
    /// Nothing that was said names a model that cannot be reached.
    pub(crate) reaches_all: bool,
    /// Things may still go wrong.
    pub(crate) is_ordinary: bool,
}

impl Rest<'_> {
    /// Waits until nothing is left to do. If that never comes, it is a violation, and false.
    pub(crate) async fn reach(&self) -> bool {
        let clock = &self.scene.clock;
        let deadline = clock.monotonic() + PATIENCE_MS;
        loop {
            tokio::select! {
                biased;
                () = self.engine.until_rest() => (),
                () = clock.sleep(PATIENCE_MS) => {
                    self.scene.world.violate("a driver never ends".to_owned());
                    return false;
                }
            }
            let left = self.left();
            if left.is_empty() && self.engine.n_sessions().0 == 0 {
                return !self.scene.world.has_failed();
            }
            if clock.monotonic() >= deadline {
                self.scene.world.violate(format!("never comes to rest: {}", left.join("; ")));
                return false;
            }
            // Somebody makes room on the disk.
            self.house.files.heal();
            clock.sleep(LOOK_MS).await;
            self.scene.world.step().await;
        }
    }

    /// What is left to do, in words.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let sessions = self.house.sessions();
        for id in &sessions {
            let Some(state) = self.house.state(*id) else { continue };
            if state.turn.as_ref().is_some_and(|it| self.reaches(&it.models)) {
                left.push(format!("a turn of {} is open", short(*id)));
            }
        }
        let desk = &self.house.desk;
        for id in now(desk.sessions_with_open_rows()) {
            let state = self.house.driven_state(id, &self.scene.world).unwrap_or_default();
            let rows = now(desk.open_rows(id));
            left.extend(self.rows_left(id, &state, &rows));
        }
        let world = self.scene.world.lock();
        if world.oracle.n_asked > 0 {
            left.push(format!("{} requests are not answered", world.oracle.n_asked));
        }
        left.extend(world.oracle.followers_behind(|thread| {
            now(desk.current_session(&thread.agent_id, &thread.thread_id))
        }));
        for (_, what) in &world.oracle.waiting {
            // Whoever waits for a model that cannot be reached waits for another host.
            let is_open = match what {
                WaitsFor::Message(key) => {
                    matches!(now(desk.row(key)), Some(RowStatus::Open { .. }))
                }
                WaitsFor::Turn(id) => self.house.state(*id).is_some_and(|it| it.turn.is_some()),
            };
            if !is_open || self.reaches_all {
                left.push(format!("somebody still waits for {what:?}"));
            }
        }
        left
    }

    fn rows_left(&self, id: SessionId, state: &State, rows: &[InboxRow]) -> Vec<String> {
        let rows: Vec<&InboxRow> = rows.iter().filter(|row| !self.is_settled(id, row)).collect();
        let is_left_alone = state.turn.as_ref().is_some_and(|turn| !self.reaches(&turn.models));
        let is_held = state.queue_hold.is_held();
        let is_new = |row: &&InboxRow| !state.holds_row(&row.key);
        let can_be_said =
            rows.iter().copied().filter(is_new).any(|row| self.reaches(&row.event.models));
        let mut left = Vec::new();
        for row in rows {
            let waits_for_another_host =
                if is_new(&row) { !can_be_said } else { is_left_alone && !can_be_said };
            let is_queued = !is_new(&row) && state.turn.is_none() && is_held;
            if !waits_for_another_host && !is_queued {
                left.push(format!("{} waits for {}", row.key, short(id)));
            }
        }
        left
    }

    /// The desk may have lost that the row is dealt with; it learns it with the next one.
    fn is_settled(&self, id: SessionId, row: &InboxRow) -> bool {
        let mut reader = RowReader::new(id, &row.event.thread_id, &row.key);
        let damaged = self.scene.world.lock().oracle.damaged.get(&id).cloned();
        for event in damaged.unwrap_or_else(|| self.house.log(id).unwrap_or_default()) {
            reader.read(&event);
        }
        let end = reader.settled().map(|report| report.end);
        self.is_ordinary && end.is_some_and(|end| end != MessageEnd::Held)
    }

    fn reaches(&self, models: &[ModelRef]) -> bool {
        self.scene.models().reaches(models)
    }
}
