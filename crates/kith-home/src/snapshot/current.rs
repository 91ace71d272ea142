//! The prompt files as they are now, for a session that was given them as they were.
//!
//! The same code reads them that reads them for a snapshot, so what an audience may see is decided
//! once. What was read is kept, and read again only when a file may have changed: most turns cost a
//! `stat` per file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use kith_vocab::digest::sha256_hex;
use kith_vocab::header::Audience;
use kith_vocab::snapshot::Source;

use crate::discovery::repository_root;
use crate::error::HomeError;
use crate::ownership::FileStamp;

use super::time::{Moment, moment};
use super::{Assembly, SnapshotRequest, agents, environment, memory};

#[derive(Debug)]
pub struct CurrentFiles {
    pub(crate) audience: Audience,
    pub(crate) time_zone: String,
    pub(crate) files: Vec<CurrentFile>,
    /// Files that are there and left out: not readable, not a file, not to be trusted.
    pub(crate) left_out: HashSet<String>,
    notes_folder: PathBuf,
    notes: Vec<PathBuf>,
    cwd: PathBuf,
    repository: Option<PathBuf>,
    date: Date,
    taken_ms: u64,
    stamps: Vec<(PathBuf, FileStamp)>,
}

/// A file as the audience may see it.
#[derive(Debug)]
pub(crate) struct CurrentFile {
    pub(crate) path: String,
    pub(crate) content: String,
    /// Of `content`, not of the file: a change that the audience may not see does not count.
    pub(crate) sha256: String,
}

impl CurrentFiles {
    /// Fails only if the clock shows no date: a file that cannot be read is seen as such.
    pub fn read(request: &SnapshotRequest<'_>) -> Result<CurrentFiles, HomeError> {
        let moment = moment(request.now_ms, request.time_zone)?;
        let mut assembly = Assembly::of_running(request);
        let mut sources = agents::gather(&mut assembly)?.sources;
        sources.extend(memory::gather(&mut assembly, &moment)?);
        sources.extend(environment::gather(&mut assembly)?);
        let left_out = assembly.reports.iter().filter(|it| it.chars.is_none());
        let left_out = left_out.map(|it| it.path.to_string_lossy().into_owned()).collect();
        Ok(CurrentFiles {
            audience: request.audience,
            time_zone: moment.facts().time_zone,
            files: sources.into_iter().filter_map(CurrentFile::of).collect(),
            left_out,
            notes_folder: assembly.home.join(memory::NOTES_FOLDER),
            notes: memory::notes(&assembly, &moment),
            cwd: assembly.cwd,
            repository: assembly.repository,
            date: moment.today(),
            taken_ms: request.now_ms,
            stamps: assembly.stamps,
        })
    }

    /// Whether reading the files again would give the same.
    pub fn is_current(&self, now_ms: u64) -> bool {
        let today = moment(now_ms, &self.time_zone).map(|moment| moment.today());
        today.is_ok_and(|today| today == self.date)
            && repository_root(&self.cwd) == self.repository
            && self.stamps.iter().all(|(path, stamp)| {
                stamp.is_settled(self.taken_ms) && *stamp == FileStamp::of(path)
            })
    }

    pub(crate) fn moment(&self, now_ms: u64) -> Result<Moment, HomeError> {
        moment(now_ms, &self.time_zone)
    }

    /// Whether the path is a note of a past day, which is no longer read: not a change of the file.
    pub(crate) fn is_past_note(&self, path: &str) -> bool {
        let path = Path::new(path);
        path.parent() == Some(&self.notes_folder) && !self.notes.iter().any(|note| note == path)
    }
}

impl CurrentFile {
    fn of(source: Source) -> Option<CurrentFile> {
        let (path, content) = (source.path?, source.content?);
        let sha256 = sha256_hex(content.as_bytes());
        Some(CurrentFile { path, content, sha256 })
    }
}
