//! The tables of a desk in memory.

use std::collections::BTreeMap;

use kith_vocab::header::Audience;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;

use crate::desk::checks::{WaitingRows, check_digest, check_waiting, content_bytes, digest};
use crate::desk::{
    AcceptOutcome, InboxRow, Repository, RowOutcome, RowStatus, RowTarget, ThreadRow, Wakeup,
};
use crate::line::LogHead;
use crate::storage::StorageError;

pub(super) type AgentThread = (String, ThreadId);

#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) generation: u64,
    next_place: u64,
    rows: BTreeMap<String, Row>,
    pub(super) threads: BTreeMap<AgentThread, ThreadRow>,
    pub(super) heads: BTreeMap<SessionId, LogHead>,
    pub(super) wakeups: BTreeMap<String, Wakeup>,
    pub(super) repositories: BTreeMap<String, Repository>,
}

#[derive(Clone, Debug)]
struct Row {
    place: u64,
    session_id: SessionId,
    digest: String,
    stage: RowStage,
}

#[derive(Clone, Debug)]
enum RowStage {
    Open { event: Box<IngressEvent>, accepted_at: u64 },
    Closed { outcome: RowOutcome, closed_at: u64 },
}

impl Row {
    fn status(&self) -> RowStatus {
        let session_id = self.session_id;
        match self.stage {
            RowStage::Open { .. } => RowStatus::Open { session_id },
            RowStage::Closed { outcome, .. } => RowStatus::Closed { session_id, outcome },
        }
    }

    fn event(&self) -> Option<&IngressEvent> {
        match &self.stage {
            RowStage::Open { event, .. } => Some(event),
            RowStage::Closed { .. } => None,
        }
    }
}

impl Tables {
    pub(super) fn accept(
        &mut self,
        event: &IngressEvent,
        (target, fresh): (RowTarget, SessionId),
        now: u64,
        found_generation: u64,
    ) -> Result<AcceptOutcome, StorageError> {
        if let Some(row) = self.rows.get(&event.key) {
            check_digest(event, &row.digest)?;
            return Ok(AcceptOutcome {
                first: false,
                session_id: row.session_id,
                status: row.status(),
                event: row.event().unwrap_or(event).clone(),
                generation: self.generation,
                head: None,
            });
        }
        let thread = (event.agent_id.clone(), event.thread_id.clone());
        let session_id = match target {
            RowTarget::Current => self.threads.get(&thread).map_or(fresh, |it| it.session_id),
            RowTarget::New => fresh,
            RowTarget::Session(session_id) => session_id,
        };
        check_waiting(session_id, self.waiting(session_id), event)?;
        self.set_current(thread, session_id, event.audience, now);
        let stage = RowStage::Open { event: Box::new(event.clone()), accepted_at: now };
        self.enter(event.key.clone(), session_id, digest(event), stage);
        self.generation = self.generation.max(found_generation.saturating_add(1));
        let (event, generation) = (event.clone(), self.generation);
        let status = RowStatus::Open { session_id };
        let head = self.heads.get(&session_id).copied();
        Ok(AcceptOutcome { first: true, session_id, status, event, generation, head })
    }

    fn enter(&mut self, key: String, session_id: SessionId, digest: String, stage: RowStage) {
        let place = self.next_place;
        self.next_place += 1;
        self.rows.insert(key, Row { place, session_id, digest, stage });
    }

    fn waiting(&self, session: SessionId) -> WaitingRows {
        let of_session = self.rows.values().filter(|row| row.session_id == session);
        let mut waiting = WaitingRows::default();
        for event in of_session.filter_map(Row::event) {
            waiting.n_rows += 1;
            waiting.bytes += content_bytes(event);
        }
        waiting
    }

    pub(super) fn set_current(
        &mut self,
        (agent_id, thread_id): AgentThread,
        session_id: SessionId,
        audience: Audience,
        now: u64,
    ) {
        let key = (agent_id.clone(), thread_id.clone());
        let before = self.threads.get(&key);
        // What others could read once is never the owner's alone again.
        let audience = before.map_or(audience, |before| before.audience.narrowed_by(audience));
        let updated_at = before.map_or(now, |before| before.updated_at.max(now));
        let row = ThreadRow { agent_id, thread_id, session_id, audience, updated_at };
        self.threads.insert(key, row);
    }

