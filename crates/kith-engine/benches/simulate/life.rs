//! One life of the host: it comes up, people use it, and it ends or is killed.

use std::sync::Arc;

use kith_engine::command::CommandAction;
use kith_engine::engine::{Engine, EngineParts};
use kith_sessions::desk::Desk;
use kith_sessions::journal::FilesJournal;
use kith_sessions::store::SessionStore;
use kith_testkit::clock::FakeClock;
use kith_testkit::files::{Fault, Written};
use kith_vocab::clock::Clock;

use super::bug::Bug;
use super::catalog::BlankCatalog;
use super::client::EngineClient;
use super::desk::SimDesk;
use super::disk::file_system;
use super::house::House;
use super::journal::SimJournal;
use super::model::{MODEL_NAMES, SimModels};
use super::rest::Rest;
use super::scene::Scene;
use super::setup::SimSetup;
use super::tool::SimTool;
use super::world::World;
use super::{checks, person};

/// A desk that cannot be read when the host starts is tried again so often.
const START_ATTEMPTS_MAX: u32 = 20;
/// Queues are held so often at most after nothing goes wrong any more.
const QUEUE_GOES_MAX: u32 = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifeKind {
    /// People use the house, and things go wrong.
    Ordinary,
    /// Nothing goes wrong any more: everything must come to its end.
    Last,
}

struct Life<'a> {
    house: &'a House,
    scene: Scene,
    engine: Engine,
    reachable: Vec<&'static str>,
    kind: LifeKind,
}

