//! One life of the host as a person sees it: how they reach it, and how long they wait.

use std::sync::{Arc, Mutex};

use kith_host::settings::watch::SettingsWatch;
use kith_testkit::clock::FakeClock;
use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, SessionId};

use super::client::SimClient;
use super::oracle::WaitsFor;
use super::settings::LifeModels;
use super::world::World;

/// By the clock of the simulation; longer than anything takes that comes to an end.
pub(crate) const PATIENCE_MS: u64 = 12 * 60 * 60 * 1000;

#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) world: Arc<World>,
    pub(crate) client: SimClient,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) models: Arc<Mutex<LifeModels>>,
    pub(crate) settings: Arc<SettingsWatch>,
}

impl Scene {
    pub(crate) fn models(&self) -> LifeModels {
        self.models.lock().unwrap().clone()
    }

    /// Somebody chooses another model, while the host runs.
    pub(crate) fn choose_models_anew(&self) {
        let models = self.world.draw(|chance| self.models().chosen_anew(chance));
        self.world.note(format!("{models:?}"));
        self.settings.give(models.settings());
        *self.models.lock().unwrap() = models;
    }

    pub(crate) fn new_event_id(&self) -> EventId {
        EventId::from_uuid(self.clock.new_id())
    }

    pub(crate) fn new_session_id(&self) -> SessionId {
        SessionId::from_uuid(self.clock.new_id())
    }

    /// Waits for an answer that must come. `None` if it never does, which is a violation.
    pub(crate) async fn within<T>(&self, what: &str, work: impl Future<Output = T>) -> Option<T> {
        self.world.lock().oracle.n_asked += 1;
        let answer = tokio::select! {
            biased;
            answer = work => Some(answer),
            () = self.clock.sleep(PATIENCE_MS) => None,
        };
        let mut world = self.world.lock();
        world.oracle.n_asked -= 1;
        drop(world);
        if answer.is_none() {
            self.world.violate(format!("{what} was never answered"));
        }
        answer
    }

    /// Waits for the end of a turn, which may have to wait for another host.
    pub(crate) async fn waiting<T>(&self, what: WaitsFor, work: impl Future<Output = T>) -> T {
        let entry = (self.world.draw(super::chance::Chance::next), what);
        self.world.lock().oracle.waiting.insert(entry.clone());
        let answer = work.await;
        self.world.lock().oracle.waiting.remove(&entry);
        answer
    }
}