    pub(super) fn set_head(&mut self, session: SessionId, head: LogHead) {
        let known = self.heads.entry(session).or_insert(head);
        if head.seq > known.seq {
            *known = head;
        }
    }

    pub(super) fn status(&self, key: &str) -> Option<RowStatus> {
        self.rows.get(key).map(Row::status)
    }

    pub(super) fn open_rows(&self, session: SessionId) -> Vec<InboxRow> {
        let mut rows: Vec<(u64, InboxRow)> = Vec::new();
        for (key, row) in self.rows.iter().filter(|(_, row)| row.session_id == session) {
            let RowStage::Open { event, accepted_at } = &row.stage else { continue };
            let (key, event) = (key.clone(), IngressEvent::clone(event));
            let accepted_at = *accepted_at;
            rows.push((row.place, InboxRow { key, session_id: session, event, accepted_at }));
        }
        rows.sort_by_key(|(place, _)| *place);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    pub(super) fn sessions_with_open_rows(&self) -> Vec<SessionId> {
        let mut first_places = BTreeMap::new();
        for row in self.rows.values().filter(|row| row.event().is_some()) {
            let first = first_places.entry(row.session_id).or_insert(row.place);
            *first = row.place.min(*first);
        }
        let mut sessions: Vec<(SessionId, u64)> = first_places.into_iter().collect();
        sessions.sort_by_key(|(_, place)| *place);
        sessions.into_iter().map(|(session, _)| session).collect()
    }

    pub(super) fn close_rows(
        &mut self,
        rows: Vec<(String, RowOutcome)>,
        session: SessionId,
        now: u64,
    ) {
        for (key, outcome) in rows {
            let stage = RowStage::Closed { outcome, closed_at: now };
            match self.rows.get_mut(&key) {
                Some(row) if row.event().is_some() => row.stage = stage,
                Some(_) => (),
                None => self.enter(key, session, String::new(), stage),
            }
        }
    }

    pub(super) fn touch_threads_of(&mut self, session: SessionId, now: u64) {
        for thread in self.threads.values_mut().filter(|it| it.session_id == session) {
            thread.updated_at = thread.updated_at.max(now);
        }
    }

    pub(super) fn prune(&mut self, closed_before: u64) {
        self.rows.retain(|_, row| match row.stage {
            RowStage::Open { .. } => true,
            RowStage::Closed { closed_at, .. } => closed_at >= closed_before,
        });
    }

    pub(super) fn replace_session(
        &mut self,
        thread: &AgentThread,
        (old, new): (SessionId, SessionId),
        held: Vec<String>,
        now: u64,
    ) {
        let held = held.into_iter().map(|key| (key, RowOutcome::Failed)).collect();
        self.close_rows(held, old, now);
        if let Some(row) = self.threads.get_mut(thread).filter(|it| it.session_id == old) {
            row.session_id = new;
        }
        for row in self.rows.values_mut().filter(|row| row.session_id == old) {
            let is_of_thread =
                row.event().is_some_and(|it| it.agent_id == thread.0 && it.thread_id == thread.1);
            if is_of_thread {
                row.session_id = new;
            }
        }
        self.wakeups.retain(|_, wakeup| wakeup.session_id != Some(old));
    }

    pub(super) fn forget_session(&mut self, session: SessionId) -> bool {
        if self.waiting(session).n_rows > 0 {
            return false;
        }
        self.threads.retain(|_, thread| thread.session_id != session);
        self.heads.remove(&session);
        self.wakeups.retain(|_, wakeup| wakeup.session_id != Some(session));
        true
    }

    pub(super) fn wakeups_by_time(&self) -> Vec<&Wakeup> {
        // Stable: those of one time stay in the order of their keys.
        let mut wakeups: Vec<&Wakeup> = self.wakeups.values().collect();
        wakeups.sort_by_key(|wakeup| wakeup.at);
        wakeups
    }
}
