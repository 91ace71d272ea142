//! Long texts and outputs, each in a file named by its hash.
//!
//! A blob is on the disk before a line names it, so a crash may leave an unused blob and never a
//! name without its blob. Sessions share blobs: one is removed only if no log names it and
//! no writer is about to.

mod pins;
mod spill;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kith_vocab::digest::{is_sha256_hex, sha256_hex};
use kith_vocab::files::{AppendFile, FileSystem};

use crate::damage::{BadLine, DamageCode, Flaw};
use crate::journal::NewBlob;
use crate::log::LogError;
use crate::texts::{BlobRef, LongText};

use pins::Pins;
pub(crate) use pins::{BlobPin, Collection};

/// A longer blob is neither written nor read.
pub const BLOB_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum number of half-written files of one blob, left by crashes, before writing it fails.
const BLOB_TRIES_MAX: u32 = 100;
const CHUNK_BYTES: usize = 256 * 1024;

/// The blobs of a house.
#[derive(Clone)]
pub(crate) struct Blobs {
    files: Arc<dyn FileSystem>,
    folder: PathBuf,
    /// Set when the folder could not be synced. A kernel reports such a failure once and may say
    /// afterwards that all is well, so from then on a name that is there proves nothing.
    in_doubt: Arc<AtomicBool>,
    pins: Pins,
}

impl Blobs {
    pub(crate) fn new(files: Arc<dyn FileSystem>, folder: PathBuf) -> Blobs {
        Blobs { files, folder, in_doubt: Arc::default(), pins: Pins::default() }
    }

    pub(crate) fn path(&self, sha256: &str) -> PathBuf {
        self.folder.join(sha256)
    }

    /// Puts what a batch names. When this returns `Ok`, it is on the disk, and it stays there at
    /// least until the pin is dropped: that is when the batch is durable, or given up.
    pub(crate) fn put_all(
        &self,
        texts: &[LongText],
        new_blobs: &[NewBlob],
    ) -> Result<BlobPin, LogError> {
        let hashes: Vec<String> = new_blobs.iter().map(sha256_of).collect();
        let of_texts = texts.iter().map(|it| it.sha256.clone());
        let pin = self.pins.pin(of_texts.chain(hashes.iter().cloned()).collect());
        texts.iter().try_for_each(|it| self.put_as(&it.sha256, it.text.as_bytes()))?;
        for (new_blob, sha256) in new_blobs.iter().zip(&hashes) {
            match new_blob {
                NewBlob::Bytes(bytes) => self.put_bytes(sha256, bytes)?,
                NewBlob::File(spill) => self.import(spill)?,
            }
        }
        Ok(pin)
    }

    /// Keeps what these name from being removed until the pin is dropped.
    pub(crate) fn hold(&self, hashes: Vec<String>) -> BlobPin {
        self.pins.pin(hashes)
    }

    /// From here on every hash that a writer puts or reuses is noted.
    pub(crate) fn begin_collection(&self) -> Collection {
        self.pins.begin_collection()
    }

    fn put_bytes(&self, sha256: &str, bytes: &[u8]) -> Result<(), LogError> {
        let n_bytes = bytes.len() as u64;
        if n_bytes > BLOB_BYTES_MAX {
            return Err(LogError::BlobTooLong { path: self.path(sha256), bytes: n_bytes });
        }
        self.put_as(sha256, bytes)
    }

    #[cfg(test)]
    fn put(&self, bytes: &[u8]) -> Result<String, LogError> {
        let sha256 = sha256_hex(bytes);
        self.put_bytes(&sha256, bytes)?;
        Ok(sha256)
    }

    pub(crate) fn read(&self, sha256: &str) -> Result<Vec<u8>, LogError> {
        let path = self.folder.join(sha256);
        let bad =
            |detail: &str| LogError::BadBlob { path: path.clone(), detail: detail.to_owned() };
        if !is_sha256_hex(sha256) {
            return Err(bad("its name is not a SHA-256 in lower-case hex"));
        }
        let bytes = match self.read_up_to(&path, BLOB_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LogError::BlobNotFound { path });
            }
            Err(source) => return Err(LogError::ReadBlob { path, source }),
        };
        if bytes.len() as u64 > BLOB_BYTES_MAX {
            return Err(bad("it is too long"));
        }
        if sha256_hex(&bytes) != sha256 {
            return Err(bad("its content does not match the hash in its name"));
        }
        Ok(bytes)
    }

    /// Whether a file has this name; what it holds is judged when it is read.
    pub(crate) fn has(&self, sha256: &str) -> bool {
        is_sha256_hex(sha256) && self.files.len(&self.path(sha256)).is_ok()
    }

    /// The text that a line names, if it is there and is that text.
    pub(crate) fn text(&self, named: &BlobRef) -> Result<String, BadLine> {
        let path = self.folder.join(&named.blob);
        if !is_sha256_hex(&named.blob) {
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
            return bad(&format!("does not have the {} bytes that the line says", named.bytes));
        }
        if sha256_hex(&bytes) != named.blob {
            return bad("does not match the hash in its name");
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
        if self.is_certain() && self.holds(path, bytes) {
            // Its writer may have died before the name was durable.
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

    /// Whether a name that is there can be relied on.
    fn is_certain(&self) -> bool {
        !self.in_doubt.load(Ordering::Relaxed)
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

fn sha256_of(new_blob: &NewBlob) -> String {
    match new_blob {
        NewBlob::Bytes(bytes) => sha256_hex(bytes),
        NewBlob::File(spill) => spill.sha256.clone(),
    }
}

/// For lines whose house is not at hand.
pub(crate) fn no_blobs(named: &BlobRef) -> Result<String, BadLine> {
    Err(bad_blob(&named.blob, "cannot be looked up without its house").into())
}

fn bad_blob(name: &str, problem: &str) -> Flaw {
    Flaw::wrong(DamageCode::BadBlob, format!("the blob `{name}` {problem}"))
}

/// Reads to the end, a piece at a time.
pub(crate) fn each_chunk(
    mut source: impl Read,
    each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(n_read) => each(chunk.get(..n_read).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
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
