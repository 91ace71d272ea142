//! A home written as one string.
//!
//! Each file begins with a line `//- path`. A path is relative to the agent's home; one that begins
//! with `/` is relative to a root that holds everything: `/user` is the user's home, `/user/luna`
//! the agent's home, its house and where it works.

use std::fs;
use std::path::PathBuf;

use kith_vocab::header::Audience;
use tempfile::TempDir;

use crate::error::HomeError;
use crate::identity::ConfiguredIdentity;
use crate::platform::Platform;
use crate::snapshot::current::CurrentFiles;
use crate::snapshot::{AssembledSnapshot, SnapshotRequest, snapshot};
use crate::tainted_period::TaintedPeriod;

/// 2026-11-15, 21:59:59 UTC.
pub(crate) const NOW_MS: u64 = 1_794_779_999_000;

pub(crate) struct TestHome {
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) house: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) user_home: PathBuf,
    pub(crate) audience: Audience,
    pub(crate) configured: ConfiguredIdentity,
    pub(crate) user_id: Option<&'static str>,
    /// At first the agent's home alone.
    pub(crate) trusted: Vec<PathBuf>,
    pub(crate) periods: Vec<TaintedPeriod>,
    _folder: TempDir,
}

impl TestHome {
    pub(crate) fn new(files: &str) -> TestHome {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let home = root.join("user/luna");
        fs::create_dir_all(&home).unwrap();
        for file in files.split("//- ").skip(1) {
            let (path, text) = file.split_once('\n').unwrap();
            let path = match path.strip_prefix('/') {
                Some(path) => root.join(path),
                None => home.join(path),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (house, cwd, trusted) = (home.clone(), home.clone(), vec![home.clone()]);
        TestHome {
            user_home: root.join("user"),
            root,
            home,
            house,
            cwd,
            audience: Audience::Owner,
            configured: ConfiguredIdentity::default(),
            periods: Vec::new(),
            user_id: Some("owner"),
            trusted,
            _folder: folder,
        }
    }

    pub(crate) fn at(mut self, cwd: &str) -> TestHome {
        self.cwd = self.root.join(cwd);
        self
    }

    pub(crate) fn trusting(mut self, folder: &str) -> TestHome {
        self.trusted.push(self.root.join(folder));
        self
    }

    /// Where others read along, nobody is the one spoken to.
    pub(crate) fn seen_by(mut self, audience: Audience) -> TestHome {
        self.audience = audience;
        self.user_id = self.user_id.filter(|_| audience == Audience::Owner);
        self
    }

    pub(crate) fn try_snapshot(&self) -> Result<AssembledSnapshot, HomeError> {
        self.reading(NOW_MS, snapshot)
    }

    pub(crate) fn look(&self, now_ms: u64) -> CurrentFiles {
        self.reading(now_ms, CurrentFiles::read).unwrap()
    }

    fn reading<T>(&self, now_ms: u64, read: impl FnOnce(&SnapshotRequest<'_>) -> T) -> T {
        let platform = Platform {
            os: "linux".to_owned(),
            os_version: Some("Debian GNU/Linux 12".to_owned()),
            shell: Some("/bin/bash".to_owned()),
        };
        read(&SnapshotRequest {
            home: &self.home,
            house: &self.house,
            cwd: &self.cwd,
            user_home: Some(&self.user_home),
            trusted: &self.trusted,
            periods: &self.periods,
            audience: self.audience,
            user_id: self.user_id,
            now_ms,
            time_zone: "Europe/Berlin",
            agent_id: "main",
            identity: &self.configured,
            platform: &platform,
        })
    }

    pub(crate) fn snapshot(&self) -> AssembledSnapshot {
        self.try_snapshot().unwrap()
    }

    /// The text without the name of the temporary folder.
    pub(crate) fn portable(&self, text: &str) -> String {
        text.replace(&*self.root.to_string_lossy(), "")
    }

    /// The system prompt from this heading on.
    pub(crate) fn prompt_from(&self, heading: &str) -> String {
        let prompt = self.portable(&self.snapshot().snapshot.system_prompt());
        let start = prompt.find(heading).expect("the heading is there");
        prompt[start..].to_owned()
    }
}
