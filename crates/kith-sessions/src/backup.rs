//! Copies the `.kith` folder of a house while the house is in use.
//!
//! The order makes the copy consistent while the host works. The desk is first: it may lag behind
//! a log, never be ahead of one. Logs only grow, so a copy is an earlier state, and a batch that was
//! being written is cut off. Blobs come last: each is on the disk before a log names it.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::SystemTime;

use kith_vocab::files::{FileSystem, if_found};

use crate::blob::{each_chunk, write_all};
use crate::database::beside;
use crate::desk::{DeskError, SqliteDesk, ThreadRecords};
use crate::disk::DiskFiles;
use crate::log::LogError;
use crate::own_file;
use crate::read::Tail;
use crate::storage::StorageError;
use crate::store::SessionStore;

/// Folders within folders; a deeper one is refused.
const DEPTH_MAX: usize = 32;
/// Maximum number of attempts to copy the desk while hosts start or stop.
const DESK_TRIES_MAX: usize = 5;

/// Files that are not copied: derived ones, diagnostics, and those of the running process.
const LEFT_OUT: [&str; 9] = [
    "sessions",
    "blobs",
    "threads",
    "logs",
    "state.db",
    "state.db-wal",
    "state.db-shm",
    "host.lock",
    "host.sock",
];
const INDEX: &str = "index.db";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupCounts {
    pub sessions: u64,
    pub files: u64,
    pub bytes: u64,
    /// Files that were not copied, and why.
    pub left_out: Vec<String>,
}

type Report = Box<dyn Fn(&BackupCounts) + Send + Sync>;

/// What is copied, and who is told of it.
struct BackupCopy {
    counts: BackupCounts,
    report: Report,
}

impl Default for BackupCopy {
    fn default() -> BackupCopy {
        BackupCopy { counts: BackupCounts::default(), report: Box::new(|_| ()) }
    }
}

impl fmt::Debug for BackupCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupCopy").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// A copy in the making. It gets its name when it is whole; one that is given up is removed.
#[derive(Debug)]
pub struct Backup {
    target: PathBuf,
    unfinished: PathBuf,
    copied: BackupCopy,
}

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("cannot create the folder `{}`", path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("cannot copy `{}`", path.display())]
    Copy { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Desk(#[from] DeskError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Sessions(#[from] LogError),
}

impl Backup {
    /// `target` must not be there, or be an empty folder.
    pub fn begin(target: &Path) -> Result<Backup, BackupError> {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".unfinished-{}", process::id()));
        let unfinished = PathBuf::from(name);
        fs::create_dir(&unfinished)
            .map_err(|source| BackupError::Make { path: unfinished.clone(), source })?;
        Ok(Backup { target: target.to_owned(), unfinished, copied: BackupCopy::default() })
    }

    /// Tells after each file what was copied so far.
    #[must_use]
    pub fn reporting(mut self, report: impl Fn(&BackupCounts) + Send + Sync + 'static) -> Backup {
        self.copied.report = Box::new(report);
        self
    }

    /// Copies a file or a folder of the house.
    pub fn add(&mut self, house: &Path, name: &Path) -> Result<(), BackupError> {
        let to = self.unfinished.join(name);
        if let Some(folder) = to.parent() {
            DiskFiles
                .create_dir_all(folder)
                .map_err(|source| BackupError::Make { path: folder.to_owned(), source })?;
        }
        self.copied.add(&house.join(name), &to)
    }

    /// Copies the house's `.kith`, if it has one.
    pub async fn add_kith_dir(&mut self, house: &Path) -> Result<(), BackupError> {
        let from = house.join(".kith");
        own_file::check_folder(&from)
            .map_err(|source| BackupError::Copy { path: from.clone(), source })?;
        if !from.exists() {
            return Ok(());
        }
        self.copied.add_kith_dir(&from, &self.unfinished.join(".kith")).await
    }

    /// Gives the copy its name. When this returns `Ok`, all of it is on the disk.
    pub fn finish(mut self) -> Result<BackupCounts, BackupError> {
        let failed = |source| BackupError::Make { path: self.target.clone(), source };
        sync_folders(&self.unfinished, 0).map_err(failed)?;
        fs::rename(&self.unfinished, &self.target).map_err(failed)?;
        let above = self.target.parent().filter(|it| !it.as_os_str().is_empty());
        DiskFiles.sync_dir(above.unwrap_or(Path::new("."))).map_err(failed)?;
        Ok(std::mem::take(&mut self.copied.counts))
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        // Gone if it was finished; else something failed already, and that is what gets reported.
        fs::remove_dir_all(&self.unfinished).ok();
    }
}

impl BackupCopy {
    /// Copies a file or a folder with all that is in it. What is not there is passed over; links and
    /// special files are left out and named.
    fn add(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        self.add_at(from, to, 0).map_err(|source| BackupError::Copy { path: from.into(), source })
    }

    async fn add_kith_dir(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        let failed = |path: &Path, source| BackupError::Copy { path: path.to_owned(), source };
        DiskFiles.create_dir_all(to).map_err(|source| failed(to, source))?;
        let desk = self.add_desk(&from.join("state.db"), &to.join("state.db")).await?;
        self.add_sessions(from, to, desk.as_ref()).await?;
        self.add(&from.join("blobs"), &to.join("blobs"))?;
        self.leave_out_removed(from, to)?;
        let entries = fs::read_dir(from).map_err(|source| failed(from, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| failed(from, source))?;
            let name = entry.file_name();
            let is_left_out = name
                .to_str()
                .is_some_and(|name| LEFT_OUT.contains(&name) || name.starts_with(INDEX));
            if !is_left_out {
                self.add(&entry.path(), &to.join(name))?;
            }
        }
        Ok(())
    }

