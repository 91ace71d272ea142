//! What the owner trusts: one view, asked three questions.
//!
//! - May this file speak as the owner? ([`TrustView::speaks_as_owner`])
//! - May these settings count? ([`TrustView::require_settings`])
//! - What trust has text read from this path? ([`TrustView::trust_of_path`])
//!
//! A clone can bring an agent, its settings and even a desk. So whether a house is the owner's is
//! asked of the user's own folder ([`HouseClaim`]), before the house is touched; what the house's
//! desk says of other repositories counts only then. And a path belongs to the innermost repository
//! that holds it, whatever lies around that.

mod repositories;

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_home::error::HomeError;
use kith_home::trust::{self as records, FolderTrust, covers, folder_fingerprint};
use kith_sessions::desk::{Desk, Repository};
use kith_vocab::clock::Clock;
use kith_vocab::event::messages::Trust;

use self::repositories::RepositoryRoots;
use crate::clock::SystemClock;
use crate::error::{CallError, ErrorCode, quoted};
use crate::house::House;
use crate::models::is_vendors_own;
use crate::settings::address::ServerAddress;

/// How old a view may be while a turn runs.
const RECENT_MS: u64 = 1_000;

/// Why a house is or is not taken as the owner's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HouseClaim {
    /// The owner made it or trusted it.
    Recorded(FolderTrust),
    /// No repository holds it and nobody vouched for it. It is taken as the owner's, but its
    /// settings reach nothing outside it.
    Unclaimed,
    /// It belongs to this repository, which the owner does not trust.
    ForeignRepository(PathBuf),
}

impl HouseClaim {
    pub fn of(house: &House) -> HouseClaim {
        HouseClaim::recorded(&house.dir, house.real_user_home().as_deref())
    }

    /// What the records in the user's folder say of a house. Both paths are canonical.
    pub fn recorded(dir: &Path, user_home: Option<&Path>) -> HouseClaim {
        let repository = records::repository_of(dir, user_home);
        // Outside a repository, a record of a folder above is not about this house.
        let within = repository.as_deref().unwrap_or(dir);
        let records = user_home.map(|it| records::trusted_folders(it, dir)).unwrap_or_default();
        match (records.into_iter().find(|it| it.folder.starts_with(within)), repository) {
            (Some(record), _) => HouseClaim::Recorded(record),
            (None, Some(root)) => HouseClaim::ForeignRepository(root),
            (None, None) => HouseClaim::Unclaimed,
        }
    }
}

/// What is trusted now. It is made anew when a record of trust changes.
pub struct TrustView {
    house: PathBuf,
    /// Canonical.
    user_home: Option<PathBuf>,
    claim: HouseClaim,
    /// The folders whose files may speak, each canonical.
    trusted: Vec<PathBuf>,
    roots: RepositoryRoots,
}

/// What the settings of a house reach outside it.
#[derive(Debug, Default)]
pub struct SettingsReach {
    /// The servers of its models, by the models' names.
    pub servers: Vec<(String, ServerAddress)>,
    /// The variables whose values its models send to a server that is not the vendor's own, by the
    /// models' names.
    pub keys: Vec<(String, String)>,
    /// The folders of `[skills] extra`.
    pub folders: Vec<PathBuf>,
    /// The collector of `[telemetry] endpoint`.
    pub collector: Option<ServerAddress>,
    /// The first setting that allows what is asked about or denied without it, as it is written.
    pub widened: Option<String>,
}

impl TrustView {
    /// Trusts the house, if it is the owner's, and the repositories that are still the ones they
    /// were when the owner trusted them.
    pub fn new(house: &House, repositories: &[Repository]) -> TrustView {
        let claim = HouseClaim::of(house);
        let trusted = trusted_folders(&claim, repositories);
        let (user_home, house) = (house.real_user_home(), house.dir.clone());
        TrustView { house, user_home, claim, trusted, roots: RepositoryRoots::default() }
    }

    /// The same, from a desk that is only read.
    pub async fn read(house: &House, desk: Option<&dyn Desk>) -> Result<TrustView, CallError> {
        let repositories = match desk {
            Some(desk) => desk.repositories().await?,
            None => Vec::new(),
        };
        Ok(TrustView::new(house, &repositories))
    }

    pub fn claim(&self) -> &HouseClaim {
        &self.claim
    }

    /// The folders whose files may speak, for those who look for such files.
    pub fn folders(&self) -> &[PathBuf] {
        &self.trusted
    }

    /// Whether this file or folder may speak as the owner.
    pub fn speaks_as_owner(&self, path: &Path) -> bool {
        self.trust_of_path(path) == Trust::Owner
    }

    /// Whether the owner trusts all of the repository with this root.
    pub fn trusts_repository(&self, root: &Path) -> bool {
        covers(&self.trusted, root, root)
    }

    /// Returns the trust of text read from this path: that of the innermost repository that holds
    /// it. Text that no repository holds is the owner's, as is everything in the house itself where
    /// the owner vouched for it.
    pub fn trust_of_path(&self, path: &Path) -> Trust {
        let Some(real) = nearest_real(path) else { return Trust::Untrusted };
        match self.repository_of(&real) {
            Some(root) if !covers(&self.trusted, &real, &root) => Trust::Untrusted,
            _ => Trust::Owner,
        }
    }

    /// The innermost repository that holds a canonical path. The user's own home is nobody else's,
    /// also where it is kept in a repository.
    pub fn repository_of(&self, path: &Path) -> Option<PathBuf> {
        self.roots.innermost(path).filter(|root| Some(root) != self.user_home.as_ref())
    }

