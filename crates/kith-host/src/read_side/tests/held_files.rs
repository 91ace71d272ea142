//! A disk on which the next sync of something written takes until a test lets it end.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use kith_sessions::disk::DiskFiles;
use kith_vocab::files::{AppendFile, FileSystem};
use tokio::sync::mpsc as async_mpsc;

/// A test that does not let go fails instead of hanging.
const WAIT: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub(super) struct HeldFiles {
    holds: Arc<AtomicBool>,
    reached: async_mpsc::UnboundedSender<()>,
    released: Arc<Mutex<mpsc::Receiver<()>>>,
}

/// The test's side.
pub(super) struct SyncHold {
    holds: Arc<AtomicBool>,
    pub(super) reached: async_mpsc::UnboundedReceiver<()>,
    pub(super) release: mpsc::Sender<()>,
}

impl SyncHold {
    pub(super) fn hold_next(&self) {
        self.holds.store(true, Ordering::SeqCst);
    }
}

pub(super) fn held_files() -> (HeldFiles, SyncHold) {
    let (reached, is_reached) = async_mpsc::unbounded_channel();
    let (release, released) = mpsc::channel();
    let holds = Arc::new(AtomicBool::new(false));
    let files =
        HeldFiles { holds: Arc::clone(&holds), reached, released: Arc::new(Mutex::new(released)) };
    (files, SyncHold { holds, reached: is_reached, release })
}

struct HeldFile {
    files: HeldFiles,
    file: Box<dyn AppendFile>,
    is_written: bool,
}

impl HeldFiles {
    fn wrap(&self, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        Box::new(HeldFile { files: self.clone(), file, is_written: false })
    }
}

impl AppendFile for HeldFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_written = true;
        self.file.write(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        if self.is_written && self.files.holds.swap(false, Ordering::SeqCst) {
            self.files.reached.send(()).map_err(io::Error::other)?;
            self.files.released.lock().unwrap().recv_timeout(WAIT).map_err(io::Error::other)?;
        }
        self.file.sync_data()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn is_at(&self, path: &Path, len: u64) -> io::Result<bool> {
        self.file.is_at(path, len)
    }
}

impl FileSystem for HeldFiles {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        DiskFiles.open_read(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.wrap(DiskFiles.open_append(path)?))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.wrap(DiskFiles.create_new(path)?))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        DiskFiles.len(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        DiskFiles.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        DiskFiles.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        DiskFiles.create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        DiskFiles.sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        DiskFiles.list(path)
    }
}
