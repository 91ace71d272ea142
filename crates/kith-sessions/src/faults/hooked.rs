//! Files in memory that tell of each operation before it is done.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kith_vocab::files::{AppendFile, FileSystem};

use super::FaultyFiles;

/// Gets the name of the operation and its path. What it returns as an error, the operation returns.
type Hook = Box<dyn FnMut(&str, &Path) -> io::Result<()> + Send>;

#[derive(Clone, Default)]
pub(crate) struct HookedFiles {
    pub(crate) files: FaultyFiles,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl HookedFiles {
    pub(crate) fn set_hook(
        &self,
        hook: impl FnMut(&str, &Path) -> io::Result<()> + Send + 'static,
    ) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    pub(crate) fn remove_hook(&self) {
        self.hook.lock().unwrap().take();
    }

    fn tell(&self, operation: &str, path: &Path) -> io::Result<()> {
        // Taken out meanwhile: what the hook itself does is not told.
        let Some(mut hook) = self.hook.lock().unwrap().take() else { return Ok(()) };
        let told = hook(operation, path);
        self.hook.lock().unwrap().get_or_insert(hook);
        told
    }
}

impl FileSystem for HookedFiles {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.tell("open_read", path)?;
        self.files.open_read(path)
    }

    fn open_read_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.tell("open_read_at", path)?;
        self.files.open_read_at(path, offset)
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.tell("open_append", path)?;
        let file = self.files.open_append(path)?;
        Ok(Box::new(HookedFile { hooked: self.clone(), path: path.to_owned(), file }))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.tell("create_new", path)?;
        let file = self.files.create_new(path)?;
        Ok(Box::new(HookedFile { hooked: self.clone(), path: path.to_owned(), file }))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.tell("len", path)?;
        self.files.len(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.tell("rename", from)?;
        self.files.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.tell("remove", path)?;
        self.files.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.files.create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.tell("sync_dir", path)?;
        self.files.sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.tell("list", path)?;
        self.files.list(path)
    }
}

struct HookedFile {
    hooked: HookedFiles,
    path: PathBuf,
    file: Box<dyn AppendFile>,
}

impl AppendFile for HookedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hooked.tell("write", &self.path)?;
        self.file.write(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.hooked.tell("sync_data", &self.path)?;
        self.file.sync_data()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}
