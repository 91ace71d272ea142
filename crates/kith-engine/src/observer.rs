//! What happens to sessions, told to whoever keeps diagnostics of it.
//!
//! An observer is told by the places that append, open, close and fail anyway, so no feature enters the
//! loop. It hears what happened after it is durable, and nothing waits for it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use kith_vocab::event::Event;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::IngressEvent;

use crate::failure::SessionFailure;
use crate::feed::ThreadKey;

/// Something that happened to a session.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// A message was accepted for the first time.
    Accepted(&'a IngressEvent),
    /// The log was opened, or begins. Bytes that a crash had left behind its last batch were set aside.
    Opened { n_events: u64, torn_bytes: Option<u64> },
    /// A batch is durable. A history that no thread is in yet has none.
    Published { thread: Option<&'a ThreadKey>, events: &'a [Event] },
    /// It could not go on, and is opened again.
    Failed(&'a SessionFailure),
    /// It is damaged, and its thread goes on in a copy.
    MovedTo(SessionId),
    /// It is no longer open.
    Closed,
    /// It was removed for good.
    Removed,
}

/// The port for diagnostics.
pub trait SessionObserver: Send + Sync {
    /// Takes note of it. A driver calls this between a commit and its next step, so it must not wait.
    fn observe(&self, session_id: SessionId, what: Observation<'_>);
}

/// The observer of an engine, if it has one.
#[derive(Clone, Default)]
pub(crate) struct ObserverSlot(Arc<OnceLock<Arc<dyn SessionObserver>>>);

impl ObserverSlot {
    pub(crate) fn set(&self, observer: Arc<dyn SessionObserver>) {
        // Once it is set it stays.
        self.0.set(observer).ok();
    }

    pub(crate) fn observe(&self, session_id: SessionId, what: Observation<'_>) {
        if let Some(observer) = self.0.get() {
            observer.observe(session_id, what);
        }
    }
}

impl fmt::Debug for ObserverSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObserverSlot").field(&self.0.get().is_some()).finish()
    }
}
