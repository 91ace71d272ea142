//! The turns that run now, and those who want one of them to stop.
//!
//! Whoever works in a lane holds it until its turn rests, so someone who wants the conversation
//! elsewhere cannot take it. They leave their wish here instead; the one at work stops, ends the
//! turn and does what was wished, all in one batch.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kith_vocab::ids::{EventId, LeafId, SessionId};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::EngineError;
use super::branch::Branch;

#[derive(Default)]
pub(super) struct Halts(Mutex<HashMap<SessionId, AtWork>>);

struct AtWork {
    turn: Option<EventId>,
    halt: CancellationToken,
    cancel: CancellationToken,
    wish: Option<Wish>,
}

/// A branch that waits to be made by whoever is at work.
pub(super) struct Wish {
    pub(super) branch: Branch,
    pub(super) reply: oneshot::Sender<Result<LeafId, EngineError>>,
}

/// Which turn may be stopped.
#[derive(Clone, Copy)]
pub(super) enum Victim {
    Any,
    /// The turn that this message began, and no other.
    Turn(EventId),
}

impl Halts {
    /// Says that a turn of the session runs from now on until the returned entry is gone.
    pub(super) fn enter(
        &self,
        session_id: SessionId,
        turn: Option<EventId>,
        cancel: &CancellationToken,
    ) -> Entry<'_> {
        let (halt, cancel) = (CancellationToken::new(), cancel.child_token());
        let at_work = AtWork { turn, halt: halt.clone(), cancel: cancel.clone(), wish: None };
        self.with(|map| map.insert(session_id, at_work));
        Entry { halts: self, session_id, halt, cancel }
    }

    /// Stops the turn that runs, for this branch. `None` if no such turn runs, or if another wish
    /// came first.
    pub(super) fn wish(
        &self,
        victim: Victim,
        branch: &Branch,
    ) -> Option<oneshot::Receiver<Result<LeafId, EngineError>>> {
        self.with(|map| {
            let at_work = map.get_mut(&branch.session_id)?;
            let is_meant = match victim {
                Victim::Any => true,
                Victim::Turn(turn) => at_work.turn == Some(turn),
            };
            if !is_meant || at_work.wish.is_some() {
                return None;
            }
            let (reply, answer) = oneshot::channel();
            at_work.wish = Some(Wish { branch: branch.clone(), reply });
            // In this order: who sees the second must know why.
            at_work.halt.cancel();
            at_work.cancel.cancel();
            Some(answer)
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<SessionId, AtWork>) -> T) -> T {
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A turn that runs. When it is dropped, nobody can stop that turn any more.
pub(super) struct Entry<'a> {
    halts: &'a Halts,
    session_id: SessionId,
    pub(super) halt: CancellationToken,
    /// Set by whoever runs the turn, and when it is halted.
    pub(super) cancel: CancellationToken,
}

impl Entry<'_> {
    /// The turn runs no more; returns what is wished of whoever ran it.
    pub(super) fn leave(self) -> Option<Wish> {
        self.halts.with(|map| map.remove(&self.session_id)).and_then(|at_work| at_work.wish)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        // Whoever waits for an answer hears that there will be none, and asks again.
        self.halts.with(|map| map.remove(&self.session_id));
    }
}

#[cfg(test)]
mod tests;
