//! A desk that is missing, or older than the logs.
//!
//! The desk says which messages were accepted and where each thread is. If it was lost or an old
//! copy was put back, all of that is read from the logs before anything is accepted, so that no
//! message is said twice. What only the desk knows, trust above all, is gone, and that is said.

mod open_messages;

use std::collections::BTreeMap;

use kith_sessions::desk::{RowOutcome, RowStatus, RowTarget, ThreadRow, Wakeup, WakeupReason};
use kith_sessions::line::LogHead;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::IngressEvent;

use super::{Engine, EngineError, EngineShared};
use crate::feed::ThreadKey;
use crate::session::RowKeys;
use crate::state::State;
use crate::step::{Step, decide};
use crate::wakeups::wakeup_key;
use open_messages::OpenMessages;

/// The result of rebuilding the desk from the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveredDesk {
    pub n_sessions: u64,
    pub n_threads: u64,
    pub n_messages: u64,
    /// Sessions that could not be read to their end.
    pub n_damaged: u64,
}

impl Engine {
    /// Enters keys, threads and heads of all logs into the desk.
    pub async fn recover_desk(&self) -> Result<RecoveredDesk, EngineError> {
        let shared = &self.shared;
        let mut recovered = RecoveredDesk::default();
        let mut threads: BTreeMap<ThreadKey, ThreadRow> = BTreeMap::new();
        let mut open: Vec<(SessionId, IngressEvent)> = Vec::new();
        let sessions = shared.journal.list().await?;
        self.forget_removed(&sessions).await?;
        for id in sessions {
            let Some(log) = shared.read_for_desk(id).await? else {
                recovered.n_damaged += 1;
                continue;
            };
            let RecoveredLog { header, head, keys, messages, state, is_damaged } = log;
            recovered.n_sessions += 1;
            recovered.n_damaged += u64::from(is_damaged);
            recovered.n_messages += (keys.len() + messages.len()) as u64;
            open.extend(messages.into_iter().map(|message| (id, message)));
            if decide(&state, shared.clock.now()) != Step::Rest {
                // No row of this desk says so, and the turn must go on all the same.
                shared.desk.set_wakeup(unfinished(id, shared.clock.now())).await?;
            }
            if let Some(head) = head {
                self.enter(keys, id, head).await?;
            }
            let row = ThreadRow::of(&header, state.last_ts.max(header.created_at));
            // Ids rise with time, so the last session of a thread that was spoken in wins.
            let known = threads.get(&ThreadKey::of(&header));
            if known.is_none_or(|known| known.updated_at <= row.updated_at) {
                threads.insert(ThreadKey::of(&header), row);
            }
        }
        recovered.n_threads = threads.len() as u64;
        for row in threads.values_mut() {
            let known = shared.desk.current_session(&row.agent_id, &row.thread_id).await?;
            row.session_id = known.map_or(row.session_id, |known| known.max(row.session_id));
        }
        for (id, message) in &open {
            shared.accept_again(*id, message).await?;
        }
        // Last, because a message that is accepted moves its thread.
        for row in threads.into_values() {
            shared.desk.place_session(row, None).await?;
        }
        Ok(recovered)
    }

    /// Enters the keys of a log, and waits: the steps that follow rely on them.
    async fn enter(
        &self,
        keys: Vec<(String, RowOutcome)>,
        id: SessionId,
        head: LogHead,
    ) -> Result<(), EngineError> {
        let desk = &self.shared.desk;
        let entered = keys.first().map(|(key, _)| key.clone());
        desk.close(keys, id, head, self.shared.clock.now()).await?;
        // They were entered together or not at all.
        if let Some(key) = entered
            && desk.row(&key).await?.is_none_or(RowStatus::is_open)
        {
            let message = format!("cannot record the message keys of session `{id}`");
            return Err(StorageError::new(StorageErrorKind::Unavailable, message).into());
        }
        Ok(())
    }

    /// Forgets the sessions that the desk knows of and that were removed since. What waits for one
    /// was answered before that.
    async fn forget_removed(&self, sessions: &[SessionId]) -> Result<(), EngineError> {
        let shared = &self.shared;
        for (id, head) in shared.desk.heads().await? {
            if sessions.contains(&id) {
                continue;
            }
            let rows = shared.desk.open_rows(id).await?;
            let rows = rows.into_iter().map(|row| (row.key, RowOutcome::Failed)).collect();
            shared.desk.close(rows, id, head, shared.clock.now()).await?;
            shared.desk.forget_session(id).await?;
        }
        Ok(())
    }
}

/// The facts about a log that the desk must know.
struct RecoveredLog {
    header: SessionHeader,
    head: Option<LogHead>,
    /// Messages that are dealt with.
    keys: Vec<(String, RowOutcome)>,
    /// Messages that are not.
    messages: Vec<IngressEvent>,
    state: State,
    is_damaged: bool,
}

#[derive(Default)]
struct RecoveryReader {
    keys: RowKeys,
    messages: OpenMessages,
    state: State,
}

impl RecoveryReader {
    fn read(&mut self, event: &Event) {
        self.keys.read(&self.state, event);
        self.messages.read(event);
        self.state.fold(event);
    }

    fn into_log(mut self, header: SessionHeader, head: Option<LogHead>) -> RecoveredLog {
        let keys = self.keys.take_settled();
        let messages = self.messages.of(&header, &self.state);
        RecoveredLog { header, head, keys, messages, state: self.state, is_damaged: false }
    }
}

impl EngineShared {
    /// Reads a log, and makes it durable: the head that the desk notes must be. One that is damaged
    /// is read as far as possible. `None` if that is nowhere.
    async fn read_for_desk(&self, id: SessionId) -> Result<Option<RecoveredLog>, StorageError> {
        // An old desk knows little of where a log ends, but what it knows was there.
        let head = self.desk.head(id).await?;
        let mut reader = RecoveryReader::default();
        let each = &mut |event: Event| reader.read(&event);
        let opened = self.journal.open(id, head, None, &*self.clock, each).await;
        self.journal.close(id);
        match opened {
            Ok(Some(opened)) => return Ok(Some(reader.into_log(opened.header, opened.head))),
            // What it holds would be said again.
            Err(error) if error.damage().is_none() => return Err(error),
            Ok(None) | Err(_) => (),
        }
        let mut reader = RecoveryReader::default();
        let each = &mut |event: Event| reader.read(&event);
        let Ok(reading) = self.journal.read(id, head, 0, each).await else { return Ok(None) };
        let log = reader.into_log(reading.header, reading.head);
        Ok(Some(RecoveredLog { is_damaged: true, ..log }))
    }

    /// Enters the row of a message that a log holds and has not finished: another delivery of it
    /// then gets the same report, and the message is not written twice.
    async fn accept_again(&self, id: SessionId, event: &IngressEvent) -> Result<(), StorageError> {
        use StorageErrorKind::{Conflict, LimitReached};
        match self.desk.accept(event, RowTarget::Session(id), id, self.clock.now()).await {
            Ok(_) => Ok(()),
            // The key is known, with other words, or there are more than the desk takes.
            Err(error) if matches!(error.kind, Conflict | LimitReached) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn unfinished(id: SessionId, at: u64) -> Wakeup {
    let reason = WakeupReason::SessionRetry;
    Wakeup { key: wakeup_key(reason, id), session_id: Some(id), agent_thread: None, at, reason }
}
