//! Everything outside the host: chance, the moment of death, and what people and tools know.
//!
//! It outlives every life of the host, so what it knows is what the host is judged by.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use kith_testkit::clock::FakeClock;
use kith_testkit::files::MemoryFiles;
use kith_vocab::clock::Clock;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::bug::Bug;
use super::chance::Chance;
use super::oracle::Oracle;
use super::plan::Plan;
use super::tally::Tally;

/// So much of what happened last is kept.
const TRACE_LINES_MAX: usize = 4_000;

/// More calls of ports than any life makes that comes to rest.
const STEPS_MAX: u64 = 200_000;

pub(crate) struct World {
    state: Mutex<WorldState>,
    death: Notify,
}

pub(crate) struct WorldState {
    pub(crate) chance: Chance,
    pub(crate) plan: Plan,
    pub(crate) bug: Option<Bug>,
    pub(crate) oracle: Oracle,
    pub(crate) tally: Tally,
    pub(crate) life: u64,
    /// Calls of ports in this life.
    pub(crate) step: u64,
    pub(crate) kill_at: Option<u64>,
    is_dead: bool,
    clock: Option<Arc<FakeClock>>,
    disk: Option<MemoryFiles>,
    /// Tasks of people and of the calls they make.
    n_tasks: usize,
    trace: VecDeque<String>,
    /// Of all that was observed, in order.
    digest: u64,
    pub(crate) violation: Option<String>,
}

/// How a call of a port goes on.
enum Pace {
    Dead,
    Yield(u64),
    Sleep(Arc<FakeClock>, u64),
}

impl World {
    pub(crate) fn new(seed: u64, bug: Option<Bug>) -> Arc<World> {
        let mut chance = Chance::of(seed);
        let plan = Plan::draw(&mut chance);
        let state = WorldState {
            chance,
            plan,
            bug,
            oracle: Oracle::default(),
            tally: Tally { seeds: 1, ..Tally::default() },
            life: 0,
            step: 0,
            kill_at: None,
            is_dead: false,
            clock: None,
            disk: None,
            n_tasks: 0,
            trace: VecDeque::new(),
            digest: 0xcbf2_9ce4_8422_2325,
            violation: None,
        };
        Arc::new(World { state: Mutex::new(state), death: Notify::new() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap()
    }

    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        draw(&mut self.lock().chance)
    }

    /// Begins a life of the host that dies at this step, if at one.
    pub(crate) fn begin_life(
        &self,
        clock: Arc<FakeClock>,
        disk: MemoryFiles,
        kill_at: Option<u64>,
    ) {
        let mut state = self.lock();
        state.life += 1;
        state.tally.lives += 1;
        (state.step, state.kill_at, state.is_dead) = (0, kill_at, false);
        (state.clock, state.disk, state.n_tasks) = (Some(clock), Some(disk), 0);
        state.oracle.begin_life();
        let life = state.life;
        state.note(format!("life {life} begins, kill at {kill_at:?}"));
    }

    /// One call of a port: it takes a drawn time, or does not come back because the host is dead.
    pub(crate) async fn step(&self) {
        let pace = self.pace();
        match pace {
            Pace::Dead => return std::future::pending().await,
            Pace::Yield(n) => {
                for _ in 0..n {
                    YieldOnce(false).await;
                }
            }
            Pace::Sleep(clock, ms) => clock.sleep(ms).await,
        }
        self.live().await;
    }

    fn pace(&self) -> Pace {
        let mut state = self.lock();
        state.step += 1;
        state.tally.steps += 1;
        if state.step > STEPS_MAX {
            state.violation.get_or_insert("takes steps without end".to_owned());
            state.is_dead = true;
        }
        if state.kill_at == Some(state.step) {
            state.note("the process is killed".to_owned());
            state.is_dead = true;
        }
        // Whatever the host does after its disk died is nothing anybody sees.
        state.is_dead |= state.disk.as_ref().is_some_and(MemoryFiles::is_killed);
        if state.is_dead {
            drop(state);
            self.death.notify_one();
            return Pace::Dead;
        }
        let slow = state.plan.slow_steps;
        let ms = state.chance.per_mille(slow).then(|| state.chance.magnitude(12));
        if let (Some(ms), Some(clock)) = (ms, &state.clock) {
            return Pace::Sleep(Arc::clone(clock), ms);
        }
        Pace::Yield(match state.chance.below(10) {
            0..5 => 0,
            5..9 => state.chance.between(1, 3),
            _ => state.chance.between(4, 12),
        })
    }

    /// Does not come back if the host is dead.
    pub(crate) async fn live(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.lock().is_dead
    }

    /// Nothing that the host does from now on has any effect.
    pub(crate) fn die(&self) {
        self.lock().is_dead = true;
        self.death.notify_one();
    }

    /// Runs a task that is not the host's own.
    pub(crate) fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.lock().n_tasks += 1;
        let world = Arc::clone(self);
        tokio::spawn(async move {
            let done = work.await;
            world.lock().n_tasks -= 1;
            done
        })
    }

    pub(crate) async fn death(&self) {
        // It may have been told of the death of an earlier life.
        while !self.is_dead() {
            self.death.notified().await;
        }
    }

    pub(crate) fn note(&self, what: String) {
        self.lock().note(what);
    }

    /// Something is not as it must be. The first counts, and ends the seed.
    pub(crate) fn violate(&self, what: String) {
        let mut state = self.lock();
        state.note(format!("VIOLATION {what}"));
        state.violation.get_or_insert(what);
        drop(state);
        self.die();
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.lock().violation.is_some()
    }

    pub(crate) fn digest(&self) -> u64 {
        self.lock().digest
    }

    pub(crate) fn trace(&self) -> Vec<String> {
        self.lock().trace.iter().cloned().collect()
    }
}

impl WorldState {
    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead
    }

    pub(crate) fn n_tasks(&self) -> usize {
        self.n_tasks
    }

    #[expect(clippy::needless_pass_by_value, reason = "whoever notes something has just made it")]
    pub(crate) fn note(&mut self, what: String) {
        self.observe(what.as_bytes());
        // What is tried again and again is told once.
        if self.trace.iter().rev().take(3).any(|line| line.ends_with(&what)) {
            return;
        }
        if self.trace.len() == TRACE_LINES_MAX {
            self.trace.pop_front();
        }
        let (life, step) = (self.life, self.step);
        self.trace.push_back(format!("{life}/{step} {what}"));
    }

    /// Takes something into the digest of the seed.
    pub(crate) fn observe(&mut self, bytes: &[u8]) {
        self.digest = fnv(self.digest, bytes);
    }
}

/// FNV-1a.
pub(crate) fn fnv(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |it, byte| (it ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Goes to the end of the line of tasks that can run. `tokio::task::yield_now` waits until no other
/// task can, which leaves fewer orders.
struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
