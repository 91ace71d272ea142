//! The claim on a house: whether the owner made or trusted it.

use std::path::{Path, PathBuf};

use kith_home::trust::{FolderTrust, repository_of, trusted_folders};

use crate::house::House;

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
        let repository = repository_of(dir, user_home);
        // Outside a repository, a record of a folder above is not about this house.
        let within = repository.as_deref().unwrap_or(dir);
        let records = user_home.map(|it| trusted_folders(it, dir)).unwrap_or_default();
        match (records.into_iter().find(|it| it.folder.starts_with(within)), repository) {
            (Some(record), _) => HouseClaim::Recorded(record),
            (None, Some(root)) => HouseClaim::ForeignRepository(root),
            (None, None) => HouseClaim::Unclaimed,
        }
    }
}
