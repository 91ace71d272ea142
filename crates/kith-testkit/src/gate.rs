//! A place where a fake waits until the test lets it go on.
//!
//! What happens *while* a model answers or a tool runs can only be tested if that moment lasts. A
//! pause would make it last too long or not long enough.

use std::sync::Arc;

use tokio::sync::watch;

/// Shut until it is opened, and open ever after. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<GateState>>);

#[derive(Clone, Copy, Debug, Default)]
struct GateState {
    is_reached: bool,
    is_open: bool,
}

impl Gate {
    pub fn new() -> Gate {
        Gate(Arc::new(watch::Sender::new(GateState::default())))
    }

    pub fn open(&self) {
        self.0.send_modify(|state| state.is_open = true);
    }

    /// Returns when someone has come to the gate.
    pub async fn reached(&self) {
        self.wait_for(|state| state.is_reached).await;
    }

    /// Comes to the gate and returns when it is open.
    pub async fn pass(&self) {
        self.0.send_modify(|state| state.is_reached = true);
        self.wait_for(|state| state.is_open).await;
    }

    async fn wait_for(&self, holds: impl Fn(&GateState) -> bool) {
        let mut seen = self.0.subscribe();
        seen.wait_for(|state| holds(state)).await.expect("whoever waits holds the gate");
    }
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

impl PartialEq for Gate {
    fn eq(&self, other: &Gate) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Gate {}
