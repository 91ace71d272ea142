//! A log and its state, kept in step.
//!
//! Events are *staged* first: folded into the state and remembered. [`Session::commit`] writes what
//! was staged as one batch and syncs it. Whoever is about to do something that cannot be taken
//! back (ask a model, run a tool, show, acknowledge, wait) commits first. A failed write leaves a state that
//! is ahead of the disk, so the session is unusable from then on and must be opened again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kith_sessions::checkpoint::CheckpointPlace;
use kith_sessions::line::Head;
use kith_sessions::log::{LogError, SessionLog};
use kith_sessions::store::SessionStore;
use kith_vocab::clock::Clock;
use kith_vocab::event::control::Resumed;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{CallId, EventId, SessionId};
use kith_vocab::provider::Tap;
use kith_vocab::tool::Prepared;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::reading::state_of;
use crate::state::State;
use crate::state::calls::Stage;

/// Sees what a session does: answers as they grow, and events once they are on disk.
pub trait Watcher: Tap {
    fn written(&self, events: &[Event]);
}

/// Invariant: `state` is folded from the log and then from `staged`, unless `log` is gone.
pub struct Session {
    header: SessionHeader,
    /// Gone for good after a failed write.
    log: Option<SessionLog>,
    state: State,
    staged: Vec<Event>,
    next_seq: u64,
    client_id: String,
    /// The inbox rows said since it was opened.
    said: HashSet<String>,
    /// What calls that may run were found to do when they were judged.
    ready: HashMap<CallId, Prepared>,
    /// How much of the log the last checkpoint covers.
    checkpointed: u64,
    store: SessionStore,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("session `{session_id}` must be opened again after a failed write")]
    Unusable { session_id: SessionId },
}

impl Session {
    /// Begins a session whose first events are these; it exists whole or not at all.
    pub fn begin(
        store: &SessionStore,
        clock: Arc<dyn Clock>,
        header: SessionHeader,
        bodies: Vec<Body>,
    ) -> Result<Session, SessionError> {
        let client_id = CLIENT_ID.to_owned();
        let mut session = Session {
            header,
            log: None,
            state: State::default(),
            staged: Vec::new(),
            next_seq: 1,
            client_id,
            said: HashSet::new(),
            ready: HashMap::new(),
            checkpointed: 0,
            store: store.clone(),
            clock,
        };
        for body in bodies {
            session.stage(body);
        }
        let events = std::mem::take(&mut session.staged);
        session.log = Some(store.create(&session.header, &events)?);
        Ok(session)
    }

    /// Opens a session as it was left.
    pub fn open(
        store: &SessionStore,
        clock: Arc<dyn Clock>,
        id: SessionId,
        head: Option<&Head>,
    ) -> Result<Session, SessionError> {
        let (log, state) = state_of(|each| store.open(id, head, &*clock, each))?;
        Ok(Session {
            header: log.header().clone(),
            next_seq: log.next_seq(),
            log: Some(log),
            state,
            staged: Vec::new(),
            client_id: CLIENT_ID.to_owned(),
            said: HashSet::new(),
            ready: HashMap::new(),
            checkpointed: 0,
            store: store.clone(),
            clock,
        })
    }

    /// Opens a session from what it amounted to at some place in its log. `None` if that does not
    /// fit any more, or is not enough: then it is opened from the start.
    pub fn open_from(
        store: &SessionStore,
        clock: Arc<dyn Clock>,
        id: SessionId,
        head: Option<&Head>,
        (place, mut state): (CheckpointPlace, State),
    ) -> Result<Option<Session>, SessionError> {
        let log = store.open_from(id, head, &place, &*clock, &mut |event| state.fold(event))?;
        let Some(log) = log.filter(|_| !state.lost_track) else { return Ok(None) };
        Ok(Some(Session {
            header: log.header().clone(),
            next_seq: log.next_seq(),
            log: Some(log),
            state,
            staged: Vec::new(),
            client_id: CLIENT_ID.to_owned(),
            said: HashSet::new(),
            ready: HashMap::new(),
            checkpointed: place.offset,
            store: store.clone(),
            clock,
        }))
    }

    /// Goes on with a session that was opened. If something was open when it was left, that was
    /// cut short, and the log says so before anything else happens.
    pub fn resume(&mut self) {
        if let Some(resumed) = self.left_open() {
            self.stage(Body::Resumed(resumed));
        }
    }

