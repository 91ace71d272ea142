//! Outputs that were too long for memory and come as a file.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use kith_vocab::digest::{Sha256Writer, is_sha256_hex, sha256_hex};
use kith_vocab::files::AppendFile;
use kith_vocab::tool::SpillFile;

use super::{BLOB_BYTES_MAX, Blobs, each_chunk, write_all};
use crate::log::LogError;

impl Blobs {
    /// Makes the file a blob. It is moved, not copied, unless it lies on another disk.
    pub(super) fn import(&self, spill: &SpillFile) -> Result<(), LogError> {
        let SpillFile { path, sha256, bytes } = spill;
        let refused = |detail: String| Err(LogError::RefusedBlob { path: path.clone(), detail });
        if *bytes > BLOB_BYTES_MAX {
            return Err(LogError::BlobTooLong { path: path.clone(), bytes: *bytes });
        }
        if !is_sha256_hex(sha256) {
            return refused("its hash is not a SHA-256 in lower-case hex".to_owned());
        }
        // A link would make a blob of a file that others can still change.
        let is_shared = |it: fs::Metadata| !it.is_file() || it.nlink() != 1;
        if fs::symlink_metadata(path).is_ok_and(is_shared) {
            return refused("it is a link, or has a second name".to_owned());
        }
        let failed = |source| LogError::PutBlob { path: path.clone(), source };
        let to = self.path(sha256);
        let len = match self.files.len(path) {
            // It was moved already, for an append that failed afterwards and is tried again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.make_durable(sha256).map_err(failed);
            }
            len => len.map_err(failed)?,
        };
        if len != *bytes {
            return refused(format!("it has {len} bytes, expected {bytes}"));
        }
        if self.hash_of(path).map_err(failed)? != *sha256 {
            return refused(format!("its content does not have the hash `{sha256}`"));
        }
        let is_there = self.is_certain() && self.hash_of(&to).is_ok_and(|it| it == *sha256);
        let put = if is_there {
            self.sync_names().map(|()| self.discard(path))
        } else {
            self.move_into_place(path, &to)
        };
        put.map_err(|source| LogError::PutBlob { path: to, source })
    }

    /// Makes a blob durable that is there already; its name may not be.
    fn make_durable(&self, sha256: &str) -> io::Result<()> {
        let path = self.path(sha256);
        let bytes = self.read_up_to(&path, BLOB_BYTES_MAX)?;
        if sha256_hex(&bytes) != sha256 {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.make(&path, &bytes)
    }

    fn move_into_place(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.create_dir_all(&self.folder)?;
        self.files.open_append(from)?.sync_data()?;
        match self.files.rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let (beside, mut file) = self.new_file_beside(to)?;
                let copied = self
                    .copy(from, &mut *file)
                    .and_then(|()| self.files.rename(&beside, to))
                    .inspect_err(|_| self.discard(&beside));
                copied?;
                self.discard(from);
            }
            moved => moved?,
        }
        self.sync_names()
    }

    fn copy(&self, from: &Path, file: &mut dyn AppendFile) -> io::Result<()> {
        each_chunk(self.open_bounded(from)?, &mut |chunk| write_all(file, chunk))?;
        file.sync_data()
    }

    fn hash_of(&self, path: &Path) -> io::Result<String> {
        let mut hasher = Sha256Writer::default();
        io::copy(&mut self.open_bounded(path)?, &mut hasher)?;
        Ok(hasher.finish_hex())
    }

    /// At most one byte more than a blob may have, so that a file which grows comes to an end.
    fn open_bounded(&self, path: &Path) -> io::Result<impl Read> {
        Ok(self.files.open_read(path)?.take(BLOB_BYTES_MAX + 1))
    }

    fn discard(&self, path: &Path) {
        // A leftover lies in a folder for temporary files and does no harm.
        self.files.remove(path).ok();
    }
}
