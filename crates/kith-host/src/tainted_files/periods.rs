//! When commands ran in this house that may have written what strangers said.
//!
//! That is a command of a session that has read untrusted text, one with the network or outside the
//! sandbox, and, from the first such command on, every other one in the same folders: it may copy what the
//! first one left. The beginning is durable before the command starts; a period that a crash left open
//! ends when the next host opens the desk. Periods are joined where that makes them longer, never dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_home::tainted_period::TaintedPeriod;
use kith_sessions::desk::{COMMAND_TIMES_MAX, CommandTime, Desk};
use kith_sessions::storage::StorageError;
use kith_tools::exec_shell::{CommandReach, CommandTimes};
use kith_vocab::clock::{BoxFuture, Clock};

/// Commands that follow one another within this time make one period.
const JOINED_MS: u64 = 60_000;

pub struct CommandPeriods {
    desk: Arc<dyn Desk>,
    clock: Arc<dyn Clock>,
    periods: Mutex<Vec<KnownPeriod>>,
    /// Held while a beginning or an end is entered here and on the desk: no command starts before the
    /// beginning of its period is durable, and no end overtakes a beginning that came after it.
    noting: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
struct KnownPeriod {
    period: TaintedPeriod,
    n_running: u32,
}

/// Ends the periods of a command when it is dropped.
struct RunningPeriods {
    periods: Arc<CommandPeriods>,
    roots: Vec<PathBuf>,
}

impl CommandPeriods {
    pub fn new(desk: Arc<dyn Desk>, clock: Arc<dyn Clock>, stored: Vec<CommandTime>) -> Self {
        let now = clock.now();
        let known = |time| KnownPeriod { period: period_of(time, now), n_running: 0 };
        let periods = Mutex::new(stored.into_iter().map(known).collect());
        CommandPeriods { desk, clock, periods, noting: tokio::sync::Mutex::new(()) }
    }

    /// Whether what lies at this path changed while such a command ran.
    pub fn cover(&self, path: &Path) -> bool {
        let known = self.known();
        if !known.iter().any(|it| path.starts_with(&it.period.root)) {
            return false;
        }
        let Ok(metadata) = fs::metadata(path) else { return false };
        known.iter().any(|it| it.period.covers(path, &metadata))
    }

    /// Whether such a command could change anything in or above this folder.
    pub fn any_at(&self, path: &Path) -> bool {
        let overlap = |root: &Path| root.starts_with(path) || path.starts_with(root);
        self.known().iter().any(|it| overlap(&it.period.root))
    }

    pub fn list(&self) -> Vec<TaintedPeriod> {
        self.known().iter().map(|it| it.period.clone()).collect()
    }

    async fn start(self: &Arc<Self>, roots: Vec<PathBuf>) -> Result<RunningPeriods, String> {
        let mut running = RunningPeriods { periods: Arc::clone(self), roots: Vec::new() };
        let _noting = self.noting.lock().await;
        for root in roots {
            if let Some(time) = self.open(&root)
                && let Err(error) = self.desk.note_command(time).await
            {
                // It does not count as open, or the next command would not be noted.
                self.close(&root);
                return Err(error.to_string());
            }
            running.roots.push(root);
        }
        Ok(running)
    }

    /// Starts a period for a folder, or extends its last one if that ended less than a minute ago. Returns
    /// what the desk must note, or `None` if a running command has noted it.
    fn open(&self, root: &Path) -> Option<CommandTime> {
        let now = self.clock.now();
        let mut known = self.known();
        // The desk takes no more; the last one of the folder is made longer instead.
        let is_full = known.len() as u64 >= COMMAND_TIMES_MAX;
        let is_joined = |it: &&mut KnownPeriod| {
            it.n_running > 0 || is_full || now.saturating_sub(it.period.ended) <= JOINED_MS
        };
        let last = known.iter_mut().filter(|it| it.period.root == root);
        if let Some(last) = last.max_by_key(|it| it.period.began).filter(is_joined) {
            let was_open = last.n_running > 0;
            last.n_running += 1;
            last.period.ended = u64::MAX;
            return (!was_open).then(|| time_of(&last.period, None));
        }
        let period = TaintedPeriod { root: root.to_owned(), began: now, ended: u64::MAX };
        let noted = time_of(&period, None);
        known.push(KnownPeriod { period, n_running: 1 });
        Some(noted)
    }

    /// A command in this folder has ended.
    fn close(&self, root: &Path) {
        let now = self.clock.now();
        let mut known = self.known();
        let mut open = known.iter_mut().filter(|it| it.period.root == root && it.n_running > 0);
        let Some(open) = open.next() else { return };
        open.n_running -= 1;
        if open.n_running == 0 {
            open.period.ended = now.max(open.period.began);
        }
    }

    /// The last period of the folder as the desk should note it, if no command runs there.
    fn ended(&self, root: &Path) -> Option<CommandTime> {
        let known = self.known();
        let last = known.iter().filter(|it| it.period.root == root);
        let last = last.max_by_key(|it| it.period.began).filter(|it| it.n_running == 0)?;
        Some(time_of(&last.period, Some(last.period.ended)))
    }

    fn known(&self) -> MutexGuard<'_, Vec<KnownPeriod>> {
        // The list is never left half-changed, so a panic elsewhere does not spoil it.
        self.periods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The periods on a desk that is only read.
pub async fn stored(desk: Option<&dyn Desk>, now: u64) -> Result<Vec<TaintedPeriod>, StorageError> {
    let Some(desk) = desk else { return Ok(Vec::new()) };
    let times = desk.command_times().await?;
    Ok(times.into_iter().map(|time| period_of(time, now)).collect())
}

/// One that is still open lasts until now.
fn period_of(CommandTime { root, began, ended }: CommandTime, now: u64) -> TaintedPeriod {
    let ended = ended.unwrap_or_else(|| now.max(began));
    TaintedPeriod { root: PathBuf::from(root), began, ended }
}

fn time_of(period: &TaintedPeriod, ended: Option<u64>) -> CommandTime {
    let root = period.root.to_string_lossy().into_owned();
    CommandTime { root, began: period.began, ended }
}

impl Drop for RunningPeriods {
    fn drop(&mut self) {
        let (periods, roots) = (Arc::clone(&self.periods), std::mem::take(&mut self.roots));
        for root in &roots {
            periods.close(root);
        }
        // Without a runtime the host is ending; a period that stays open on the desk ends with the next
        // host.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let _noting = periods.noting.lock().await;
            for time in roots.iter().filter_map(|root| periods.ended(root)) {
                periods.desk.note_command(time).await.ok();
            }
        });
    }
}

/// For commands, which hold what they are given until they have ended.
pub struct NotedCommands(pub Arc<CommandPeriods>);

impl CommandTimes for NotedCommands {
    fn begin(&self, reach: CommandReach) -> BoxFuture<'_, Result<Box<dyn Send>, String>> {
        Box::pin(async move {
            let CommandReach { folders, is_tainted } = reach;
            if !is_tainted && !folders.iter().any(|it| self.0.any_at(it)) {
                return Ok(Box::new(()) as Box<dyn Send>);
            }
            let running = self.0.start(folders).await?;
            Ok(Box::new(running) as Box<dyn Send>)
        })
    }
}

#[cfg(test)]
mod tests;
