//! A whole host, run from one seed on one thread.
//!
//! Nothing here is left to chance but what the seed decides: who says what when, how long each call
//! of a port takes, when the host is killed, what the disk keeps, what goes wrong. So a seed that
//! fails fails again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a simulation that meets a broken promise of its own should stop"
)]
#![allow(dead_code, reason = "two programs share it, and neither uses all of it")]
#![allow(clippy::similar_names, reason = "disk and desk are two things")]

mod bug;
mod catalog;
mod chance;
mod checks;
mod client;
mod command;
mod desk;
mod disk;
mod follower;
mod house;
mod journal;
mod life;
mod lock;
mod model;
mod oracle;
mod person;
mod plan;
mod proofs;
mod rest;
mod scene;
mod settings;
mod setup;
mod tally;
mod tool;
mod world;

use std::fmt;
use std::sync::Arc;

pub(crate) use bug::Bug;
pub(crate) use tally::Tally;

use house::House;
use life::LifeKind;
use world::World;

/// So much of what happened last is shown with a failure.
const SHOWN_LINES: usize = 50;

/// So often one model's turns wait for those of another.
const LAST_LIVES_MAX: u32 = 20;

/// A seed that came to its end as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) tally: Tally,
    /// Of all that was observed: the same seed has the same one.
    pub(crate) digest: u64,
}

/// A seed that found something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) seed: u64,
    pub(crate) life: u64,
    pub(crate) step: u64,
    pub(crate) what: String,
    /// What happened last.
    pub(crate) trace: Vec<String>,
    pub(crate) digest: u64,
}

/// Runs one seed.
pub(crate) fn run_seed(seed: u64, bug: Option<Bug>) -> Result<Passed, Box<Found>> {
    let world = World::new(seed, bug);
    let mut house = House::new();
    let n_lives = world.lock().plan.n_lives;
    for _ in 0..n_lives {
        life::run(&mut house, &world, LifeKind::Ordinary);
        if world.has_failed() {
            break;
        }
    }
    if !world.has_failed() {
        let mut state = world.lock();
        state.plan = state.plan.without_faults();
        drop(state);
        finish(&mut house, &world);
    }
    outcome(seed, &world)
}

/// Without faults everything comes to its end, some of it only with the other models.
fn finish(house: &mut House, world: &Arc<World>) {
    for n in 0..LAST_LIVES_MAX {
        let has_other_models = n % 2 == 1 && world.lock().plan.other_models > 0;
        if life::run(house, world, LifeKind::Last { has_other_models }) || world.has_failed() {
            return;
        }
    }
    world.violate("what was said never comes to its end".to_owned());
}

fn outcome(seed: u64, world: &Arc<World>) -> Result<Passed, Box<Found>> {
    let (digest, trace) = (world.digest(), world.trace());
    let state = world.lock();
    match &state.violation {
        None => Ok(Passed { tally: state.tally, digest }),
        Some(what) => {
            let (life, step, what) = (state.life, state.step, what.clone());
            Err(Box::new(Found { seed, life, step, what, trace, digest }))
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { seed, life, step, what, .. } = self;
        writeln!(f, "seed {seed} failed in life {life} at step {step}: {what}")?;
        // `{:#}` tells all of it.
        let skipped = if f.alternate() { 0 } else { self.trace.len().saturating_sub(SHOWN_LINES) };
        for line in &self.trace[skipped..] {
            writeln!(f, "    {line}")?;
        }
        write!(f, "repeat it with: cargo xtask simulate --seed {seed}")
    }
}