    /// Refuses a house that came with a repository, before anything of it is read.
    pub fn require_house(&self) -> Result<(), CallError> {
        match &self.claim {
            HouseClaim::ForeignRepository(root) => {
                let (home, root) = (self.house.clone(), root.clone());
                Err(HomeError::Untrusted { home, root }.into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses settings of the house that reach further than whoever wrote them may.
    pub fn require_settings(&self, reach: &SettingsReach) -> Result<(), CallError> {
        self.require_house()?;
        let mut servers = reach.servers.iter();
        let server = servers.find(|(_, it)| !it.is_local() && !is_vendors_own(it));
        let folder = reach.folders.iter().find(|it| !self.is_in_the_house(it));
        let what = if let Some((name, server)) = server {
            format!("sends your messages to `{server}` (`[models.{name}]`)")
        } else if let Some(folder) = folder {
            format!("lets tools read `{}` (`[skills] extra`)", folder.display())
        } else if let Some((name, variable)) = reach.keys.first() {
            format!("sends the value of `{variable}` to a server (`[models.{name}]`)")
        } else if let Some(collector) = &reach.collector {
            // Also one on this machine: only the owner decides who is told what the agent does.
            format!("reports your turns to `{collector}` (`[telemetry] endpoint`)")
        } else if let Some(setting) = &reach.widened {
            format!("lets the agent do more without asking (`{setting}`)")
        } else {
            return Ok(());
        };
        if !self.is_house_recorded() {
            let path = self.house.join("kith.toml");
            let why = "but you have not marked this house as yours";
            let message = format!("`{}` {what}, {why}", path.display());
            let fix = format!("run `kith trust {}` if this house is yours", quoted(&self.house));
            return Err(CallError::request(ErrorCode::Untrusted, message).hint(fix));
        }
        Ok(())
    }

    /// Whether the owner made or trusted this very house. That a folder above it is trusted says nothing
    /// of a `kith.toml` that has appeared in one below.
    fn is_house_recorded(&self) -> bool {
        matches!(&self.claim, HouseClaim::Recorded(record) if record.folder == self.house)
    }

    fn is_in_the_house(&self, folder: &Path) -> bool {
        // One that does not exist yet is taken by its name, which must not lead upward.
        let is_upward = |it| matches!(it, Component::ParentDir);
        match folder.canonicalize() {
            Ok(real) => real.starts_with(&self.house),
            Err(_) => folder.starts_with(&self.house) && !folder.components().any(is_upward),
        }
    }
}

/// The path without links, or that of the nearest folder above it that exists.
fn nearest_real(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    path.ancestors().find_map(|it| it.canonicalize().ok())
}

fn trusted_folders(claim: &HouseClaim, repositories: &[Repository]) -> Vec<PathBuf> {
    let own = match claim {
        HouseClaim::Recorded(record) => Some(record.folder.clone()),
        HouseClaim::Unclaimed | HouseClaim::ForeignRepository(_) => None,
    };
    let is_same = |it: &&Repository| {
        folder_fingerprint(Path::new(&it.path)).is_ok_and(|mark| mark == it.mark)
    };
    let others = repositories.iter().filter(is_same).map(|it| PathBuf::from(&it.path));
    own.into_iter().chain(others).collect()
}

/// The view of a host, which stays while records of trust come and go.
pub struct CurrentTrust {
    house: House,
    kept: Mutex<KeptTrust>,
}

struct KeptTrust {
    /// As on the desk; the host, which alone changes them there, keeps them up to date.
    repositories: Vec<Repository>,
    view: Arc<TrustView>,
    /// When the records were looked at last, by the clock that never goes back; `None` if the view may
    /// be wrong.
    looked_at: Option<u64>,
}

impl CurrentTrust {
    pub fn new(house: House, repositories: Vec<Repository>) -> CurrentTrust {
        let view = Arc::new(TrustView::new(&house, &repositories));
        let looked_at = Some(SystemClock.monotonic());
        CurrentTrust { house, kept: Mutex::new(KeptTrust { repositories, view, looked_at }) }
    }

    pub fn set_repositories(&self, repositories: Vec<Repository>) {
        let mut kept = self.kept();
        kept.repositories = repositories;
        kept.looked_at = None;
    }

    /// Returns the view that holds now: the same one as long as no record has changed.
    pub fn view(&self) -> Arc<TrustView> {
        let mut kept = self.kept();
        let claim = HouseClaim::of(&self.house);
        let trusted = trusted_folders(&claim, &kept.repositories);
        if claim != kept.view.claim || trusted != kept.view.trusted {
            kept.view = Arc::new(TrustView::new(&self.house, &kept.repositories));
        }
        kept.looked_at = Some(SystemClock.monotonic());
        Arc::clone(&kept.view)
    }

    /// Returns the view of a moment ago, for what is asked many times in a turn: looking at the records
    /// takes longer than reading a short file. A turn begins with a new look.
    pub fn recent_view(&self) -> Arc<TrustView> {
        self.recent_view_at(SystemClock.monotonic())
    }

    fn recent_view_at(&self, now: u64) -> Arc<TrustView> {
        let kept = self.kept();
        match kept.looked_at {
            Some(looked_at) if now.saturating_sub(looked_at) < RECENT_MS => Arc::clone(&kept.view),
            _ => {
                drop(kept);
                self.view()
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, KeptTrust> {
        // Neither part is ever left half-changed, so a panic elsewhere does not spoil it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
