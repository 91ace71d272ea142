//! Which calls may change files at the same time.
//!
//! A command that a person allowed to run outside the sandbox is compared with what the person saw
//! before it starts, and it reads its scripts while it runs. Another conversation of the house must not
//! change them in between. So whoever changes files claims the paths first: calls of the ordinary kind
//! share them, a command outside the sandbox has them alone until it ends. Claims are served in the order
//! in which they were made, so nobody waits for ever behind newcomers.
//!
//! Claims hold within one host. Programs of the owner, and hosts of other houses, do not ask for them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kith_vocab::tool::{Refusal, RunContext};
use tokio::sync::Notify;

use crate::trust::own_refusal;

/// How long a call waits for others that use the same files.
const CLAIM_WAIT_SECS_MAX: u64 = 120;

/// The claims of all sessions of a host.
#[derive(Default)]
pub struct FileClaims {
    /// In the order in which they were made; those in front have been served.
    queue: Mutex<ClaimQueue>,
    released: Notify,
}

#[derive(Default)]
struct ClaimQueue {
    last_number: u64,
    claims: Vec<QueuedClaim>,
}

struct QueuedClaim {
    number: u64,
    kind: ClaimKind,
    /// Each stands for all that lies beneath it, too.
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimKind {
    Shared,
    Exclusive,
}

/// A claim on paths. It ends when it is dropped, served or not.
pub(crate) struct FileClaim {
    claims: Arc<FileClaims>,
    number: u64,
}

impl FileClaims {
    /// Waits until nobody else uses these paths in a way that excludes this one.
    pub(crate) async fn claim(
        self: &Arc<FileClaims>,
        kind: ClaimKind,
        paths: Vec<PathBuf>,
        ctx: &RunContext,
    ) -> Result<FileClaim, Refusal> {
        let claim = self.enqueue(kind, paths);
        if self.is_served(claim.number) {
            return Ok(claim);
        }
        ctx.progress.line("waiting for a command of another conversation in this folder");
        let time = Duration::from_secs(CLAIM_WAIT_SECS_MAX).min(ctx.time_left);
        tokio::select! {
            biased;
            () = ctx.call.cancel.cancelled() => {
                Err(own_refusal("cancelled before it started".to_owned()))
            }
            () = self.served(claim.number) => Ok(claim),
            () = tokio::time::sleep(time) => Err(own_refusal(in_use(kind))),
        }
    }

    async fn served(&self, number: u64) {
        loop {
            let released = self.released.notified();
            tokio::pin!(released);
            // From here on no release is missed.
            released.as_mut().enable();
            if self.is_served(number) {
                return;
            }
            released.await;
        }
    }

    fn enqueue(self: &Arc<FileClaims>, kind: ClaimKind, paths: Vec<PathBuf>) -> FileClaim {
        let mut queue = self.queue();
        queue.last_number += 1;
        let number = queue.last_number;
        queue.claims.push(QueuedClaim { number, kind, paths });
        FileClaim { claims: Arc::clone(self), number }
    }

    fn is_served(&self, number: u64) -> bool {
        let queue = self.queue();
        let Some(place) = queue.claims.iter().position(|it| it.number == number) else {
            return false;
        };
        let (before, claim) = (&queue.claims[..place], &queue.claims[place]);
        !before.iter().any(|it| it.excludes(claim))
    }

    fn queue(&self) -> MutexGuard<'_, ClaimQueue> {
        // The list is never left half-changed, so a panic elsewhere does not spoil it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueuedClaim {
    fn excludes(&self, other: &QueuedClaim) -> bool {
        let is_alone = [self.kind, other.kind].contains(&ClaimKind::Exclusive);
        let overlap = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
        is_alone && self.paths.iter().any(|a| other.paths.iter().any(|b| overlap(a, b)))
    }
}

impl Drop for FileClaim {
    fn drop(&mut self) {
        self.claims.queue().claims.retain(|it| it.number != self.number);
        self.claims.released.notify_waiters();
    }
}

fn in_use(kind: ClaimKind) -> String {
    let who = match kind {
        ClaimKind::Shared => "an approved command outside the sandbox, of another conversation,",
        ClaimKind::Exclusive => "a command of another conversation, or one in the background,",
    };
    format!("not started: {who} uses the same files; try again when it has ended")
}

#[cfg(test)]
mod tests;
