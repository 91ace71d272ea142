//! Answers calls from the journal alone: no lock is taken and nothing is created. Inside a host
//! nothing is shown that is not durable; without one the files are read as they are.
//!
//! - [`sessions`]: listed, shown, read in pages, verified, exported.
//! - [`search`], [`tree`], [`threads`]: what was said, on which branch, in which thread.
//! - [`blobs`]: long texts in pages.
//! - [`home`]: prompt, identity and skills of an agent.
//! - [`policy`]: what would be decided about a command.
//! - [`scripts`]: priming scripts.
//! - [`cost`], [`queue`], [`why`]: what models have used, what waits, what was sent.
//! - [`models`]: the models there are, and which one is used.
//! - [`logs`]: what diagnostics say.
//! - [`repositories`]: what is trusted.
//! - [`backup`]: a copy of the house.

pub mod approvals;
pub mod backup;
pub mod blobs;
pub mod cost;
pub mod home;
pub mod logs;
pub mod models;
pub mod policy;
pub mod projects;
pub mod queue;
pub mod repositories;
pub mod scripts;
pub mod search;
pub mod sessions;
pub mod threads;
pub mod tree;
pub mod why;

use std::sync::Arc;

use kith_engine::state::State;
use kith_sessions::catalog::{Catalog, SqliteCatalog};
use kith_sessions::damage::Damage;
use kith_sessions::desk::{Desk, SqliteDesk};
use kith_sessions::disk::DiskFiles;
use kith_sessions::journal::{EachEvent, FilesJournal, Journal};
use kith_sessions::line::LogHead;
use kith_sessions::read::{Reading, Tail};
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_sessions::store::SessionStore;
use kith_vocab::ids::SessionId;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::call::{Access, Undelivered};
use crate::calls::session::ReadProgress;
use crate::error::{CallError, ErrorCode};
use crate::house::House;
use crate::router::Side;
use crate::settings::Settings;
use crate::settings::watch::SettingsWatch;

pub struct ReadSide {
    pub(crate) house: House,
    pub(crate) journal: Arc<dyn Journal>,
    /// Absent in a house where nothing was ever said, and where it cannot be read.
    pub(crate) desk: Option<Arc<dyn Desk>>,
    pub(crate) catalog: Arc<dyn Catalog>,
    /// Why the desk cannot be read.
    desk_error: Option<CallError>,
    /// Those of the host; without a host they are read when they are needed.
    settings: Option<Arc<SettingsWatch>>,
    whole_reads: Semaphore,
    /// The host is about to end, and what has no end of its own ends now.
    ending: CancellationToken,
}

/// Takes reports of how far reading has come; nobody relies on them.
type ReadReporter<'a> = &'a (dyn Fn(ReadProgress) + Send + Sync);

/// Maximum number of sessions read whole at once; each may take as much memory as its log is long.
const WHOLE_READS_MAX: usize = 4;
/// Maximum number of sessions listed in an error.
const CANDIDATES_MAX: usize = 5;

impl Side for ReadSide {
    const ACCESS: Access = Access::Read;
}

/// A session that was read, and what its events amount to.
pub(crate) struct FoldedSession {
    pub(crate) reading: Reading,
    pub(crate) state: State,
}

impl ReadSide {
    /// Reads the files of a house, whoever else writes them.
    pub async fn open(house: House) -> ReadSide {
        let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
        let (desk, desk_error) = match SqliteDesk::open_read_only(&house.desk_path()).await {
            Ok(desk) => (desk.map(|desk| Arc::new(desk) as Arc<dyn Desk>), None),
            Err(error) => (None, Some(CallError::from(error))),
        };
        let index = house.kith_dir().join("index.db");
        let catalog = Arc::new(SqliteCatalog::read_only(&index, store.clone()));
        let journal = Arc::new(FilesJournal::reader(store));
        let whole_reads = Semaphore::new(WHOLE_READS_MAX);
        let (settings, ending) = (None, CancellationToken::new());
        ReadSide { house, journal, desk, catalog, desk_error, settings, whole_reads, ending }
    }

    /// The read side of a host.
    pub(crate) fn of_host(
        house: House,
        journal: Arc<dyn Journal>,
        desk: Arc<dyn Desk>,
        catalog: Arc<dyn Catalog>,
        settings: Arc<SettingsWatch>,
        ending: CancellationToken,
    ) -> ReadSide {
        let (desk, settings) = (Some(desk), Some(settings));
        let whole_reads = Semaphore::new(WHOLE_READS_MAX);
        let desk_error = None;
        ReadSide { house, journal, desk, catalog, desk_error, settings, whole_reads, ending }
    }

