//! One life of the host: it comes up, people use it, and it ends or is killed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use kith_engine::engine::{Engine, EngineLimits, EngineParts};
use kith_engine::feed::FeedLimits;
use kith_host::caller::Caller;
use kith_host::diagnostics::DiagnosticParts;
use kith_host::host::Host;
use kith_host::host::parts::HostParts;
use kith_host::models::ModelRegistry;
use kith_host::notes::HostNote;
use kith_host::settings::watch::SettingsWatch;
use kith_sessions::desk::Inbox;
use kith_sessions::journal::FilesJournal;
use kith_sessions::store::SessionStore;
use kith_testkit::clock::FakeClock;
use kith_testkit::files::{Fault, Written};
use kith_vocab::clock::Clock;
use kith_vocab::ids::SessionId;

use super::bug::Bug;
use super::catalog::SimCatalog;
use super::client::{SimClient, draw_caller};
use super::desk::SimDesk;
use super::disk::file_system;
use super::house::{House, now};
use super::journal::SimJournal;
use super::lock::SimLock;
use super::model;
use super::rest::Rest;
use super::scene::Scene;
use super::settings::{self, LifeModels, MODEL_NAMES};
use super::setup::SimSetup;
use super::tool::SimTool;
use super::world::World;
use super::{checks, person};

/// A host that cannot start is tried again so often.
const START_ATTEMPTS_MAX: u32 = 20;
/// Queues are held so often at most after nothing goes wrong any more.
const QUEUE_GOES_MAX: u32 = 200;
/// The tasks of a host in which nothing happens: the timer, and those of thread files and diagnostics.
const IDLE_TASKS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifeKind {
    /// People use the house, and things go wrong.
    Ordinary,
    /// Nothing goes wrong any more: everything must come to its end that can without the other
    /// models.
    Last { has_other_models: bool },
}

struct Life<'a> {
    house: &'a House,
    world: &'a Arc<World>,
    clock: &'a Arc<FakeClock>,
    models: Arc<Mutex<LifeModels>>,
    settings: Arc<SettingsWatch>,
    limits: EngineLimits,
    kind: LifeKind,
}

