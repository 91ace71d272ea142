//! The host: the one process that writes in a house. It holds the lock and the engine.

pub mod approvals;
pub(crate) mod chat;
pub mod compaction;
pub mod daemon;
pub mod dialog;
pub mod message;
pub mod models;
pub mod parts;
pub mod projects;
pub mod queue;
pub mod scripts;
pub mod subscription;
pub mod threads;
pub mod tree;
pub mod trust;
pub mod unfinished;
pub mod upkeep;

use std::sync::{Arc, Mutex, PoisonError};

use kith_engine::engine::{AgentSetup, Engine, EngineError, EngineParts};
use kith_engine::thread_file_sync::ThreadFileSync;
use kith_engine::thread_keeper::ThreadKeeper;
use kith_sessions::approval_folder::ApprovalFolder;
use kith_sessions::desk::Desk;
use kith_sessions::journal::Journal;
use kith_sessions::lock::{HouseLock, LockError};
use kith_sessions::storage::StorageError;
use kith_sessions::store::SessionStore;
use kith_vocab::audience::audience_of;
use kith_vocab::blocking::blocking;
use kith_vocab::clock::Clock;
use kith_vocab::header::Audience;
use kith_vocab::ids::ThreadId;
use kith_vocab::provider::Models;
use tokio_util::sync::CancellationToken;

use crate::call::Access;
use crate::caller::Caller;
use crate::clock::SystemClock;
use crate::diagnostics::{Diagnostics, HouseGauges};
use crate::error::CallError;
use crate::house::House;
use crate::language;
use crate::models::ModelRegistry;
use crate::notes::HostNote;
use crate::opening::HouseSetup;
use crate::read_side::ReadSide;
use crate::router::Side;
use crate::sandbox;
use crate::settings::watch::SettingsWatch;

use daemon::HostPresence;
use parts::{HostParts, WriterLock};

pub struct Host {
    engine: Engine,
    reads: Arc<ReadSide>,
    /// Only for the folders beside the sessions.
    store: SessionStore,
    journal: Arc<dyn Journal>,
    desk: Arc<dyn Desk>,
    setup: Arc<dyn HouseSetup>,
    models: Arc<ModelRegistry>,
    settings: Arc<SettingsWatch>,
    threads: ThreadKeeper,
    diagnostics: Arc<Diagnostics>,
    house: House,
    clock: Arc<dyn Clock>,
    started_at: u64,
    ending: CancellationToken,
    giving_up: CancellationToken,
    presence: HostPresence,
    /// What the person should know about how the host started, until someone tells it.
    start_notes: Mutex<Vec<HostNote>>,
    /// Held for as long as the host lives: it stands last, so it is given back last.
    lock: Mutex<Option<Box<dyn WriterLock>>>,
}

/// How long the key of a closed message is remembered. One delivered again later is a new message.
const KEYS_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// Where the host of a house is.
pub enum HostStart {
    Here(Arc<Host>),
    /// The house has a host already: who it is, as far as it says.
    Elsewhere {
        holder: String,
    },
}

impl Side for Host {
    const ACCESS: Access = Access::Write;
}

