//! The sessions of a house: made, opened, read, listed.
//!
//! A session is made beside its place and renamed into it, so it exists whole or not at all. It is
//! opened by reading it; a torn tail is copied to a file of its own before it is cut off, because
//! nothing a person may want back is ever destroyed.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::clock::Clock;
use kith_vocab::event::control::LogRepaired;
use kith_vocab::event::{Body, Event};
use kith_vocab::files::{AppendFile, FileSystem};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, SessionId};

use crate::damage::{Damage, DamageCode};
use crate::line::{Head, encode_batch, encode_header};
use crate::log::{LogError, SessionLog};
use crate::past::Past;
use crate::read::{ReadError, Reading, Tail, scan};

const SESSION_SUFFIX: &str = ".jsonl";
/// So many torn tails may carry one time before opening gives up.
const TORN_NAMES_MAX: u32 = 100;
const COPY_CHUNK_BYTES: u64 = 256 * 1024;
/// Who causes what the log says about itself.
const OWN_CLIENT_ID: &str = "kith";

#[derive(Clone)]
pub struct SessionStore {
    files: Arc<dyn FileSystem>,
    sessions: PathBuf,
}

impl SessionStore {
    /// `dir` is the `.kith` folder of a house; it is made by the first session.
    pub fn new(files: Arc<dyn FileSystem>, dir: &Path) -> SessionStore {
        SessionStore { files, sessions: dir.join("sessions") }
    }

    pub fn path(&self, id: SessionId) -> PathBuf {
        self.sessions.join(format!("{id}{SESSION_SUFFIX}"))
    }

    /// Makes the session with its first events. It exists whole or not at all.
    pub fn create(&self, header: &SessionHeader, events: &[Event]) -> Result<SessionLog, LogError> {
        let path = self.path(header.session_id);
        if self.exists(header.session_id)? {
            return Err(LogError::Exists { path });
        }
        let refused = |flaw| LogError::RefusedHeader { path: path.clone(), flaw };
        let (mut bytes, header_hash) = encode_header(header).map_err(refused)?;
        let mut past = Past::after_header(header_hash);
        let refused = |flaw| LogError::Refused { path: path.clone(), seq: 1, flaw };
        past.admit_all(events).map_err(refused)?;
        let (batch, hash) = encode_batch(events, header_hash).map_err(refused)?;
        past.set_last_hash(hash);
        bytes.extend_from_slice(&batch);

        self.put_whole(&path, &bytes)
            .map_err(|source| LogError::Create { path: path.clone(), source })?;
        let files = Arc::clone(&self.files);
        Ok(SessionLog::new(files, path, header.clone(), past, bytes.len() as u64, false))
    }

    /// Opens the session for writing, and gives every event of it to `each`.
    ///
    /// A torn tail is set aside, which the log says in a `log_repaired`. A damaged session is not
    /// opened; [`SessionStore::read`] shows what of it is good. Until this returns `Ok`, what
    /// `each` got is not to be acted upon.
    pub fn open(
        &self,
        id: SessionId,
        head: Option<&Head>,
        clock: &dyn Clock,
        each: &mut dyn FnMut(&Event),
    ) -> Result<SessionLog, LogError> {
        let path = self.path(id);
        let (reading, past) = self.scan(id, head, &mut |event| each(&event))?;
        let torn_bytes = match reading.tail {
            Tail::Damaged(damage) => return Err(LogError::Damaged { path, damage }),
            Tail::Torn { bytes } => Some(bytes),
            Tail::Clean => None,
        };
        let now = clock.now();
        let torn_file = match torn_bytes {
            Some(_) => Some(self.set_aside(&path, reading.good_len, now)?),
            None => None,
        };
        let files = Arc::clone(&self.files);
        let Reading { header, good_len, newline_missing, .. } = reading;
        let mut log = SessionLog::new(files, path, header, past, good_len, newline_missing);
        // What was read may never have been synced, and from here on it counts. What the desk
        // knows was.
        if log.head().as_ref() != head {
            log.sync()?;
        }
        if let (Some(torn_bytes), Some(torn_file)) = (torn_bytes, torn_file) {
            let repaired = Event {
                seq: log.next_seq(),
                id: EventId::from_uuid(clock.new_id()),
                ts: now,
                client_id: OWN_CLIENT_ID.to_owned(),
                ingress_key: None,
                parent_id: None,
                source_tag: None,
                body: Body::LogRepaired(LogRepaired { torn_bytes, torn_file }),
            };
            log.append(std::slice::from_ref(&repaired))?;
            each(&repaired);
        }
        Ok(log)
    }