/// Runs one life in a runtime of its own, to its end or to the kill.
///
/// True if all that was said has come to its end.
pub(crate) fn run(house: &mut House, world: &Arc<World>, kind: LifeKind) -> bool {
    let clock = FakeClock::starting_at_id(house.next_id).passing_when_idle();
    clock.jump_to(house.wall);
    let clock = Arc::new(clock);
    let models = draw_models(world, kind);
    let limits = draw_limits(world);
    let kill_at = draw_faults(house, world, kind);
    world.begin_life(Arc::clone(&clock), house.files.clone(), kill_at);
    world.note(format!("{models:?}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime of one thread needs nothing");
    runtime.block_on(async {
        let settings = SettingsWatch::given(models.settings());
        let models = Arc::new(Mutex::new(models));
        let life = Life { house, world, clock: &clock, models, settings, limits, kind };
        tokio::select! {
            biased;
            () = world.death() => (),
            () = life.live() => (),
        }
    });
    drop(runtime);
    (house.wall, house.next_id) = (clock.now(), clock.next_id_number());
    if world.is_dead() {
        house.crash(world);
    } else {
        house.end(world);
    }
    let is_complete = house.is_complete();
    house.pass_time(world);
    is_complete
}

fn draw_models(world: &World, kind: LifeKind) -> LifeModels {
    let mut guard = world.lock();
    let (lone_rate, other_rate) = (guard.plan.lone_models, guard.plan.other_models);
    let chance = &mut guard.chance;
    let has_other_models = match kind {
        LifeKind::Ordinary => chance.percent(other_rate),
        LifeKind::Last { has_other_models } => has_other_models,
    };
    let models = LifeModels::all(chance, has_other_models);
    let is_alone = kind == LifeKind::Ordinary && chance.percent(lone_rate);
    if is_alone { models.one(chance) } else { models }
}

fn draw_limits(world: &World) -> EngineLimits {
    let mut guard = world.lock();
    let rate = guard.plan.small_limits;
    let chance = &mut guard.chance;
    if !chance.percent(rate) {
        return EngineLimits::default();
    }
    let feed = FeedLimits {
        batches_max: 1 + chance.index(4),
        bytes_max: 1 << chance.below(14),
        deltas_max: 1 + chance.index(4),
    };
    EngineLimits { checkpoint_bytes_min: 1 << chance.between(8, 14), feed }
}

/// Lays the faults of a life in wait, and says at which step it is killed.
fn draw_faults(house: &House, world: &World, kind: LifeKind) -> Option<u64> {
    if kind != LifeKind::Ordinary {
        return None;
    }
    let mut guard = world.lock();
    let plan = guard.plan.clone();
    let chance = &mut guard.chance;
    let is_killed = chance.percent(plan.kills);
    let by_disk = is_killed && chance.percent(40);
    let operation = usize::try_from(chance.magnitude(9)).unwrap_or(1);
    let written = Written::EACH[chance.index(3)];
    let fault = match chance.below(4) {
        0 => Fault::Full,
        1 => Fault::ReadOnly,
        2 => Fault::ShortWrite,
        _ => Fault::FailSync,
    };
    let fails = chance.percent(plan.disk_faults);
    let failing = usize::try_from(chance.magnitude(8)).unwrap_or(1);
    let step = chance.magnitude(11);
    if by_disk {
        house.files.plan(operation, Fault::Kill { written });
    }
    // Bytes that a failed sync lost are cut off in the next operation, and a death between the two
    // is more than any file system makes good. So is a failed sync of what a dead process left: the
    // system forgets that it failed.
    let files = &house.files;
    let has_leftovers = || files.paths().iter().any(|it| files.durable(it) != files.contents(it));
    if fails && !(fault == Fault::FailSync && (by_disk || has_leftovers())) {
        house.files.plan(failing, fault);
        guard.tally.disk_faults += 1;
        guard.note(format!("{fault:?} at operation {failing}"));
    }
    (is_killed && !by_disk).then_some(step)
}

impl Life<'_> {
    async fn live(&self) {
        let Some(host) = self.start().await else { return };
        let scene = self.scene(&host, Caller::owner("follower"));
        let followers: Vec<usize> = {
            let world = self.world.lock();
            let followers = world.oracle.followers.iter().enumerate();
            followers.filter(|(_, it)| !it.is_over).map(|it| it.0).collect()
        };
        for follower in followers {
            scene.start_follower(follower);
        }
        if self.kind == LifeKind::Ordinary {
            self.people(&host).await;
        }
        self.house.files.heal();
        if !self.rest(&host, &scene).await {
            return;
        }
        if self.kind != LifeKind::Ordinary {
            self.let_queues_go(&host, &scene).await;
            if !self.rest(&host, &scene).await {
                return;
            }
            self.check_tasks(IDLE_TASKS);
            // What names other models waits for another host.
            if self.reaches_all() || self.house.is_complete() {
                checks::check_all(self.house, self.world);
            }
        }
        host.announce_end();
        if scene.within("the end of the host", host.end()).await.is_some() {
            self.check_tasks(0);
        }
    }

    /// Nothing is left behind but what the host and people have at rest.
    fn check_tasks(&self, n_idle: usize) {
        let n_alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let world = self.world.lock();
        // The second engine of that bug has tasks of its own.
        let n_others = world.n_tasks();
        let is_doubled = world.bug == Some(Bug::DoubledDrive);
        drop(world);
        if !is_doubled && n_alive > n_others + n_idle {
            let n_own = n_alive - n_others;
            self.world.violate(format!("{n_own} tasks of the host are left"));
        }
    }

    fn scene(&self, host: &Arc<Host>, caller: Caller) -> Scene {
        let world = Arc::clone(self.world);
        let writes_text = world.draw(|chance| chance.percent(30));
        let client = SimClient { host: Arc::clone(host), world, caller, writes_text };
        let (world, clock) = (Arc::clone(self.world), Arc::clone(self.clock));
        let (models, settings) = (Arc::clone(&self.models), Arc::clone(&self.settings));
        Scene { world, client, clock, models, settings }
    }

    /// Starts the host as its program does. `None` if it could not be.
    async fn start(&self) -> Option<Arc<Host>> {
        for _ in 0..START_ATTEMPTS_MAX {
            match self.try_to_start().await {
                Ok(host) => return Some(host),
                Err(error) => self.world.note(format!("cannot start: {}", error.message())),
            }
            self.clock.sleep(1_000).await;
        }
        None
    }

    async fn try_to_start(&self) -> Result<Arc<Host>, kith_host::error::CallError> {
        let (parts, desk) = self.parts();
        let bug = self.world.lock().bug;
        let double = (bug == Some(Bug::DoubledDrive)).then(|| double(&parts));
        let host = Arc::new(Host::assemble(parts).await?);
        if let Some(double) = double {
            // It is set once, here.
            desk.double.set(double).ok();
        }
        let left = host.unfinished().await?;
        self.world.note(format!("{} sessions are unfinished", left.len()));
        let world = Arc::clone(self.world);
        let tell = move |note: HostNote| {
            world.note(note.in_english());
            std::future::ready(())
        };
        self.world.spawn(Arc::clone(&host).resume(left, tell));
        Ok(host)
    }

    fn parts(&self) -> (HostParts, Arc<SimDesk>) {
        let world = || Arc::clone(self.world);
        let clock: Arc<dyn Clock> = Arc::clone(self.clock) as Arc<dyn Clock>;
        let files = file_system(&self.house.files, self.world);
        let store = SessionStore::new(files, &settings::house().kith_dir());
        let journal = SimJournal {
            inner: FilesJournal::new(store.clone()),
            files: self.house.files.clone(),
            world: world(),
            clock: Arc::clone(&clock),
        };
        let (inner, double) = (self.house.desk.clone(), OnceLock::new());
        let desk = Arc::new(SimDesk { inner, world: world(), double });
        let registry = ModelRegistry::new(Arc::clone(&self.settings));
        let tools = SimTool::all(self.world, &clock);
        let (known, checkpoints) = (self.house.catalog.clone(), self.house.checkpoints.clone());
        let parts = HostParts {
            house: settings::house(),
            settings: Arc::clone(&self.settings),
            models: Arc::new(registry.with_maker(model::maker(self.world, &clock))),
            setup: Arc::new(SimSetup { tools, world: world() }),
            catalog: Arc::new(SimCatalog {
                store: store.clone(),
                known,
                checkpoints,
                world: world(),
            }),
            store,
            journal: Arc::new(journal),
            desk: desk.clone(),
            is_new_desk: false,
            clock,
            limits: self.limits,
            diagnostics: DiagnosticParts::default(),
            lock: Box::new(SimLock::take(self.world)),
        };
        (parts, desk)
    }

    async fn people(&self, host: &Arc<Host>) {
        let n_people = {
            let mut world = self.world.lock();
            let most = world.plan.n_people;
            world.chance.between(1, most)
        };
        let mut people = Vec::new();
        for _ in 0..n_people {
            let caller = self.world.draw(draw_caller);
            people.push(self.world.spawn(person::live(self.scene(host, caller))));
        }
        for person in people {
            person.await.expect("a person's task is not cancelled and does not panic");
        }
    }

    async fn rest(&self, host: &Host, scene: &Scene) -> bool {
        let rest = Rest {
            house: self.house,
            scene,
            engine: host.engine(),
            reaches_all: self.reaches_all(),
            is_ordinary: self.kind == LifeKind::Ordinary,
        };
        rest.reach().await
    }

    /// Whether nothing that was ever said names a model that cannot be reached.
    fn reaches_all(&self) -> bool {
        let n_names = self.models.lock().unwrap().names().len();
        n_names == MODEL_NAMES.len() && self.world.lock().plan.other_models == 0
    }

    /// Goes on with the queues that were held.
    async fn let_queues_go(&self, host: &Host, scene: &Scene) {
        for _ in 0..QUEUE_GOES_MAX {
            let damaged: BTreeSet<SessionId> =
                self.world.lock().oracle.damaged.keys().copied().collect();
            let held = self.house.sessions().into_iter().find(|id| {
                // What waited for a damaged session is dealt with in its copy.
                if damaged.contains(id) && now(self.house.desk.open_rows(*id)).is_empty() {
                    return false;
                }
                let state = self.house.driven_state(*id, self.world);
                // A turn that is left alone waits for another host, and its queue with it.
                state
                    .filter(|it| it.turn.is_none())
                    .is_some_and(|it| !it.follow_ups.is_empty() || !it.steers.is_empty())
            });
            let Some(id) = held else { return };
            scene.take_next(id).await;
            if !self.rest(host, scene).await {
                return;
            }
        }
        self.world.violate("the queues never come to their end".to_owned());
    }
}

/// A second engine with the parts of the host's own.
fn double(parts: &HostParts) -> Engine {
    Engine::new(EngineParts {
        journal: Arc::clone(&parts.journal),
        desk: Arc::clone(&parts.desk),
        catalog: Arc::clone(&parts.catalog),
        clock: Arc::clone(&parts.clock),
        models: parts.models.clone(),
        setup: parts.setup.clone(),
        limits: parts.limits,
    })
}
