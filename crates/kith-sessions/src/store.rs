//! The sessions of a house: made, opened, read, listed.
//!
//! A session is made beside its place and renamed into it, so it exists whole or not at all. It is
//! opened by reading it; a torn tail is copied to a file of its own before it is cut off, because
//! nothing a person may want back is ever destroyed.

pub(crate) mod draft;
pub(crate) mod remove;
mod removed_spending;
pub(crate) mod repair;
mod torn;

use std::fmt;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use kith_vocab::clock::Clock;
use kith_vocab::event::control::LogRepaired;
use kith_vocab::event::{Body, Event};
use kith_vocab::files::{FileSystem, if_found};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};
use serde::Deserialize;

use crate::blob::Blobs;
use crate::catalog::LogStamp;
use crate::checkpoint::CheckpointPlace;
use crate::damage::{Damage, DamageCode};
use crate::journal::Batch;
use crate::last_line::{LastLine, last_line};
use crate::line::LogHead;
use crate::log::{Extent, LogError, SessionLog};
use crate::own_file;
use crate::read::{ReadError, Reading, ScanResult, Tail, read_header, scan, scan_from};
use crate::thread_file::ThreadFiles;

use draft::SessionDraft;
pub use remove::Belongings;
pub use removed_spending::RemovedSpending;

const SESSION_SUFFIX: &str = ".jsonl";
/// Folders for thread files and for notes on the project and people.
const KEPT_FOLDERS: [&str; 2] = ["memory", "threads"];
/// The client id of events that the store itself writes.
const OWN_CLIENT_ID: &str = "kith";

#[derive(Clone)]
pub struct SessionStore {
    files: Arc<dyn FileSystem>,
    sessions: PathBuf,
    pub(crate) blobs: Blobs,
    /// Held while what removed sessions used is read and written again.
    spending_lock: Arc<Mutex<()>>,
}

impl SessionStore {
    /// `dir` is the `.kith` folder of a house; it is made by the first session.
    pub fn new(files: Arc<dyn FileSystem>, dir: &Path) -> SessionStore {
        let blobs = Blobs::new(Arc::clone(&files), dir.join("blobs"));
        SessionStore { files, sessions: dir.join("sessions"), blobs, spending_lock: Arc::default() }
    }

    /// Creates the folders beside the sessions that people look for, also if they were removed. A
    /// failure is reported when a folder is needed.
    pub fn create_folders(&self) {
        for name in KEPT_FOLDERS {
            if let Some(kith_dir) = self.sessions.parent() {
                self.files.create_dir_all(&kith_dir.join(name)).ok();
            }
        }
    }

    /// The thread files beside the sessions.
    pub fn thread_files(&self) -> ThreadFiles {
        let kith_dir = self.sessions.parent().unwrap_or(&self.sessions);
        ThreadFiles::new(Arc::clone(&self.files), kith_dir)
    }

    pub fn path(&self, id: SessionId) -> PathBuf {
        self.sessions.join(format!("{id}{SESSION_SUFFIX}"))
    }