    pub(crate) fn settings(&self) -> Result<Arc<Settings>, CallError> {
        match &self.settings {
            Some(settings) => settings.current(),
            None => Settings::load(&self.house).map(Arc::new),
        }
    }

    /// The id of the agent that is named, or of the default one.
    pub(crate) fn agent_id(&self, named: Option<&str>) -> Result<String, CallError> {
        Ok(self.settings()?.team.choose(named)?.id.clone())
    }

    /// The desk, for calls that would be wrong without it; `None` where nothing was ever said.
    pub(crate) fn require_desk(&self) -> Result<Option<&dyn Desk>, CallError> {
        match &self.desk_error {
            Some(error) => Err(error.clone()),
            None => Ok(self.desk.as_deref()),
        }
    }

    /// A note for calls that were answered without the desk, because it cannot be read.
    pub(crate) fn desk_note(&self, meaning: &str) -> Option<String> {
        let error = self.desk_error.as_ref()?;
        Some(format!("{meaning}: {}", error.message()))
    }

    pub(crate) async fn head(&self, id: SessionId) -> Result<Option<LogHead>, CallError> {
        match &self.desk {
            Some(desk) => Ok(desk.head(id).await?),
            None => Ok(None),
        }
    }

    /// A session as far as it can be read, and what its events amount to.
    pub(crate) async fn read(&self, id: SessionId) -> Result<FoldedSession, CallError> {
        let mut state = State::default();
        let reading = self.each(id, &mut |event| state.fold(&event)).await?;
        Ok(FoldedSession { reading, state })
    }

    /// Gives every event that can be read to `each`, one at a time: a session of any length fits.
    pub(crate) async fn each(
        &self,
        id: SessionId,
        each: EachEvent<'_>,
    ) -> Result<Reading, CallError> {
        let head = self.head(id).await?;
        let reading = self.journal.read(id, head, 0, each).await;
        reading.map_err(|error| CallError::of_session(id, error))
    }

    /// Why a session can only be read.
    pub(crate) async fn damage_of(&self, id: SessionId) -> Result<Option<Damage>, CallError> {
        let head = self.head(id).await?;
        match self.journal.read(id, head, 0, &mut |_| ()).await {
            Ok(Reading { tail: Tail::Damaged(damage), .. })
            | Err(StorageError { kind: StorageErrorKind::Damaged(damage), .. }) => Ok(Some(damage)),
            Ok(_) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A session that the desk knows and that has no file, by its id or a part of it.
    pub(crate) async fn resolve_gone(&self, session: &str) -> Result<Option<SessionId>, CallError> {
        let Some(desk) = self.desk.as_ref().filter(|_| !session.is_empty()) else {
            return Ok(None);
        };
        let there = self.journal.list().await?;
        let heads = desk.heads().await?.into_iter().map(|(id, _)| id);
        let gone = heads.filter(|id| !there.contains(id));
        match SessionId::named_by(session, gone).as_slice() {
            [id] => Ok(Some(*id)),
            _ => Ok(None),
        }
    }

    /// Waits until few enough others read a whole session. Refused if the client leaves meanwhile.
    pub(crate) async fn whole_read(
        &self,
        gone: &CancellationToken,
    ) -> Result<SemaphorePermit<'_>, CallError> {
        tokio::select! {
            biased;
            () = gone.cancelled() => Err(Undelivered::Gone.into()),
            permit = self.whole_reads.acquire() => {
                permit.map_err(|_| CallError::bug("the semaphore is never closed"))
            }
        }
    }

    /// A whole id, the beginning of one as it is shown, its own beginning or end, or `latest`.
    pub(crate) async fn resolve(&self, session: &str) -> Result<SessionId, CallError> {
        let not_found = |message: String| CallError::request(ErrorCode::SessionNotFound, message);
        let listed = |error: CallError| error.hint("`kith session ls` lists the sessions");
        if session == "latest" {
            let newest = self.list().await?.data.sessions.into_iter().next();
            return newest
                .map(|row| row.session_id)
                .ok_or_else(|| not_found("there are no sessions yet".to_owned()));
        }
        let fitting = SessionId::named_by(session, self.journal.list().await?);
        match fitting.as_slice() {
            [id] => Ok(*id),
            [] => Err(listed(not_found(format!("there is no session `{session}`")))),
            several => {
                let candidates = candidates(several);
                let message = format!("several sessions match `{session}`: {candidates}");
                Err(not_found(message).hint("type more of the id"))
            }
        }
    }
}

/// The newest of these sessions, as they are shown.
fn candidates(ids: &[SessionId]) -> String {
    let shown = ids.iter().rev().take(CANDIDATES_MAX).map(SessionId::short);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(CANDIDATES_MAX) {
        0 => shown,
        n => format!("{shown} and {n} more"),
    }
}

#[cfg(test)]
mod tests;