    /// Reads the session and writes nothing. What of it is good is given to `each`; what is not is
    /// told by the tail. Only a file without a good header is an error.
    pub fn read(
        &self,
        id: SessionId,
        head: Option<&Head>,
        each: &mut dyn FnMut(Event),
    ) -> Result<Reading, LogError> {
        self.scan(id, head, each).map(|(reading, _)| reading)
    }

    pub fn exists(&self, id: SessionId) -> Result<bool, LogError> {
        let path = self.path(id);
        match self.files.len(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(LogError::Read { path, source }),
        }
    }

    /// All sessions, oldest first, by the names of their files.
    pub fn list(&self) -> Result<Vec<SessionId>, LogError> {
        let paths = match self.files.list(&self.sessions) {
            Ok(paths) => paths,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(LogError::List { path: self.sessions.clone(), source }),
        };
        let id_of = |path: &PathBuf| -> Option<SessionId> {
            path.file_name()?.to_str()?.strip_suffix(SESSION_SUFFIX)?.parse().ok()
        };
        // What has another name is a torn tail, a file half made, or not ours.
        let mut ids: Vec<SessionId> = paths.iter().filter_map(id_of).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn scan(
        &self,
        id: SessionId,
        head: Option<&Head>,
        each: &mut dyn FnMut(Event),
    ) -> Result<(Reading, Past), LogError> {
        let path = self.path(id);
        let read_error = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => LogError::NotFound { path: path.clone() },
            _ => LogError::Read { path: path.clone(), source },
        };
        let source = self.files.open_read(&path).map_err(read_error)?;
        let (reading, past) = scan(source, head, each).map_err(|error| match error {
            ReadError::Io(source) => read_error(source),
            ReadError::Damaged(damage) => LogError::Damaged { path: path.clone(), damage },
        })?;
        if reading.header.session_id != id {
            let code = DamageCode::InvalidHeader;
            let detail = format!("it is the header of session `{}`", reading.header.session_id);
            let damage = Damage { line: 1, code, detail };
            return Err(LogError::Damaged { path, damage });
        }
        Ok((reading, past))
    }

    /// Puts a file in its place with all its bytes, durably, or leaves no file there.
    fn put_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".tmp-new");
        let beside = PathBuf::from(beside);
        self.files.create_dir_all(&self.sessions)?;
        let written = self.write_beside(&beside, bytes).and_then(|()| {
            self.files.rename(&beside, path)?;
            // Never acknowledged, so it may go: whoever tries again must find the place free.
            self.files.sync_dir(&self.sessions).inspect_err(|_| self.discard(path))
        });
        written.inspect_err(|_| self.discard(&beside))
    }

    fn write_beside(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = match self.files.create_new(path) {
            // A crash left it when this session was made before; nobody was told of it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.files.remove(path)?;
                self.files.create_new(path)?
            }
            made => made?,
        };
        write_all(&mut *file, bytes)?;
        file.sync_data()
    }

    /// Copies what follows `good_len` to a file of its own, then cuts it off.
    fn set_aside(&self, path: &Path, good_len: u64, now: u64) -> Result<String, LogError> {
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
        let mut source = self.files.open_read(path)?;
        io::copy(&mut (&mut source).take(from), &mut io::sink())?;
        let mut chunk = Vec::new();
        // Ends with the file, whose length the reader has seen.
        loop {
            chunk.clear();
            (&mut source).take(COPY_CHUNK_BYTES).read_to_end(&mut chunk)?;
            if chunk.is_empty() {
                return torn.sync_data();
            }
            write_all(torn, &chunk)?;
        }
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

fn write_all(file: &mut dyn AppendFile, mut bytes: &[u8]) -> io::Result<()> {
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