    /// How a file of the house is called beneath its `.kith` folder.
    pub(crate) fn name_beneath(&self, path: &Path) -> String {
        let kith_dir = self.sessions.parent().unwrap_or(&self.sessions);
        path.strip_prefix(kith_dir).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Makes the session with its first events. It exists whole or not at all.
    pub fn create(&self, header: &SessionHeader, events: &[Event]) -> Result<SessionLog, LogError> {
        let mut draft = SessionDraft::begin(self, header)?;
        draft.add(events)?;
        draft.finish()
    }

    /// Makes the session with its first batches: one sync of the file, one of the folder.
    pub(crate) fn create_with(
        &self,
        header: &SessionHeader,
        batches: &[Batch],
    ) -> Result<SessionLog, LogError> {
        let mut draft = SessionDraft::begin(self, header)?;
        for Batch { events, blobs } in batches {
            if let Err(error) = draft.add_with(events, blobs) {
                draft.abandon();
                return Err(error);
            }
        }
        draft.finish()
    }

    /// Opens the session for writing, and gives every event of it to `each`.
    ///
    /// A torn tail is set aside, which the log says in a `log_repaired`. A damaged session is not
    /// opened; [`SessionStore::read`] shows what of it is good. Until this returns `Ok`, what
    /// `each` got is not to be acted upon.
    pub fn open(
        &self,
        id: SessionId,
        head: Option<&LogHead>,
        clock: &dyn Clock,
        each: &mut dyn FnMut(Event),
    ) -> Result<SessionLog, LogError> {
        let scanned = self.scan(&self.path(id), id, head, None, each)?;
        self.prepare_for_writing(id, scanned, head, clock, each)
    }

    /// Like [`SessionStore::open`], but gives only the events behind a place to `each`, and looks
    /// at nothing before it but the header and one line.
    ///
    /// `None` if the place does not fit the file, or if what follows can be judged only by what
    /// precedes it: then what `each` got is to be forgotten, and the session opened from its start.
    pub fn open_from(
        &self,
        id: SessionId,
        head: Option<&LogHead>,
        place: &CheckpointPlace,
        clock: &dyn Clock,
        each: &mut dyn FnMut(Event),
    ) -> Result<Option<SessionLog>, LogError> {
        match self.scan_from_place(id, head, place, None, each)? {
            Some(scanned) => self.prepare_for_writing(id, scanned, head, clock, each).map(Some),
            None => Ok(None),
        }
    }

    /// Reads what follows the place, as far as `len`. `None` as for [`SessionStore::open_from`].
    pub(crate) fn read_from(
        &self,
        id: SessionId,
        head: Option<&LogHead>,
        place: &CheckpointPlace,
        len: u64,
        each: &mut dyn FnMut(Event),
    ) -> Result<Option<Reading>, LogError> {
        let scanned = self.scan_from_place(id, head, place, Some(len), each)?;
        Ok(scanned.map(|it| it.reading))
    }

    fn scan_from_place(
        &self,
        id: SessionId,
        head: Option<&LogHead>,
        place: &CheckpointPlace,
        len: Option<u64>,
        each: &mut dyn FnMut(Event),
    ) -> Result<Option<ScanResult>, LogError> {
        let path = self.path(id);
        let failed = |error| read_error(&path, error);
        let source = self.files.open_read(&path).map_err(|error| failed(error.into()))?;
        let header = match read_header(source) {
            Ok(header) if header.0.session_id == id => header,
            // Reading it from the start says what is wrong with it.
            Ok(_) | Err(ReadError::Damaged(_)) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let len = len.map_or_else(|| self.files.len(&path), Ok);
        let len = len.map_err(|error| failed(error.into()))?;
        let Some(rest) = len.checked_sub(place.line_start) else { return Ok(None) };
        let source = self.files.open_read_at(&path, place.line_start);
        let source = source.map_err(|error| failed(error.into()))?;
        let source = Box::new(source.take(rest));
        let mut text_of = |named: &_| self.blobs.text(named);
        let open = &|| self.files.open_read(&path);
        scan_from(source, open, header, place, head, &mut text_of, each).map_err(failed)
    }

    /// Reads the session and writes nothing. `each` gets the good events; the tail says what follows
    /// them. Only a file without a good header is an error.
    pub fn read(
        &self,
        id: SessionId,
        head: Option<&LogHead>,
        each: &mut dyn FnMut(Event),
    ) -> Result<Reading, LogError> {
        self.scan(&self.path(id), id, head, None, each).map(|scanned| scanned.reading)
    }

    /// Reads the session as far as `len`, as if it ended there.
    pub(crate) fn read_up_to(
        &self,
        id: SessionId,
        head: Option<&LogHead>,
        len: u64,
        each: &mut dyn FnMut(Event),
    ) -> Result<Reading, LogError> {
        self.scan(&self.path(id), id, head, Some(len), each).map(|scanned| scanned.reading)
    }

    /// Syncs the file, and says how long it was before.
    pub(crate) fn sync_file(&self, id: SessionId) -> Result<u64, LogError> {
        let path = self.path(id);
        let len = self.files.len(&path).map_err(|error| read_error(&path, error.into()))?;
        let synced = self.files.open_append(&path).and_then(|mut file| file.sync_data());
        synced.map_err(|source| LogError::Sync { path, source })?;
        Ok(len)
    }

    /// Makes the names of all sessions durable.
    pub(crate) fn sync_folder(&self) -> Result<(), LogError> {
        let sync_error = |source| LogError::Sync { path: self.sessions.clone(), source };
        self.files.sync_dir(&self.sessions).map_err(sync_error)
    }

    pub fn exists(&self, id: SessionId) -> Result<bool, LogError> {
        let path = self.path(id);
        let len = if_found(self.files.len(&path));
        len.map(|len| len.is_some()).map_err(|source| LogError::Read { path, source })
    }

    /// All sessions, oldest first, by the names of their files.
    pub fn list(&self) -> Result<Vec<SessionId>, LogError> {
        let id_of = |path: &PathBuf| -> Option<SessionId> {
            path.file_name()?.to_str()?.strip_suffix(SESSION_SUFFIX)?.parse().ok()
        };
        // What has another name is a torn tail, a file half made, or not ours.
        let mut ids: Vec<SessionId> = self.session_files()?.iter().filter_map(id_of).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Everything in the folder of sessions, in no particular order.
    fn session_files(&self) -> Result<Vec<PathBuf>, LogError> {
        let listed = if_found(self.files.list(&self.sessions)).map(Option::unwrap_or_default);
        listed.map_err(|source| LogError::List { path: self.sessions.clone(), source })
    }

    /// Looks at the file from outside, to see whether it is as it was.
    pub fn stat(&self, id: SessionId) -> Result<LogStamp, LogError> {
        let path = self.path(id);
        if let Ok(Some(metadata)) = own_file::metadata(&path) {
            return Ok(stamp_of(&metadata));
        }
        // Files in memory know no time, and say what is wrong with a file on the disk.
        match self.files.len(&path) {
            Ok(bytes) => Ok(LogStamp { bytes, modified_ns: 0 }),
            Err(error) => Err(read_error(&path, error.into())),
        }
    }

    /// The same for many sessions; those that are gone are left out.
    pub fn stat_all(&self, ids: &[SessionId]) -> Result<Vec<(SessionId, LogStamp)>, LogError> {
        let (is_checked, uid) =
            (own_file::check_folder(&self.sessions).is_ok(), own_file::our_uid());
        let mut stamps = Vec::with_capacity(ids.len());
        for &id in ids {
            let seen = own_file::metadata_in_checked(&self.path(id), uid);
            let stamp = match seen {
                Ok(Some(metadata)) if is_checked => Ok(stamp_of(&metadata)),
                _ => self.stat(id),
            };
            match stamp {
                Ok(stamp) => stamps.push((id, stamp)),
                // Removed since it was listed.
                Err(LogError::NotFound { .. }) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(stamps)
    }

    /// The first line, which says whose session it is.
    pub fn header(&self, id: SessionId) -> Result<SessionHeader, LogError> {
        let path = self.path(id);
        let failed = |error| read_error(&path, error);
        let source = self.files.open_read(&path).map_err(|error| failed(error.into()))?;
        let (header, _) = read_header(source).map_err(failed)?;
        check_header(&path, id, &header)?;
        Ok(header)
    }

    /// The number of the last event, by the looks of the last line; `None` if that is torn or no
    /// event.
    pub fn newest_seq(&self, id: SessionId) -> Result<Option<u64>, LogError> {
        #[derive(Deserialize)]
        struct SeqOnly {
            seq: u64,
        }
        let path = self.path(id);
        let line = last_line(&*self.files, &path);
        let line = line.map_err(|error| read_error(&path, error.into()))?;
        let LastLine::Whole(line) = line else { return Ok(None) };
        // What else the line holds is for those who read the session.
        Ok(serde_json::from_slice::<SeqOnly>(&line).ok().map(|it| it.seq))
    }

    /// The bytes of a blob, which have its hash.
    pub fn read_blob(&self, sha256: &str) -> Result<Vec<u8>, LogError> {
        self.blobs.read(sha256)
    }

    /// Whether there is a blob of this hash; its bytes are not read.
    pub fn has_blob(&self, sha256: &str) -> bool {
        self.blobs.has(sha256)
    }

    /// Reads a copy of a session's file that lies elsewhere, with the blobs of this house.
    pub(crate) fn read_file(
        &self,
        path: &Path,
        id: SessionId,
        head: Option<&LogHead>,
        each: &mut dyn FnMut(Event),
    ) -> Result<Reading, LogError> {
        self.scan(path, id, head, None, each).map(|scanned| scanned.reading)
    }

    fn scan(
        &self,
        path: &Path,
        id: SessionId,
        head: Option<&LogHead>,
        len: Option<u64>,
        each: &mut dyn FnMut(Event),
    ) -> Result<ScanResult, LogError> {
        let failed = |error| read_error(path, error);
        // What a writer adds while the file is read is not read: half of it would look like damage.
        let source = || -> io::Result<Box<dyn Read + Send>> {
            let len = len.map_or_else(|| self.files.len(path), Ok)?;
            Ok(Box::new(self.files.open_read(path)?.take(len)))
        };
        let source = source().map_err(|error| failed(error.into()))?;
        let mut text_of = |named: &_| self.blobs.text(named);
        let scanned = scan(source, head, &mut text_of, each).map_err(failed)?;
        check_header(path, id, &scanned.reading.header)?;
        Ok(scanned)
    }

    /// Makes a session that was read ready to be written to.
    fn prepare_for_writing(
        &self,
        id: SessionId,
        scanned: ScanResult,
        head: Option<&LogHead>,
        clock: &dyn Clock,
        each: &mut dyn FnMut(Event),
    ) -> Result<SessionLog, LogError> {
        let path = self.path(id);
        let ScanResult { reading, validator, line_start } = scanned;
        let Reading { header, good_len, newline_missing, .. } = reading;
        let torn_bytes = match reading.tail {
            Tail::Damaged(damage) => return Err(LogError::Damaged { path, damage }),
            Tail::Torn { bytes } => Some(bytes),
            Tail::Clean => None,
        };
        let torn_file = match torn_bytes {
            Some(_) => Some(self.set_aside(&path, good_len, clock.now())?),
            None => None,
        };
        let extent = Extent { len: good_len, line_start, newline_missing };
        let (files, blobs) = (Arc::clone(&self.files), self.blobs.clone());
        let mut log = SessionLog::new(files, blobs, path, header, validator, extent);
        // Events that were read may not be synced, and from here on they count. Those that the
        // desk knows are.
        if log.head().as_ref() != head {
            // The same holds for the name: its writer may have died before it synced the folder.
            self.sync_folder()?;
            log.sync()?;
        }
        if let (Some(torn_bytes), Some(torn_file)) = (torn_bytes, torn_file) {
            let body = Body::LogRepaired(LogRepaired { torn_bytes, torn_file });
            let repaired = own_event(log.next_seq(), clock, body);
            log.append(std::slice::from_ref(&repaired))?;
            each(repaired);
        }
        Ok(log)
    }

    fn discard(&self, path: &Path) {
        // It is removed because something failed already, and that is what gets reported.
        self.files.remove(path).ok();
    }
}

impl fmt::Debug for SessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionStore").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

/// A control event that the store itself writes.
pub(crate) fn own_event(seq: u64, clock: &dyn Clock, body: Body) -> Event {
    Event {
        seq,
        id: EventId::from_uuid(clock.new_id()),
        ts: clock.now(),
        client_id: OWN_CLIENT_ID.to_owned(),
        ingress_key: None,
        parent_id: None,
        source_tag: None,
        body,
    }
}

fn check_header(path: &Path, id: SessionId, header: &SessionHeader) -> Result<(), LogError> {
    if header.session_id == id {
        return Ok(());
    }
    let detail = format!("it is the header of session `{}`", header.session_id);
    let damage = Damage { line: 1, code: DamageCode::InvalidHeader, detail };
    Err(LogError::Damaged { path: path.to_owned(), damage })
}

fn read_error(path: &Path, error: ReadError) -> LogError {
    let path = path.to_owned();
    match error {
        ReadError::Io(source) if source.kind() == io::ErrorKind::NotFound => {
            LogError::NotFound { path }
        }
        ReadError::Io(source) => LogError::Read { path, source },
        ReadError::Damaged(damage) => LogError::Damaged { path, damage },
    }
}

fn stamp_of(metadata: &Metadata) -> LogStamp {
    let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let modified_ns = modified.and_then(|it| u64::try_from(it.as_nanos()).ok());
    LogStamp { bytes: metadata.len(), modified_ns: modified_ns.unwrap_or_default() }
}

#[cfg(test)]
mod tests;
