//! One session, open for appending.
//!
//! A batch is one write and one sync, and is acknowledged only after both. When either fails the
//! file is truncated to its last good batch. After a failed sync it is unknown what the disk holds,
//! so the log takes nothing more until the file is opened and read again.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::event::Event;
use kith_vocab::files::{AppendFile, FileSystem};
use kith_vocab::header::SessionHeader;

use crate::blob::{BLOB_BYTES_MAX, Blobs};
use crate::checkpoint::CheckpointPlace;
use crate::damage::{Damage, Flaw};
use crate::journal::NewBlob;
use crate::line::{EncodedBatch, LineHash, LogHead, encode_batch};
use crate::read::event_kinds;
use crate::storage::{StorageError, StorageErrorKind, kind_of_io, words_of};
use crate::validator::EventValidator;

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("session file `{}` does not exist", path.display())]
    NotFound { path: PathBuf },
    #[error("session file `{}` already exists", path.display())]
    Exists { path: PathBuf },
    #[error("cannot read session file `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot list the sessions in `{}`", path.display())]
    List { path: PathBuf, source: io::Error },
    #[error("cannot create session file `{}`", path.display())]
    Create { path: PathBuf, source: io::Error },
    /// The file is unchanged; a later opening tries again.
    #[error("cannot set aside the incomplete end of session file `{}`", path.display())]
    Repair { path: PathBuf, source: io::Error },
    #[error("session file `{}` is damaged at {damage}", path.display())]
    Damaged { path: PathBuf, damage: Damage },
    /// Nothing was written; the event is at fault.
    #[error("cannot write event {seq} to session file `{}`: {flaw}", path.display())]
    Refused { path: PathBuf, seq: u64, flaw: Flaw },
    #[error("session `{}` cannot have this header: {flaw}", path.display())]
    RefusedHeader { path: PathBuf, flaw: Flaw },
    #[error("no space left on the disk for session file `{}`", path.display())]
    Full { path: PathBuf, source: io::Error },
    #[error("cannot write to session file `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot sync session file `{}` to disk", path.display())]
    Sync { path: PathBuf, source: io::Error },
    /// The session is as it was.
    #[error("cannot write blob `{}`", path.display())]
    PutBlob { path: PathBuf, source: io::Error },
    #[error("blob `{}` does not exist", path.display())]
    BlobNotFound { path: PathBuf },
    #[error("blob `{}` would have {bytes} bytes, and the maximum is {BLOB_BYTES_MAX}", path.display())]
    BlobTooLong { path: PathBuf, bytes: u64 },
    /// The file was not touched.
    #[error("cannot store `{}` as a blob: {detail}", path.display())]
    RefusedBlob { path: PathBuf, detail: String },
    #[error("cannot read blob `{}`", path.display())]
    ReadBlob { path: PathBuf, source: io::Error },
    #[error("blob `{}` cannot be used: {detail}", path.display())]
    BadBlob { path: PathBuf, detail: String },
    #[error("session file `{}` is not damaged; it can be opened as it is", path.display())]
    NotDamaged { path: PathBuf },
    #[error("cannot remove session file `{}` completely", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// After a failed sync it is unknown what the disk holds; the file must be opened again.
    #[error("session file `{}` must be reopened after a failed write", path.display())]
    Poisoned { path: PathBuf },
    #[error("session file `{}` was changed by another program while it was open", path.display())]
    Changed { path: PathBuf },
}

impl From<LogError> for StorageError {
    fn from(error: LogError) -> StorageError {
        let kind = match &error {
            LogError::NotFound { .. } | LogError::BlobNotFound { .. } => StorageErrorKind::NotFound,
            LogError::Exists { .. } => StorageErrorKind::Exists,
            LogError::Damaged { damage, .. } => StorageErrorKind::Damaged(damage.clone()),
            LogError::Refused { .. }
            | LogError::RefusedHeader { .. }
            | LogError::RefusedBlob { .. } => StorageErrorKind::Refused,
            LogError::BlobTooLong { .. } => StorageErrorKind::LimitReached,
            LogError::Full { .. } => StorageErrorKind::Full,
            LogError::NotDamaged { .. } => StorageErrorKind::NotDamaged,
            LogError::Poisoned { .. } | LogError::Changed { .. } => StorageErrorKind::MustReopen,
            LogError::BadBlob { .. } => StorageErrorKind::Unavailable,
            LogError::Read { source, .. }
            | LogError::List { source, .. }
            | LogError::Create { source, .. }
            | LogError::Repair { source, .. }
            | LogError::Write { source, .. }
            | LogError::Sync { source, .. }
            | LogError::PutBlob { source, .. }
            | LogError::ReadBlob { source, .. }
            | LogError::Remove { source, .. } => kind_of_io(source),
        };
        words_of(kind, &error)
    }
}

/// Invariant: the first `len` bytes of the file are the header and the events before
/// `validator.next_seq()`.
pub struct SessionLog {
    files: Arc<dyn FileSystem>,
    blobs: Blobs,
    path: PathBuf,
    header: SessionHeader,
    validator: EventValidator,
    extent: Extent,
    /// Opened by the first append: a session that is only looked at costs no descriptor.
    file: Option<Box<dyn AppendFile>>,
    poisoned: bool,
}

/// How far the good part of a file reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) len: u64,
    /// Where its last line begins.
    pub(crate) line_start: u64,
    /// The last line has all its bytes but no newline.
    pub(crate) newline_missing: bool,
}