/// Runs one life in a runtime of its own, to its end or to the kill.
pub(crate) fn run(house: &mut House, world: &Arc<World>, kind: LifeKind) {
    let clock = FakeClock::starting_at_id(house.next_id).passing_when_idle();
    clock.jump_to(house.wall);
    let clock = Arc::new(clock);
    let reachable = draw_models(world, kind);
    let kill_at = draw_faults(house, world, kind);
    world.begin_life(Arc::clone(&clock), kill_at);
    world.note(format!("models {reachable:?}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime of one thread needs nothing");
    runtime.block_on(async {
        let life = Life::begin(house, world, &clock, reachable, kind);
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
    house.pass_time(world);
}

fn draw_models(world: &World, kind: LifeKind) -> Vec<&'static str> {
    let mut guard = world.lock();
    let rate = guard.plan.lone_models;
    if kind == LifeKind::Ordinary && guard.chance.percent(rate) {
        let one = guard.chance.index(MODEL_NAMES.len());
        return vec![MODEL_NAMES[one]];
    }
    MODEL_NAMES.to_vec()
}

/// Lays the faults of a life in wait, and says at which step it is killed.
fn draw_faults(house: &House, world: &World, kind: LifeKind) -> Option<u64> {
    if kind == LifeKind::Last {
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
    // is more than any file system makes good.
    if fails && !(by_disk && fault == Fault::FailSync) {
        house.files.plan(failing, fault);
        guard.tally.disk_faults += 1;
        guard.note(format!("{fault:?} at operation {failing}"));
    }
    (is_killed && !by_disk).then_some(step)
}

impl<'a> Life<'a> {
    fn begin(
        house: &'a House,
        world: &Arc<World>,
        clock: &Arc<FakeClock>,
        reachable: Vec<&'static str>,
        kind: LifeKind,
    ) -> Life<'a> {
        let engine_clock: Arc<dyn Clock> = clock.clone();
        let files = file_system(&house.files, world);
        let store = SessionStore::new(files, std::path::Path::new("/house/.kith"));
        let journal = Arc::new(SimJournal {
            inner: FilesJournal::new(store),
            files: house.files.clone(),
            world: Arc::clone(world),
            clock: Arc::clone(&engine_clock),
        });
        let desk = Arc::new(SimDesk { inner: house.desk.clone(), world: Arc::clone(world) });
        let models = Arc::new(SimModels::new(&reachable, world, &engine_clock));
        let tools = SimTool::all(world, &engine_clock);
        let setup = Arc::new(SimSetup { tools, world: Arc::clone(world) });
        let engine = || {
            Engine::new(EngineParts {
                journal: journal.clone(),
                desk: desk.clone(),
                catalog: Arc::new(BlankCatalog),
                clock: Arc::clone(&engine_clock),
                models: models.clone(),
                setup: setup.clone(),
            })
        };
        let bug = world.lock().bug;
        let double = (bug == Some(Bug::DoubledDrive)).then(engine);
        let engine = engine();
        let client = EngineClient { engine: engine.clone(), double, world: Arc::clone(world) };
        let scene =
            Scene { world: Arc::clone(world), client: Arc::new(client), clock: Arc::clone(clock) };
        Life { house, scene, engine, reachable, kind }
    }

    async fn live(&self) {
        if !self.start().await {
            return;
        }
        let followers = {
            let world = self.scene.world.lock();
            let followers = world.oracle.followers.iter().enumerate();
            let going: Vec<usize> =
                followers.filter(|(_, it)| !it.is_over).map(|it| it.0).collect();
            going
        };
        for follower in followers {
            self.scene.start_follower(follower);
        }
        match self.kind {
            LifeKind::Ordinary => self.people().await,
            LifeKind::Last => self.house.sessions().into_iter().for_each(|id| self.engine.wake(id)),
        }
        self.house.files.lift();
        if !self.rest().await || self.kind == LifeKind::Ordinary {
            return;
        }
        self.let_queues_go().await;
        if self.rest().await {
            let n_followers = self.scene.world.lock().oracle.followers.len();
            // The timer, and whoever follows.
            let n_tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            if n_tasks > n_followers + 1 {
                self.scene.world.violate(format!("{n_tasks} tasks are left at the end"));
            }
            checks::check_all(self.house, &self.scene.world);
        }
    }

    /// Does what a host does before it lets anybody in. False if it could not.
    async fn start(&self) -> bool {
        for _ in 0..START_ATTEMPTS_MAX {
            if self.try_to_start().await.is_some() {
                self.engine.run_wakeups();
                return true;
            }
            self.scene.clock.sleep(1_000).await;
        }
        false
    }

    async fn try_to_start(&self) -> Option<()> {
        let known = super::house::now(self.house.desk.generation());
        let noted = self.scene.world.lock().oracle.generation;
        if known < noted {
            let recovered = self.engine.recover_desk().await.ok()?;
            self.scene.world.note(format!("{recovered:?}"));
        }
        self.engine.resume_all().await.ok()?;
        Some(())
    }

    async fn people(&self) {
        let n_people = {
            let mut world = self.scene.world.lock();
            let most = world.plan.n_people;
            world.chance.between(1, most)
        };
        let people: Vec<_> =
            (0..n_people).map(|_| tokio::spawn(person::live(self.scene.clone()))).collect();
        for person in people {
            person.await.expect("a person's task is not cancelled and does not panic");
        }
    }

    async fn rest(&self) -> bool {
        let rest = Rest {
            house: self.house,
            scene: &self.scene,
            engine: &self.engine,
            reachable: &self.reachable,
            is_ordinary: self.kind == LifeKind::Ordinary,
        };
        rest.reach().await
    }

    /// Goes on with the queues that were held.
    async fn let_queues_go(&self) {
        for _ in 0..QUEUE_GOES_MAX {
            let held = self.house.sessions().into_iter().find(|id| {
                let state = self.house.state(*id);
                state.is_some_and(|it| !it.follow_ups.is_empty() || !it.steers.is_empty())
            });
            let Some(id) = held else { return };
            self.scene.command(id, CommandAction::TakeNext).await;
            if !self.rest().await {
                return;
            }
        }
        self.scene.world.violate("the queues never come to their end".to_owned());
    }
}
