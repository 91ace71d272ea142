//! Long texts and outputs, each in a file named by its hash.
//!
//! A blob is on the disk before a line names it, so a crash may leave a blob that nobody names and
//! never a name without its blob. Sessions share blobs, so one that has its name is never removed.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kith_vocab::digest::sha256_hex;
use kith_vocab::files::{AppendFile, FileSystem};

use crate::damage::{BadLine, DamageCode, Flaw};
use crate::log::LogError;
use crate::texts::{BlobRef, LongText};

/// A longer blob is neither written nor read.
pub const BLOB_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// So many crashes may leave a half-made file of one blob before making it gives up.
const BLOB_TRIES_MAX: u32 = 100;

/// The blobs of a house.
#[derive(Clone)]
pub(crate) struct Blobs {
    files: Arc<dyn FileSystem>,
    folder: PathBuf,
    /// Set when the folder could not be synced. A kernel reports such a failure once and may say
    /// afterwards that all is well, so from then on a name that is there proves nothing.
    in_doubt: Arc<AtomicBool>,
}

impl Blobs {
    pub(crate) fn new(files: Arc<dyn FileSystem>, folder: PathBuf) -> Blobs {
        Blobs { files, folder, in_doubt: Arc::default() }
    }

    pub(crate) fn path(&self, sha256: &str) -> PathBuf {
        self.folder.join(sha256)
    }

    /// Puts the bytes under the name of their hash. When this returns `Ok`, they are on the disk.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<String, LogError> {
        if bytes.len() as u64 > BLOB_BYTES_MAX {
            let detail = format!("{} bytes are more than {BLOB_BYTES_MAX}", bytes.len());
            return Err(LogError::BadBlob { path: self.folder.clone(), detail });
        }
        let sha256 = sha256_hex(bytes);
        self.put_as(&sha256, bytes)?;
        Ok(sha256)
    }

    pub(crate) fn put_texts(&self, texts: &[LongText]) -> Result<(), LogError> {
        texts.iter().try_for_each(|it| self.put_as(&it.sha256, it.text.as_bytes()))
    }

    pub(crate) fn read(&self, sha256: &str) -> Result<Vec<u8>, LogError> {
        let path = self.folder.join(sha256);
        let bad =
            |detail: &str| LogError::BadBlob { path: path.clone(), detail: detail.to_owned() };
        if !is_sha256(sha256) {
            return Err(bad("its name is not a SHA-256 in lower-case hex"));
        }
        let bytes = match self.read_up_to(&path, BLOB_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(bad("it is missing"));
            }
            Err(source) => return Err(LogError::ReadBlob { path, source }),
        };
        if bytes.len() as u64 > BLOB_BYTES_MAX {
            return Err(bad("it is too long"));
        }
        if sha256_hex(&bytes) != sha256 {
            return Err(bad("its bytes do not have the hash it is named by"));
        }
        Ok(bytes)
    }

    /// The text that a line names, if it is there and is that text.
    pub(crate) fn text(&self, named: &BlobRef) -> Result<String, BadLine> {
        let path = self.folder.join(&named.blob);
        if !is_sha256(&named.blob) {
            let name: String = named.blob.chars().take(80).collect();
            return Err(bad_blob(&name, "is not named by a SHA-256 in lower-case hex").into());
        }
        let bad = |problem: &str| Err(bad_blob(&named.blob, problem).into());
        if named.bytes > BLOB_BYTES_MAX {
            return bad("is too long");
        }
        let bytes = match self.read_up_to(&path, named.bytes) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return bad("is missing"),
            Err(error) => {
                let words = format!("blob `{}`: {error}", named.blob);
                return Err(BadLine::Io(io::Error::new(error.kind(), words)));
            }
        };
        if bytes.len() as u64 != named.bytes {
            return bad(&format!("does not have the {} bytes the line says", named.bytes));
        }
        if sha256_hex(&bytes) != named.blob {
            return bad("does not have the hash it is named by");
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => bad("is not UTF-8"),
        }
    }

    fn put_as(&self, sha256: &str, bytes: &[u8]) -> Result<(), LogError> {
        let path = self.folder.join(sha256);
        self.make(&path, bytes).map_err(|source| LogError::PutBlob { path, source })
    }

    fn make(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if !self.in_doubt.load(Ordering::Relaxed) && self.holds(path, bytes) {
            // Whoever made it may have died before its name was durable.
            return self.sync_names();
        }
        self.files.create_dir_all(&self.folder)?;
        let (beside, mut file) = self.new_file_beside(path)?;
        let written = write_all(&mut *file, bytes)
            .and_then(|()| file.sync_data())
            .and_then(|()| self.files.rename(&beside, path));
        if written.is_err() {
            // It is removed because something failed already, and that is what gets reported.
            self.files.remove(&beside).ok();
        }
        written?;
        self.sync_names()
    }

    /// Whether the blob is there with all its bytes. One that is not, or cannot be read, is made
    /// again: a line must not be acknowledged whose text is gone.
    fn holds(&self, path: &Path, bytes: &[u8]) -> bool {
        self.read_up_to(path, bytes.len() as u64).is_ok_and(|found| found == bytes)
    }

    /// Two sessions may put the same text at one time, so each has a file of its own.
    fn new_file_beside(&self, path: &Path) -> io::Result<(PathBuf, Box<dyn AppendFile>)> {
        let mut failure = io::Error::from(io::ErrorKind::AlreadyExists);
        for n in 1..=BLOB_TRIES_MAX {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".tmp-{n}"));
            match self.files.create_new(Path::new(&name)) {
                Ok(file) => return Ok((PathBuf::from(name), file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failure = error,
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }

    pub(crate) fn sync_names(&self) -> io::Result<()> {
        let doubt = |_: &io::Error| self.in_doubt.store(true, Ordering::Relaxed);
        self.files.sync_dir(&self.folder).inspect_err(doubt)
    }

    /// One byte more than `n_bytes` where there are more, so that the caller sees it.
    fn read_up_to(&self, path: &Path, n_bytes: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.files.open_read(path)?.take(n_bytes + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// For lines whose house is not at hand.
pub(crate) fn no_blobs(named: &BlobRef) -> Result<String, BadLine> {
    Err(bad_blob(&named.blob, "cannot be looked up without its house").into())
}

fn bad_blob(name: &str, problem: &str) -> Flaw {
    Flaw::wrong(DamageCode::BadBlob, format!("the blob `{name}` {problem}"))
}

fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn write_all(file: &mut dyn AppendFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let n_bytes = file.write(bytes)?;
        if n_bytes == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(n_bytes..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