impl Host {
    /// Takes the house's lock and starts the engine, unless the house has a host.
    pub async fn start(house: House, settings: Arc<SettingsWatch>) -> Result<HostStart, CallError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        blocking(|| sandbox::remove_abandoned(&house, &settings.last_good()));
        let lock = match HouseLock::take(&house.kith_dir(), clock.now()) {
            Ok(lock) => lock,
            Err(LockError::Held { holder, .. }) => return Ok(HostStart::Elsewhere { holder }),
            Err(error) => return Err(error.into()),
        };
        let parts = HostParts::on_disk(house, settings, clock, Box::new(lock)).await?;
        Ok(HostStart::Here(Arc::new(Host::assemble(parts).await?)))
    }

    /// Starts a host that works with these parts. It must be the only one that does.
    pub async fn assemble(parts: HostParts) -> Result<Host, CallError> {
        let HostParts { house, settings, models, setup, store, journal, desk, .. } = parts;
        let HostParts { catalog, clock, limits, diagnostics, is_new_desk, mut lock, .. } = parts;
        let engine = Engine::new(EngineParts {
            journal: Arc::clone(&journal),
            desk: Arc::clone(&desk),
            catalog: Arc::clone(&catalog),
            clock: Arc::clone(&clock),
            models: Arc::clone(&models) as Arc<dyn Models>,
            setup: Arc::clone(&setup) as Arc<dyn AgentSetup>,
            limits,
        });
        let diagnostics = Diagnostics::start(&engine, diagnostics, &clock);
        let mut start_notes = Vec::new();
        if is_desk_behind(&*lock, is_new_desk, &*desk, &*journal).await? {
            let generation = desk.generation().await?;
            let is_lost = is_new_desk || is_desk_older(&*lock, generation);
            // The desk gets this generation when all is read, and what is entered before that raises
            // it by one at most: if this host ends meanwhile, the next one begins again.
            let newest = generation.max(lock.previous_generation().unwrap_or_default());
            let rebuilt = newest.saturating_add(2);
            lock.set_generation(rebuilt)?;
            lock.sync()?;
            let note = recover(&engine).await?;
            desk.raise_generation(rebuilt).await?;
            // A house that was copied has no lock, and a desk that knows everything.
            if is_lost {
                start_notes.push(note);
            }
        }
        // What was delivered so long ago is not delivered again.
        desk.prune(clock.now().saturating_sub(KEYS_KEPT_MS)).await?;
        let (reads_desk, reads_settings) = (Arc::clone(&desk), Arc::clone(&settings));
        let reads_journal = Arc::clone(&journal);
        let ending = CancellationToken::new();
        let reads = ReadSide::of_host(
            house.clone(),
            reads_journal,
            reads_desk,
            catalog,
            reads_settings,
            ending.clone(),
        );
        engine.keep_approval_files(ApprovalFolder::in_folder(&house.kith_dir()));
        let thread_files = ThreadFileSync::new(Arc::clone(&journal), store.thread_files());
        let threads = ThreadKeeper::start(&engine, thread_files);
        Ok(Host {
            engine,
            reads: Arc::new(reads),
            store,
            journal,
            desk,
            setup,
            models,
            settings,
            threads,
            diagnostics,
            house,
            started_at: clock.now(),
            ending,
            giving_up: CancellationToken::new(),
            presence: HostPresence::default(),
            clock,
            start_notes: Mutex::new(start_notes),
            lock: Mutex::new(Some(lock)),
        })
    }

    pub(crate) fn diagnostics(&self) -> &Arc<Diagnostics> {
        &self.diagnostics
    }

    /// All metrics, as Prometheus reads them.
    pub async fn metrics_text(&self) -> String {
        let (sessions_running, sessions_open) = self.engine.n_sessions();
        // A desk that cannot be asked is told of elsewhere.
        let rows_waiting = self.n_rows_waiting().await.ok();
        let gauges = HouseGauges { sessions_open, sessions_running, rows_waiting };
        self.diagnostics.metrics_text(gauges).await
    }

    async fn n_rows_waiting(&self) -> Result<usize, StorageError> {
        let mut n_rows = 0;
        for id in self.desk.sessions_with_open_rows().await? {
            n_rows += self.desk.open_rows(id).await?.len();
        }
        Ok(n_rows)
    }

    /// The engine, for what has no call yet.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn reads(&self) -> &Arc<ReadSide> {
        &self.reads
    }

    /// Tells those who only follow that the host is about to end; it does not stay for them.
    pub fn announce_end(&self) {
        self.ending.cancel();
    }

    /// Waits until the host is about to end and nothing more happens in it.
    async fn until_end(&self) {
        self.ending.cancelled().await;
        self.engine.until_rest().await;
    }

    /// Waits until no turn runs, and writes down what makes the next start faster.
    pub async fn end(&self) {
        self.engine.until_rest().await;
        self.setup.end_background().await;
        self.engine.flush().await;
        self.threads.until_written().await;
        self.diagnostics.end(self.kind()).await;
        self.engine.stop().await;
    }

    /// Who can read the thread. What others could read once is never the owner's alone again.
    async fn audience(&self, agent_id: &str, thread_id: &ThreadId) -> Result<Audience, CallError> {
        let by_name = audience_of(thread_id, &[]);
        let before = self.desk.thread_audience(agent_id, thread_id).await?;
        Ok(before.map_or(by_name, |before| before.narrowed_by(by_name)))
    }

    /// Refuses what would be written if another host may hold the house.
    fn require_lock(&self) -> Result<(), CallError> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        match &*lock {
            Some(lock) => Ok(lock.check()?),
            None => Err(EngineError::Stopping.into()),
        }
    }

    /// Whether the house has been, or is being, given up.
    pub fn has_given_up(&self) -> bool {
        self.giving_up.is_cancelled()
    }

    /// Waits until the house is given up.
    pub async fn given_up(&self) {
        self.giving_up.cancelled().await;
    }

    /// Gives the house up wherever the engine is, and leaves what runs to the next host.
    pub async fn give_up(&self) {
        self.giving_up.cancel();
        self.diagnostics.end(self.kind()).await;
        self.engine.stop().await;
        self.setup.end_background().await;
        self.engine.flush().await;
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Keeps the desk's generation outside the desk, so that an old copy of it shows.
    fn note_generation(&self, generation: u64) -> Result<(), CallError> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *lock {
            Some(lock) => Ok(lock.set_generation(generation)?),
            None => Err(EngineError::Stopping.into()),
        }
    }

    /// The language in which this caller is told things.
    pub(crate) fn language_for(&self, caller: &Caller) -> String {
        language::for_person(&self.settings.last_good(), None, caller.language.as_deref())
    }

    fn take_start_notes(&self) -> Vec<HostNote> {
        std::mem::take(&mut *self.start_notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether the logs may know of messages that the desk does not.
async fn is_desk_behind(
    lock: &dyn WriterLock,
    is_new_desk: bool,
    desk: &dyn Desk,
    journal: &dyn Journal,
) -> Result<bool, CallError> {
    if is_new_desk || lock.previous_generation().is_none() {
        return Ok(!journal.list().await?.is_empty());
    }
    Ok(is_desk_older(lock, desk.generation().await?))
}

fn is_desk_older(lock: &dyn WriterLock, generation: u64) -> bool {
    lock.previous_generation().is_some_and(|previous| previous > generation)
}

async fn recover(engine: &Engine) -> Result<HostNote, CallError> {
    let n_threads = engine.recover_desk().await?.n_threads;
    Ok(HostNote::DeskRebuilt { n_threads })
}

#[cfg(test)]
mod tests;
