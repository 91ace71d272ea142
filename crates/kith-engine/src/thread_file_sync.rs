//! Thread files, kept up with the logs.
//!
//! A thread file is for other programs: the messages of the thread's sessions, one session after the
//! other. It is derived, so it may lag, be torn or be missing, and is checked before each write. The
//! last line of a file says which event of which session it takes into account. If that is the
//! event before the new turn, the turn is appended. If not, the file is rebuilt from the logs of the
//! thread. So a crash between log and file costs the next turn one reading.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_sessions::LastLine;
use kith_sessions::journal::Journal;
use kith_sessions::storage::StorageError;
use kith_sessions::thread_file::{ThreadFileError, ThreadFiles};
use kith_vocab::blocking::blocking;
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use serde::Deserialize;

use crate::feed::ThreadKey;
use crate::thread_logs::{SessionsByThread, ThreadLogs};
use crate::ui_message::{Projection, UiMessage};

pub struct ThreadFileSync {
    logs: ThreadLogs,
    files: ThreadFiles,
    /// The sessions of every thread. Found when a file is missing, and then kept up to date.
    known: Mutex<Option<SessionsByThread>>,
}

/// The result of a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildSummary {
    pub threads: u64,
    pub messages: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ThreadFileSyncError {
    #[error(transparent)]
    File(#[from] ThreadFileError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ThreadFileSync {
    pub fn new(journal: Arc<dyn Journal>, files: ThreadFiles) -> ThreadFileSync {
        ThreadFileSync { logs: ThreadLogs::new(journal), files, known: Mutex::default() }
    }

    /// Brings the file of the session's thread up to what the session's log says.
    ///
    /// `new` holds the events since, if they were followed: then the log need not be read.
    pub async fn catch_up(
        &self,
        id: SessionId,
        new: Option<&Projection>,
    ) -> Result<(), ThreadFileSyncError> {
        let header = self.logs.journal().header(id).await?;
        let key = ThreadKey::of(&header);
        self.note_session(&key, id);
        let path = self.files.path(&key.agent_id, &key.thread_id);
        let last = match blocking(|| self.files.last(&path))? {
            LastLine::Whole(line) => LineStamp::read(&line),
            LastLine::Absent | LastLine::Torn => None,
        };
        let Some(last) = last else { return self.rebuild(&key).await.map(drop) };
        if let Some((new, (first_seq, last_seq))) = new.and_then(|it| Some((it, it.span()?)))
            && last.metadata.session_id == id
            && last.is_of_a_reply()
        {
            let seq = last.metadata.seq;
            if seq >= last_seq {
                // A later call has read the log already.
                return Ok(());
            }
            if seq + 1 == first_seq && !new.needs_full_read() {
                return Ok(blocking(|| self.files.append(&path, &lines(new.messages())))?);
            }
        }
        // A session that begins stands at the end, if the file holds all that came before.
        let last_id = last.metadata.session_id;
        let is_between = |it: &SessionId| last_id < *it && *it < id;
        if last_id < id
            && header.cloned_from.is_none()
            && !self.sessions_of(&key).await?.iter().any(is_between)
            && self.is_current(&last).await
        {
            let messages = self.logs.session_messages(id).await?;
            return Ok(blocking(|| self.files.append(&path, &lines(&messages)))?);
        }
        self.rebuild(&key).await.map(drop)
    }

    /// The last event of the session that the file of its thread takes into account, if that is
    /// the session the file ends with.
    pub fn position(
        &self,
        key: &ThreadKey,
        id: SessionId,
    ) -> Result<Option<u64>, ThreadFileSyncError> {
        let path = self.files.path(&key.agent_id, &key.thread_id);
        let LastLine::Whole(line) = blocking(|| self.files.last(&path))? else { return Ok(None) };
        let stamp = LineStamp::read(&line).filter(|it| it.metadata.session_id == id);
        Ok(stamp.map(|it| it.metadata.seq))
    }

    /// Brings the files of all threads up to what their newest sessions say.
    pub async fn catch_up_all(&self) -> Result<(), ThreadFileSyncError> {
        self.forget();
        for ids in self.sessions().await?.values() {
            if let Some(id) = ids.last() {
                self.catch_up(*id, None).await?;
            }
        }
        Ok(())
    }

    /// Makes the file of a thread from its logs. A thread without messages has none.
    pub async fn rebuild(&self, key: &ThreadKey) -> Result<RebuildSummary, ThreadFileSyncError> {
        let ids = self.sessions_of(key).await?;
        let messages = self.logs.messages(&ids).await?;
        let path = self.files.path(&key.agent_id, &key.thread_id);
        blocking(|| self.files.replace(&path, &lines(&messages)))?;
        Ok(RebuildSummary { threads: 1, messages: messages.len() as u64 })
    }

    /// Makes all files from the logs, and takes away those of threads that are gone.
    pub async fn rebuild_all(&self) -> Result<RebuildSummary, ThreadFileSyncError> {
        self.forget();
        let sessions = self.sessions().await?;
        let mut made = RebuildSummary::default();
        let mut paths = HashSet::new();
        for key in sessions.keys() {
            let one = self.rebuild(key).await?;
            made.threads += one.threads;
            made.messages += one.messages;
            paths.insert(self.files.path(&key.agent_id, &key.thread_id));
        }
        let agents = sessions.keys().map(|key| key.agent_id.as_str());
        for path in blocking(|| self.files.list(agents))? {
            if !paths.contains(&path) {
                blocking(|| self.files.replace(&path, &[]))?;
            }
        }
        Ok(made)
    }

    /// Leaves of each message in the file only the last line.
    pub async fn compact(&self, key: &ThreadKey) -> Result<RebuildSummary, ThreadFileSyncError> {
        let path = self.files.path(&key.agent_id, &key.thread_id);
        let folded = blocking(|| self.files.lines(&path))?.and_then(latest_lines);
        let Some(folded) = folded else { return self.rebuild(key).await };
        blocking(|| self.files.replace(&path, &folded.concat()))?;
        Ok(RebuildSummary { threads: 1, messages: folded.len() as u64 })
    }

    /// Whether the file says what the logs say.
    pub async fn is_up_to_date(&self, key: &ThreadKey) -> Result<bool, ThreadFileSyncError> {
        let path = self.files.path(&key.agent_id, &key.thread_id);
        let ids = self.sessions_of(key).await?;
        let folded = blocking(|| self.files.lines(&path))?.and_then(latest_lines);
        Ok(folded.unwrap_or_default().concat() == lines(&self.logs.messages(&ids).await?))
    }

    /// Whether there is no file, as in a copy of a house: it is written with the thread's next turn.
    pub fn is_absent(&self, key: &ThreadKey) -> Result<bool, ThreadFileSyncError> {
        let path = self.files.path(&key.agent_id, &key.thread_id);
        Ok(matches!(blocking(|| self.files.last(&path))?, LastLine::Absent))
    }

    /// Every thread there is, read off the first lines of the sessions.
    pub async fn sessions(&self) -> Result<SessionsByThread, ThreadFileSyncError> {
        self.look_up(SessionsByThread::clone).await
    }

    /// Looks anew at which sessions there are when that is next asked.
    pub fn forget(&self) {
        *self.known() = None;
    }

    async fn sessions_of(&self, key: &ThreadKey) -> Result<Vec<SessionId>, ThreadFileSyncError> {
        self.look_up(|sessions| sessions.get(key).cloned().unwrap_or_default()).await
    }

    async fn look_up<T>(
        &self,
        look: impl FnOnce(&SessionsByThread) -> T,
    ) -> Result<T, ThreadFileSyncError> {
        if let Some(sessions) = &*self.known() {
            return Ok(look(sessions));
        }
        let sessions = self.logs.sessions().await?;
        Ok(look(self.known().insert(sessions)))
    }

    fn known(&self) -> MutexGuard<'_, Option<SessionsByThread>> {
        // The sessions are put and taken whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_session(&self, key: &ThreadKey, id: SessionId) {
        let mut known = self.known();
        let Some(sessions) = &mut *known else { return };
        let ids = sessions.entry(key.clone()).or_default();
        if let Err(place) = ids.binary_search(&id) {
            ids.insert(place, id);
        }
    }

    /// Whether its session has no event that the line does not take into account.
    async fn is_current(&self, stamp: &LineStamp) -> bool {
        let newest = self.logs.journal().newest_seq(stamp.metadata.session_id).await;
        stamp.is_of_a_reply() && matches!(newest, Ok(Some(seq)) if seq == stamp.metadata.seq)
    }
}

/// The fields of a line that say which message, session and event it stands for.
#[derive(Deserialize)]
struct LineStamp {
    id: String,
    role: String,
    metadata: StampMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StampMetadata {
    session_id: SessionId,
    seq: u64,
}

impl LineStamp {
    fn read(line: &[u8]) -> Option<LineStamp> {
        serde_json::from_slice(line).ok()
    }

    /// False for a message without an answer: the turn was cut short, and only the log knows more.
    fn is_of_a_reply(&self) -> bool {
        self.role == "assistant"
    }
}

/// The last line of each message of a file, in the place of its first, with line breaks. `None` if a
/// line is not one of ours.
fn latest_lines(lines: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut folded: Vec<Vec<u8>> = Vec::new();
    for mut line in lines {
        let id = LineStamp::read(&line)?.id;
        line.push(b'\n');
        let place = *places.entry(id).or_insert(folded.len());
        if let Some(earlier) = folded.get_mut(place) {
            *earlier = line;
        } else {
            folded.push(line);
        }
    }
    Some(folded)
}

fn lines(messages: &[UiMessage]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend(Json::of(message).as_str().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests;
