//! One open turn per thread, and a bound on how many turns run at once.
//!
//! A thread may have several sessions, but its people talk to one agent at a time: a session takes
//! the thread's permit with the message that begins a turn and gives it back with the turn's end,
//! first come, first served.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kith_vocab::ids::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::feed::ThreadKey;

/// Turns that run at once; others wait as rows.
pub const RUNNING_TURNS_MAX: usize = 256;

/// Threads that are remembered although no turn of them is open.
const IDLE_THREADS_MAX: usize = 1024;

#[derive(Debug)]
pub(crate) struct ThreadPermits {
    threads: Mutex<BTreeMap<ThreadKey, Arc<Gate>>>,
    turns: Arc<Semaphore>,
}

#[derive(Debug)]
struct Gate {
    permit: Arc<Semaphore>,
    state: Mutex<GateState>,
}

#[derive(Debug, Default)]
struct GateState {
    holder: Option<SessionId>,
    /// The turn that holds the permit waits for a person.
    holder_waits: bool,
    n_waiting: usize,
}

/// The right to have a turn open in a thread.
#[derive(Debug)]
pub(crate) struct TurnPermit {
    gate: Arc<Gate>,
    turns: Arc<Semaphore>,
    /// Given back while the turn waits for a person: it does not run then.
    running: Option<OwnedSemaphorePermit>,
    _thread: OwnedSemaphorePermit,
}

impl ThreadPermits {
    pub(crate) fn new() -> ThreadPermits {
        let turns = Arc::new(Semaphore::new(RUNNING_TURNS_MAX));
        ThreadPermits { threads: Mutex::default(), turns }
    }

    /// The session whose turn holds the permit and waits for a person, if one does.
    pub(crate) fn waiting_holder(&self, thread: &ThreadKey) -> Option<SessionId> {
        let gate = self.gate(thread);
        let state = gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.holder.filter(|_| state.holder_waits)
    }

    /// Waits for the thread's permit, and for room to run.
    pub(crate) fn acquire(
        &self,
        thread: &ThreadKey,
        session_id: SessionId,
    ) -> impl Future<Output = Option<TurnPermit>> + Send + use<> {
        let (gate, turns) = (self.gate(thread), Arc::clone(&self.turns));
        // Counted at once, so that a holder who looks finds that it is waited for.
        let waiting = WaiterCount::enter(&gate);
        async move {
            // The semaphores are never closed.
            let thread = Arc::clone(&gate.permit).acquire_owned().await.ok()?;
            let running = Arc::clone(&turns).acquire_owned().await.ok()?;
            drop(waiting);
            let mut state = gate.state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.holder, state.holder_waits) = (Some(session_id), false);
            drop(state);
            Some(TurnPermit { gate, turns, running: Some(running), _thread: thread })
        }
    }

    fn gate(&self, thread: &ThreadKey) -> Arc<Gate> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = threads.get(thread) {
            return Arc::clone(gate);
        }
        if threads.len() >= IDLE_THREADS_MAX {
            // Only the map refers to a gate that is neither held nor waited for.
            threads.retain(|_, gate| Arc::strong_count(gate) > 1);
        }
        let gate = Gate { permit: Arc::new(Semaphore::new(1)), state: Mutex::default() };
        let gate = Arc::new(gate);
        threads.insert(thread.clone(), Arc::clone(&gate));
        gate
    }
}

impl TurnPermit {
    /// Whether another session of the thread waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.gate.state.lock().unwrap_or_else(PoisonError::into_inner).n_waiting > 0
    }

    /// Says that the turn waits for a person. True if another session of the thread wants to go on.
    pub(crate) fn wait_for_person(&mut self) -> bool {
        self.running = None;
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.holder_waits = true;
        state.n_waiting > 0
    }

    /// Says that the turn runs again, and waits for room.
    pub(crate) async fn run_again(&mut self) {
        if self.running.is_none() {
            self.running = Arc::clone(&self.turns).acquire_owned().await.ok();
        }
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.holder_waits = false;
    }
}

impl Drop for TurnPermit {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.holder, state.holder_waits) = (None, false);
    }
}

/// Counts those who wait, also if they stop waiting.
struct WaiterCount(Arc<Gate>);

impl WaiterCount {
    fn enter(gate: &Arc<Gate>) -> WaiterCount {
        gate.state.lock().unwrap_or_else(PoisonError::into_inner).n_waiting += 1;
        WaiterCount(Arc::clone(gate))
    }
}

impl Drop for WaiterCount {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).n_waiting -= 1;
    }
}