    pub fn id(&self) -> SessionId {
        self.header.session_id
    }

    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Where the log on disk ends.
    pub fn head(&self) -> Option<Head> {
        self.log.as_ref().and_then(SessionLog::head)
    }

    /// What is not on the disk yet.
    pub(crate) fn staged(&self) -> &[Event] {
        &self.staged
    }

    /// A place to go on from, if the log has grown enough since the last one.
    pub fn due_checkpoint(&mut self, grown_bytes_min: u64) -> Option<CheckpointPlace> {
        let log = self.log.as_ref().filter(|_| self.staged.is_empty())?;
        if log.byte_len() < self.checkpointed.saturating_add(grown_bytes_min) {
            return None;
        }
        self.checkpointed = log.byte_len();
        log.checkpoint_place()
    }

    /// Keeps a whole output of which the log shows a part.
    pub fn keep(&self, output: &str) -> Result<String, SessionError> {
        Ok(waiting_for_the_disk(|| self.store.put_blob(output.as_bytes()))?)
    }

    /// Whether the row's message was said since the session was opened.
    pub(crate) fn has_said(&self, key: &str) -> bool {
        self.said.contains(key)
    }

    /// Remembers what a call was found to do, so that a reader need not look twice.
    pub(crate) fn set_ready(&mut self, call_id: CallId, prepared: Prepared) {
        self.ready.insert(call_id, prepared);
    }

    pub(crate) fn take_ready(&mut self, call_id: CallId) -> Option<Prepared> {
        self.ready.remove(&call_id)
    }

    /// Who causes the events that follow.
    pub fn act_for(&mut self, client_id: &str) {
        client_id.clone_into(&mut self.client_id);
    }

    /// Lets go of what neither the next decision nor the next request needs.
    pub fn trim(&mut self) {
        self.state.trim();
        self.ready.clear();
    }

    pub fn stage(&mut self, body: Body) -> EventId {
        let id = EventId::from_uuid(self.clock.new_id());
        self.stage_as(id, None, body);
        id
    }

    pub(crate) fn new_event_id(&self) -> EventId {
        EventId::from_uuid(self.clock.new_id())
    }

    /// Stages what is told beside the conversation. A reminder joins the last result where it can.
    pub fn stage_news(&mut self, mut body: Body) -> EventId {
        if let Body::HarnessItem(it) = &mut body {
            it.merged_into = self.state.merge_target();
        }
        self.stage(body)
    }

    /// Stages an event whose id was fixed before, or which an inbox row caused.
    pub fn stage_as(&mut self, id: EventId, ingress_key: Option<String>, body: Body) {
        let event = Event {
            seq: self.next_seq,
            id,
            ts: self.clock.now(),
            client_id: self.client_id.clone(),
            ingress_key,
            parent_id: if body.is_tree() { self.state.leaf() } else { None },
            source_tag: None,
            body,
        };
        self.next_seq += 1;
        self.said.extend(event.ingress_key.clone());
        self.state.fold(&event);
        self.staged.push(event);
    }

    /// Writes what was staged as one batch. When this returns `Ok`, it is on the disk.
    pub fn commit(&mut self, watcher: &dyn Watcher) -> Result<(), SessionError> {
        let session_id = self.id();
        if self.staged.is_empty() && self.log.is_some() {
            return Ok(());
        }
        let mut log = self.log.take().ok_or(SessionError::Unusable { session_id })?;
        let events = std::mem::take(&mut self.staged);
        waiting_for_the_disk(|| log.append(&events))?;
        self.log = Some(log);
        watcher.written(&events);
        Ok(())
    }

    fn left_open(&self) -> Option<Resumed> {
        let turn = self.state.turn.as_ref()?;
        let started = turn.calls.iter().filter(|it| it.stage == Stage::Started);
        let open_calls: Vec<_> = started.map(|it| it.call.call_id).collect();
        let open_request = turn.open_request;
        let is_open = open_request.is_some() || !open_calls.is_empty();
        is_open.then_some(Resumed { open_request, open_calls })
    }
}

/// Does what may take its time, on this very thread: handing it to another and being woken again
/// costs as much as a fast disk does. Other turns go on meanwhile on threads of their own.
fn waiting_for_the_disk<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // A runtime of one thread has no other turns to go on with.
        _ => work(),
    }
}

/// The client id of what the runtime does by itself.
pub const CLIENT_ID: &str = "kith";
