//! The lock of the house: what it says outlives every host.

use std::io;
use std::sync::Arc;

use kith_host::host::parts::WriterLock;
use kith_sessions::lock::LockError;

use super::world::World;

pub(crate) struct SimLock {
    world: Arc<World>,
    previous_generation: Option<u64>,
}

impl SimLock {
    /// Somebody may have removed it; then nobody knows what it said.
    pub(crate) fn take(world: &Arc<World>) -> SimLock {
        let mut state = world.lock();
        let generation = state.oracle.generation;
        let rate = state.plan.old_desks;
        let is_missing = generation == 0 || state.chance.percent(rate / 8);
        drop(state);
        let previous_generation = (!is_missing).then_some(generation);
        SimLock { world: Arc::clone(world), previous_generation }
    }
}

impl WriterLock for SimLock {
    fn previous_generation(&self) -> Option<u64> {
        self.previous_generation
    }

    fn sync(&self) -> Result<(), LockError> {
        Ok(())
    }

    fn check(&self) -> Result<(), LockError> {
        Ok(())
    }

    fn set_generation(&mut self, generation: u64) -> Result<(), LockError> {
        let mut world = self.world.lock();
        let rate = world.plan.desk_faults;
        if world.is_dead() || world.chance.per_mille(rate) {
            let source = io::Error::other("the simulation lets the lock fail");
            return Err(LockError::Io { path: "host.lock".into(), source });
        }
        world.oracle.generation = generation;
        Ok(())
    }
}
