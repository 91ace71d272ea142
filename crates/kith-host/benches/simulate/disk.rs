//! The disk in memory, and the one that forgets to sync.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_testkit::files::MemoryFiles;
use kith_vocab::files::{AppendFile, FileSystem};

use super::bug::Bug;
use super::world::World;

/// The file system that the journal is given.
pub(crate) fn file_system(files: &MemoryFiles, world: &Arc<World>) -> Arc<dyn FileSystem> {
    let bug = world.lock().bug;
    if bug == Some(Bug::MissingSync) {
        return Arc::new(CarelessFiles { files: files.clone(), world: Arc::clone(world) });
    }
    Arc::new(files.clone())
}

/// Says of session files that they are synced when they sometimes are not.
struct CarelessFiles {
    files: MemoryFiles,
    world: Arc<World>,
}

struct CarelessFile {
    file: Box<dyn AppendFile>,
    world: Arc<World>,
}

impl CarelessFiles {
    fn careless(&self, path: &Path, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        if path.extension().is_some_and(|it| it == "jsonl") {
            return Box::new(CarelessFile { file, world: Arc::clone(&self.world) });
        }
        file
    }
}

impl FileSystem for CarelessFiles {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.files.open_read(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.careless(path, self.files.open_append(path)?))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.careless(path, self.files.create_new(path)?))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.files.len(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.files.create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.files.sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.files.list(path)
    }
}

impl AppendFile for CarelessFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        if self.world.draw(|chance| chance.percent(30)) { Ok(()) } else { self.file.sync_data() }
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}