    /// Copies the desk, if there is one, and opens the copy.
    async fn add_desk(
        &mut self,
        from: &Path,
        to: &Path,
    ) -> Result<Option<SqliteDesk>, BackupError> {
        let failed = |source| BackupError::Copy { path: from.to_owned(), source };
        for _ in 0..DESK_TRIES_MAX {
            let before = DeskStamp::of(from).map_err(failed)?;
            let Some(desk) = SqliteDesk::open_read_only(from).await? else { return Ok(None) };
            desk.copy_to(to).await?;
            drop(desk);
            // Without a host the file was read as immutable. If one has begun to write
            // since, the copy may be half old and half new.
            if before.is_in_use || before == DeskStamp::of(from).map_err(failed)? {
                File::open(to).and_then(|copy| copy.sync_all()).map_err(failed)?;
                self.count(to);
                return Ok(SqliteDesk::open_read_only(to).await?);
            }
            fs::remove_file(to).map_err(failed)?;
        }
        Err(failed(io::Error::other(
            "kith was started or stopped while the copy was made; try again",
        )))
    }

    /// A session that was removed meanwhile may have lost its blobs before they were copied.
    fn leave_out_removed(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        let source = SessionStore::new(Arc::new(DiskFiles), from);
        let copy = SessionStore::new(Arc::new(DiskFiles), to);
        for id in copy.list()? {
            if !source.exists(id)? {
                let path = copy.path(id);
                let bytes = file_len(&path).unwrap_or_default();
                fs::remove_file(&path).map_err(|source| BackupError::Copy { path, source })?;
                self.counts.sessions -= 1;
                self.counts.files -= 1;
                self.counts.bytes -= bytes.min(self.counts.bytes);
            }
        }
        Ok(())
    }

    async fn add_sessions(
        &mut self,
        from: &Path,
        to: &Path,
        desk: Option<&SqliteDesk>,
    ) -> Result<(), BackupError> {
        let source = SessionStore::new(Arc::new(DiskFiles), from);
        let copy = SessionStore::new(Arc::new(DiskFiles), to);
        for id in source.list()? {
            let (path, copy_path) = (source.path(id), copy.path(id));
            self.add(&path, &copy_path)?;
            if !copy.exists(id)? {
                continue; // Removed since it was listed.
            }
            self.counts.sessions += 1;
            let head = match desk {
                Some(desk) => desk.head(id).await?,
                None => None,
            };
            // Without its blobs a line cannot be read; they are still at the source.
            let tail = source.read_file(&copy_path, id, head.as_ref(), &mut |_| ());
            let Ok(reading) = tail else { continue };
            if let Tail::Torn { .. } = reading.tail {
                let cut = DiskFiles.open_append(&copy_path).and_then(|mut file| {
                    file.set_len(reading.good_len)?;
                    file.sync_data()
                });
                cut.map_err(|source| BackupError::Copy { path: copy_path, source })?;
            }
        }
        Ok(())
    }

    fn add_at(&mut self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        let Some(metadata) = if_found(fs::symlink_metadata(from))? else { return Ok(()) };
        if metadata.is_file() {
            let is_of_life = from.ancestors().any(|it| it.ends_with(".kith"));
            if is_of_life && let Err(error) = own_file::metadata(from) {
                let Some(foreign) = own_file::foreign_file(&error) else { return Err(error) };
                self.counts.left_out.push(format!("`{}` {}", from.display(), foreign.problem));
                return Ok(());
            }
            return self.add_file(from, to);
        }
        if !metadata.is_dir() {
            let what = if metadata.is_symlink() { "a link" } else { "not a file" };
            self.counts.left_out.push(format!("`{}` is {what}", from.display()));
            return Ok(());
        }
        if depth >= DEPTH_MAX {
            return Err(io::Error::other(format!("folders are nested more than {DEPTH_MAX} deep")));
        }
        DiskFiles.create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            self.add_at(&entry.path(), &to.join(entry.file_name()), depth + 1)?;
        }
        Ok(())
    }

    /// A file that grows meanwhile is copied up to its length at the start.
    fn add_file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let Some(file) = if_found(File::open(from))? else { return Ok(()) };
        if let Some(folder) = to.parent() {
            DiskFiles.create_dir_all(folder)?;
        }
        let len = file.metadata()?.len();
        let mut copy = DiskFiles.create_new(to)?;
        each_chunk(file.take(len), &mut |chunk| write_all(&mut *copy, chunk))?;
        copy.sync_data()?;
        self.count(to);
        Ok(())
    }

    fn count(&mut self, path: &Path) {
        self.counts.files += 1;
        self.counts.bytes += file_len(path).unwrap_or_default();
        (self.report)(&self.counts);
    }
}

/// Length and time of a desk's files, to detect that it was written to.
#[derive(PartialEq, Eq)]
struct DeskStamp {
    is_in_use: bool,
    /// Its length, and when it was last changed; `None` if there is none.
    file: Option<(u64, SystemTime)>,
}

impl DeskStamp {
    fn of(path: &Path) -> io::Result<DeskStamp> {
        let file = match own_file::metadata(path)? {
            Some(metadata) => Some((metadata.len(), metadata.modified()?)),
            None => None,
        };
        Ok(DeskStamp { is_in_use: beside(path, "-wal").try_exists()?, file })
    }
}

fn sync_folders(folder: &Path, depth: usize) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other(format!("folders are nested more than {DEPTH_MAX} deep")));
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path(), depth + 1)?;
        }
    }
    DiskFiles.sync_dir(folder)
}

fn file_len(path: &Path) -> io::Result<u64> {
    fs::metadata(path).map(|it| it.len())
}

#[cfg(test)]
mod tests;
