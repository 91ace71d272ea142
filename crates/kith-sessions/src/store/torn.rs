//! Moves a torn tail, the rest of an unfinished write, to a file of its own.

use std::io;
use std::path::{Path, PathBuf};

use kith_vocab::files::AppendFile;

use super::SessionStore;
use crate::blob::{each_chunk, write_all};
use crate::log::LogError;

/// Maximum number of torn tails with the same time before opening fails.
const TORN_NAMES_MAX: u32 = 100;

impl SessionStore {
    /// Copies what follows `good_len` to a file of its own, then cuts it off.
    pub(super) fn set_aside(
        &self,
        path: &Path,
        good_len: u64,
        now: u64,
    ) -> Result<String, LogError> {
        let repair_error = |source| LogError::Repair { path: path.to_owned(), source };
        let (torn_path, mut torn) = self.new_torn_file(path, now).map_err(repair_error)?;
        let copied = self
            .copy_tail(path, good_len, &mut *torn)
            .and_then(|()| self.files.sync_dir(&self.sessions))
            .inspect_err(|_| self.discard(&torn_path));
        copied.map_err(repair_error)?;
        let cut = || {
            let mut file = self.files.open_append(path)?;
            file.set_len(good_len)?;
            file.sync_data()
        };
        cut().map_err(repair_error)?;
        let name = torn_path.file_name().unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    fn new_torn_file(&self, path: &Path, now: u64) -> io::Result<(PathBuf, Box<dyn AppendFile>)> {
        let mut failure = io::Error::from(io::ErrorKind::AlreadyExists);
        for n in 1..=TORN_NAMES_MAX {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".torn-{now}"));
            if n > 1 {
                name.push(format!("-{n}"));
            }
            match self.files.create_new(Path::new(&name)) {
                Ok(file) => return Ok((PathBuf::from(name), file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failure = error,
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }

    fn copy_tail(&self, path: &Path, from: u64, torn: &mut dyn AppendFile) -> io::Result<()> {
        let source = self.files.open_read_at(path, from)?;
        each_chunk(source, &mut |chunk| write_all(torn, chunk))?;
        torn.sync_data()
    }
}
