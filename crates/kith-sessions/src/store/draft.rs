//! A session that is being made.
//!
//! It is written to a file beside its final name and renamed when it is complete. Until then it has
//! not been acknowledged, so it is deleted if anything fails.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kith_vocab::event::Event;
use kith_vocab::files::AppendFile;
use kith_vocab::header::SessionHeader;

use super::SessionStore;
use crate::blob::{BlobPin, write_all};
use crate::journal::NewBlob;
use crate::line::{encode_batch, encode_header};
use crate::log::{Extent, LogError, SessionLog};
use crate::validator::EventValidator;

/// Bytes that wait before they are written.
const PENDING_BYTES_MAX: usize = 1024 * 1024;

pub(super) struct SessionDraft<'a> {
    store: &'a SessionStore,
    header: SessionHeader,
    path: PathBuf,
    beside: PathBuf,
    /// Opened when there is something to write.
    file: Option<Box<dyn AppendFile>>,
    validator: EventValidator,
    pending: Vec<u8>,
    len: u64,
    line_start: u64,
    /// Pins the blobs that its lines name: no other reader sees these lines yet.
    pins: Vec<BlobPin>,
}

impl<'a> SessionDraft<'a> {
    pub(super) fn begin(
        store: &'a SessionStore,
        header: &SessionHeader,
    ) -> Result<SessionDraft<'a>, LogError> {
        let path = store.path(header.session_id);
        if store.exists(header.session_id)? {
            return Err(LogError::Exists { path });
        }
        let refused = |flaw| LogError::RefusedHeader { path: path.clone(), flaw };
        let (pending, hash) = encode_header(header).map_err(refused)?;
        let mut beside = path.as_os_str().to_owned();
        beside.push(".tmp-new");
        Ok(SessionDraft {
            store,
            header: header.clone(),
            path,
            beside: PathBuf::from(beside),
            file: None,
            validator: EventValidator::after_header(hash),
            len: pending.len() as u64,
            pending,
            line_start: 0,
            pins: Vec::new(),
        })
    }

    pub(super) fn next_seq(&self) -> u64 {
        self.validator.next_seq()
    }

    /// Adds the events as one batch.
    pub(super) fn add(&mut self, events: &[Event]) -> Result<(), LogError> {
        self.add_with(events, &[])
    }

    /// Adds the events as one batch, with the blobs that they name.
    pub(super) fn add_with(
        &mut self,
        events: &[Event],
        new_blobs: &[NewBlob],
    ) -> Result<(), LogError> {
        if events.is_empty() {
            return Ok(());
        }
        let path = &self.path;
        let refused = |(seq, flaw)| LogError::Refused { path: path.clone(), seq, flaw };
        let prev = self.validator.last_hash();
        self.validator.admit_all(events).map_err(refused)?;
        let batch = encode_batch(events, prev).map_err(refused)?;
        let pin = self.store.blobs.put_all(&batch.long_texts, new_blobs)?;
        if !pin.is_empty() {
            self.pins.push(pin);
        }
        self.validator.set_last_hash(batch.hash);
        self.validator.evict();
        self.line_start = self.len + batch.last_line_start as u64;
        self.len += batch.bytes.len() as u64;
        self.pending.extend_from_slice(&batch.bytes);
        if self.pending.len() > PENDING_BYTES_MAX {
            self.write_pending().map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Puts the session in its place with all its bytes, durably, or leaves no file there.
    pub(super) fn finish(mut self) -> Result<SessionLog, LogError> {
        self.put_in_place().map_err(|source| self.failed(source))?;
        let store = self.store;
        let extent = Extent { len: self.len, line_start: self.line_start, newline_missing: false };
        let (files, blobs) = (Arc::clone(&store.files), store.blobs.clone());
        let SessionDraft { header, path, validator, .. } = self;
        Ok(SessionLog::new(files, blobs, path, header, validator, extent))
    }

    /// Deletes everything written so far.
    pub(super) fn abandon(self) {
        if self.file.is_some() {
            self.store.discard(&self.beside);
        }
    }

    fn put_in_place(&mut self) -> io::Result<()> {
        self.write_pending()?;
        let files = &self.store.files;
        if let Some(file) = &mut self.file {
            file.sync_data()?;
        }
        files.rename(&self.beside, &self.path)?;
        // Never acknowledged, so it is deleted: another attempt must find the name free.
        files.sync_dir(&self.store.sessions).inspect_err(|_| self.store.discard(&self.path))
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            closed => {
                let files = &self.store.files;
                files.create_dir_all(&self.store.sessions)?;
                closed.insert(match files.create_new(&self.beside) {
                    // Left by a crash while this session was made; it was never acknowledged.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        files.remove(&self.beside)?;
                        files.create_new(&self.beside)?
                    }
                    made => made?,
                })
            }
        };
        write_all(&mut **file, &self.pending)?;
        self.pending.clear();
        Ok(())
    }

    fn failed(&self, source: io::Error) -> LogError {
        self.store.discard(&self.beside);
        LogError::Create { path: self.path.clone(), source }
    }
}
