//! Everything a host works with.
//!
//! A host touches the world only through these, so one can be put together without a disk, a server
//! or the time of day.

use std::sync::Arc;

use kith_engine::engine::EngineLimits;
use kith_sessions::catalog::{Catalog, SqliteCatalog};
use kith_sessions::desk::{CommandTime, Desk, SqliteDesk, TaintRecords, TrustRecords};
use kith_sessions::diagnostic_log::LogWriter;
use kith_sessions::disk::DiskFiles;
use kith_sessions::journal::{FilesJournal, Journal};
use kith_sessions::lock::{HouseLock, LockError};
use kith_sessions::store::SessionStore;
use kith_vocab::clock::Clock;

use crate::diagnostics::{DiagnosticParts, configured_traces_url};
use crate::error::CallError;
use crate::house::House;
use crate::models::ModelRegistry;
use crate::opening::{HomeSetup, HouseSetup};
use crate::settings::watch::SettingsWatch;
use crate::tainted_files::TaintedFiles;

pub struct HostParts {
    pub house: House,
    pub settings: Arc<SettingsWatch>,
    pub models: Arc<ModelRegistry>,
    pub setup: Arc<dyn HouseSetup>,
    /// The folder of the house, for thread files and the other folders beside the sessions. Sessions
    /// are reached through the journal.
    pub store: SessionStore,
    pub journal: Arc<dyn Journal>,
    pub desk: Arc<dyn Desk>,
    /// The desk was made just now.
    pub is_new_desk: bool,
    pub catalog: Arc<dyn Catalog>,
    pub clock: Arc<dyn Clock>,
    pub limits: EngineLimits,
    pub diagnostics: DiagnosticParts,
    /// Held for as long as the host lives.
    pub lock: Box<dyn WriterLock>,
}

impl HostParts {
    /// Those of a house on this machine's disk, whose models are asked over the network.
    pub async fn on_disk(
        house: House,
        settings: Arc<SettingsWatch>,
        clock: Arc<dyn Clock>,
        lock: Box<dyn WriterLock>,
    ) -> Result<HostParts, CallError> {
        let new_device_id = clock.new_id().to_string();
        let desk = SqliteDesk::open(&house.desk_path(), new_device_id.clone()).await?;
        let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
        let index = house.kith_dir().join("index.db");
        let repositories = desk.repositories().await?;
        let known = desk.tainted_contents().await?;
        let times = desk.command_times().await?;
        // Its host died, and everything it had started with it.
        for time in times.iter().filter(|it| it.ended.is_none()) {
            let ended = Some(clock.now().max(time.began));
            desk.note_command(CommandTime { ended, ..time.clone() }).await?;
        }
        let is_new_desk = desk.device_id() == new_device_id;
        let desk: Arc<dyn Desk> = Arc::new(desk);
        let tainted =
            Arc::new(TaintedFiles::new(Arc::clone(&desk), Arc::clone(&clock), known, times));
        let setup = HomeSetup::new(house.clone(), Arc::clone(&settings), repositories, tainted);
        let diagnostics = DiagnosticParts {
            logs: Some(LogWriter::in_folder(&house.kith_dir())),
            traces_url: configured_traces_url(&settings.last_good()),
        };
        Ok(HostParts {
            models: Arc::new(ModelRegistry::new(Arc::clone(&settings))),
            setup: Arc::new(setup),
            journal: Arc::new(FilesJournal::new(store.clone())),
            is_new_desk,
            desk,
            catalog: Arc::new(SqliteCatalog::new(&index, store.clone())),
            limits: EngineLimits::default(),
            diagnostics,
            house,
            settings,
            store,
            clock,
            lock,
        })
    }
}

/// The lock of a house as its host sees it: it keeps the desk's generation outside the desk, so that
/// an old copy of the desk shows.
pub trait WriterLock: Send + Sync {
    /// The desk's generation as the host before this one noted it; `None` if nobody knows.
    fn previous_generation(&self) -> Option<u64>;

    fn set_generation(&mut self, generation: u64) -> Result<(), LockError>;

    /// Makes durable what was noted.
    fn sync(&self) -> Result<(), LockError>;

    /// Refuses if another may hold the house by now.
    fn check(&self) -> Result<(), LockError>;
}

impl WriterLock for HouseLock {
    fn previous_generation(&self) -> Option<u64> {
        HouseLock::previous_generation(self)
    }

    fn set_generation(&mut self, generation: u64) -> Result<(), LockError> {
        HouseLock::set_generation(self, generation)
    }

    fn sync(&self) -> Result<(), LockError> {
        HouseLock::sync(self)
    }

    fn check(&self) -> Result<(), LockError> {
        HouseLock::check(self)
    }
}