impl SessionLog {
    pub(crate) fn new(
        files: Arc<dyn FileSystem>,
        blobs: Blobs,
        path: PathBuf,
        header: SessionHeader,
        mut validator: EventValidator,
        extent: Extent,
    ) -> SessionLog {
        validator.drop_older();
        SessionLog { files, blobs, path, header, validator, extent, file: None, poisoned: false }
    }

    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The newest event that is on the disk.
    pub fn head(&self) -> Option<LogHead> {
        self.validator.head()
    }

    pub fn next_seq(&self) -> u64 {
        self.validator.next_seq()
    }

    /// Bytes of the file that are known to be good.
    pub fn byte_len(&self) -> u64 {
        self.extent.len
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the file can be read on from; `None` without an event, or after a failed write.
    pub fn checkpoint_place(&self) -> Option<CheckpointPlace> {
        let Extent { len, line_start, .. } = self.extent;
        let head = self.head().filter(|_| !self.poisoned)?;
        Some(CheckpointPlace {
            offset: len,
            line_start,
            head,
            validator: self.validator.to_bytes(),
        })
    }

    /// Appends the events as one batch. When this returns `Ok`, they are on the disk.
    pub fn append(&mut self, events: &[Event]) -> Result<(), LogError> {
        self.append_with(events, &[])
    }

    /// Appends the events with the blobs that they name.
    pub(crate) fn append_with(
        &mut self,
        events: &[Event],
        new_blobs: &[NewBlob],
    ) -> Result<(), LogError> {
        if self.poisoned {
            return Err(LogError::Poisoned { path: self.path.clone() });
        }
        if events.is_empty() {
            return Ok(());
        }
        let older = || event_kinds(self.files.open_read(&self.path)?, self.extent.len);
        let unreadable = |source| LogError::Read { path: self.path.clone(), source };
        self.validator.find_older(events, older).map_err(unreadable)?;
        let before = self.validator.marks();
        let path = &self.path;
        let refused = |(seq, flaw)| LogError::Refused { path: path.clone(), seq, flaw };
        self.validator.admit_all(events).map_err(refused)?;
        let encoded = encode_batch(events, before.last_hash()).map_err(refused);
        match encoded.and_then(|batch| self.write(batch, new_blobs)) {
            Ok(hash) => {
                self.validator.set_last_hash(hash);
                self.validator.evict();
                Ok(())
            }
            Err(error) => {
                self.validator.forget(before, events.len());
                Err(error)
            }
        }
    }

    fn write(&mut self, batch: EncodedBatch, new_blobs: &[NewBlob]) -> Result<LineHash, LogError> {
        // A name must not stand in the log before what it names is on the disk, and what it names
        // must not be removed before the name is.
        let _pin = self.blobs.put_all(&batch.long_texts, new_blobs)?;
        let EncodedBatch { mut bytes, hash, last_line_start, .. } = batch;
        let Extent { len, newline_missing, .. } = self.extent;
        if newline_missing {
            bytes.insert(0, b'\n');
        }
        let write_error = |source| write_error(&self.path, source);
        let file = match &mut self.file {
            Some(file) => file,
            closed => closed.insert(self.files.open_append(&self.path).map_err(write_error)?),
        };
        // Bytes written behind foreign ones, or into a removed file, would be lost.
        if !file.is_at(&self.path, len).map_err(write_error)? {
            self.poisoned = true;
            return Err(LogError::Changed { path: self.path.clone() });
        }
        let failure = match file.write(&bytes) {
            Ok(n_bytes) if n_bytes == bytes.len() => None,
            Ok(n_bytes) => Some(short_write(n_bytes, bytes.len())),
            Err(source) => Some(source),
        };
        if let Some(source) = failure {
            // Half a batch must not stand before the next one.
            self.poisoned = file.set_len(len).is_err();
            return Err(write_error(source));
        }
        if let Err(source) = file.sync_data() {
            self.poisoned = true;
            // The kernel may have dropped the bytes and still show them: whoever opens the file
            // next must not take them for durable. If the cut fails too, the file is read as it is.
            file.set_len(len).ok();
            return Err(LogError::Sync { path: self.path.clone(), source });
        }
        let line_start = len + u64::from(newline_missing) + last_line_start as u64;
        let len = len + bytes.len() as u64;
        self.extent = Extent { len, line_start, newline_missing: false };
        Ok(hash)
    }

    /// Makes durable what a writer before us may have left in the memory of the kernel.
    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        let sync_error = |source| LogError::Sync { path: self.path.clone(), source };
        let mut file =
            self.files.open_append(&self.path).map_err(|source| write_error(&self.path, source))?;
        file.sync_data().map_err(sync_error)?;
        self.file = Some(file);
        Ok(())
    }
}

impl fmt::Debug for SessionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionLog")
            .field("path", &self.path)
            .field("head", &self.head())
            .field("len", &self.extent.len)
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

/// Maps an error of a write. A full disk is a kind of its own: a person can do something about it.
fn write_error(path: &Path, source: io::Error) -> LogError {
    let path = path.to_owned();
    if kind_of_io(&source) == StorageErrorKind::Full {
        LogError::Full { path, source }
    } else {
        LogError::Write { path, source }
    }
}

// A regular file takes fewer bytes than it was given when there is no room for the rest.
fn short_write(taken: usize, given: usize) -> io::Error {
    let words = format!("only {taken} of {given} bytes were written");
    io::Error::new(io::ErrorKind::StorageFull, words)
}

#[cfg(test)]
mod tests;
