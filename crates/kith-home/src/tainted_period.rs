//! Times at which commands ran that may have written what strangers said.
//!
//! Nobody sees which files a command writes, but every file says when it last changed, and a command in
//! the sandbox can set neither that time nor the clock. So a file that changed while such a command ran
//! does not speak for the owner until somebody changes it at another time.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Disks note times later or more coarsely than the clock shows them.
const CHANGE_SLACK_MS: u64 = 2_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintedPeriod {
    /// The folder that the command could change; canonical.
    pub root: PathBuf,
    pub began: u64,
    /// `u64::MAX` while it runs.
    pub ended: u64,
}

impl TaintedPeriod {
    /// Whether what lies at this canonical path changed in the period.
    pub fn covers(&self, path: &Path, metadata: &Metadata) -> bool {
        let changed = metadata.ctime().saturating_mul(1_000) + metadata.ctime_nsec() / 1_000_000;
        let changed = u64::try_from(changed).unwrap_or_default();
        let began = self.began.saturating_sub(CHANGE_SLACK_MS);
        let ended = self.ended.saturating_add(CHANGE_SLACK_MS);
        path.starts_with(&self.root) && (began..=ended).contains(&changed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_counts_if_it_lies_beneath_the_root_and_changed_in_the_period() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "x").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let changed = u64::try_from(metadata.ctime()).unwrap() * 1_000;
        let check = |root: &Path, began, ended| {
            TaintedPeriod { root: root.to_owned(), began, ended }.covers(&path, &metadata)
        };
        assert!(check(folder.path(), changed, changed + 1_000));
        assert!(check(folder.path(), changed - 60_000, u64::MAX));
        assert!(!check(folder.path(), changed - 60_000, changed - 30_000));
        assert!(!check(folder.path(), changed + 30_000, u64::MAX));
        assert!(!check(&folder.path().join("sub"), changed, changed + 1_000));
    }
}
