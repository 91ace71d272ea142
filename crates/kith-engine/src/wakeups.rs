//! Times at which a session is looked at again, kept on the desk because they may be far ahead.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_sessions::desk::{Wakeup, WakeupReason};
use kith_sessions::storage::StorageError;
use kith_vocab::ids::SessionId;
use tokio::sync::Notify;

use crate::engine::EngineShared;
use crate::step::RETRY_AHEAD_MS_MAX;

/// The timer looks at the desk at least this often: the wall clock may be set while it sleeps.
const LOOK_MS_MAX: u64 = 60_000;

#[derive(Debug, Default)]
pub(crate) struct WakeupTimer {
    changed: Notify,
    /// Sessions whose retry was due: their wake-up stays on the desk until they are open, so that no
    /// kill takes it away.
    due: Mutex<BTreeSet<SessionId>>,
}

impl WakeupTimer {
    /// Wakes the timer, because the desk holds another wake-up.
    pub(crate) fn notify(&self) {
        self.changed.notify_one();
    }

    fn due(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        // Entries are put and taken whole.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a session's wake-up on the desk.
pub(crate) fn wakeup_key(reason: WakeupReason, id: SessionId) -> String {
    format!("{reason:?}:{id}")
}

impl EngineShared {
    /// Takes the wake-up for a retry off the desk, if that woke the session: there is nothing to
    /// retry any more.
    pub(crate) async fn forget_due_retry(&self, id: SessionId) -> Result<(), StorageError> {
        if self.wakeups.due().remove(&id) {
            self.desk.remove_wakeup(&wakeup_key(WakeupReason::SessionRetry, id)).await?;
        }
        Ok(())
    }
}

/// Starts the one timer of a host.
pub(crate) fn run(engine: &Arc<EngineShared>) {
    let timed = Arc::clone(engine);
    engine.spawn(async move {
        loop {
            // A desk that cannot be read now is asked again later.
            let wait = wake_due(&timed).await.unwrap_or(LOOK_MS_MAX);
            tokio::select! {
                biased;
                () = timed.wakeups.changed.notified() => (),
                () = timed.clock.sleep(wait) => (),
            }
        }
    });
}

/// Wakes every session that is due, and returns how long to wait for the next.
async fn wake_due(engine: &Arc<EngineShared>) -> Result<u64, StorageError> {
    let mut removed = None;
    loop {
        let Some(wakeup) = engine.desk.next_wakeup().await? else { return Ok(LOOK_MS_MAX) };
        if removed.as_ref() == Some(&wakeup) {
            // The desk cannot be written to just now.
            return Ok(LOOK_MS_MAX);
        }
        let ahead = wakeup.at.saturating_sub(engine.clock.now());
        // Retries are never so far ahead: the clock was put back. Who is woken too early sets it
        // anew.
        let is_wrong = ahead > RETRY_AHEAD_MS_MAX && wakeup.reason != WakeupReason::ApprovalExpiry;
        if ahead > 0 && !is_wrong {
            return Ok(ahead.min(LOOK_MS_MAX));
        }
        if let (WakeupReason::SessionRetry, Some(id)) = (wakeup.reason, wakeup.session_id) {
            engine.wakeups.due().insert(id);
            let at = engine.clock.now().saturating_add(LOOK_MS_MAX);
            let key = wakeup_key(wakeup.reason, id);
            if key != wakeup.key {
                // An earlier version named it otherwise.
                engine.desk.remove_wakeup(&wakeup.key).await?;
            }
            engine.desk.set_wakeup(Wakeup { key, at, ..wakeup.clone() }).await?;
        } else {
            engine.desk.remove_wakeup(&wakeup.key).await?;
        }
        if let Some(id) = wakeup.session_id {
            engine.wake(id);
        }
        removed = Some(wakeup);
    }
}
