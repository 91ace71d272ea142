//! A log and its state, kept in step.
//!
//! Events are *staged* first: folded into the state and remembered. [`Session::commit`] writes the
//! staged events as one batch and publishes them. The driver commits before anything that cannot be
//! undone (asking a model, running a tool, showing, acknowledging, waiting). A failed write leaves a
//! state that is ahead of the journal, so the session is unusable from then on and must be opened
//! again.

mod row_keys;
mod session_clock;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kith_providers::media::MediaBytes;
use kith_sessions::desk::{InboxRow, RowOutcome};
use kith_sessions::journal::{Batch, Cursor, Journal, NewBlob};
use kith_sessions::line::LogHead;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::clock::Clock;
use kith_vocab::event::control::{Level, Notice, Resumed};
use kith_vocab::event::messages::Usage;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{CallId, EventId, SessionId};
use kith_vocab::text::Text;
use kith_vocab::tool::CallPlan;

use crate::feed::{SessionFeed, ThreadKey};
use crate::observer::Observation;
use crate::state::State;
use crate::state::calls::CallStage;
pub(crate) use row_keys::RowKeys;
use session_clock::SessionClock;

/// The client id of what the runtime does by itself.
pub const CLIENT_ID: &str = "kith";

/// The journal, feed and clock of a session.
#[derive(Clone)]
pub struct SessionParts {
    pub journal: Arc<dyn Journal>,
    pub feed: Arc<SessionFeed>,
    pub clock: Arc<dyn Clock>,
}

/// The client and message that cause an event.
#[derive(Clone, Copy, Debug)]
pub struct EventSource<'a> {
    /// The event's id, if it was fixed before.
    pub id: Option<EventId>,
    pub client_id: &'a str,
    /// The inbox row that causes it.
    pub ingress_key: Option<&'a str>,
}

impl EventSource<'static> {
    pub const RUNTIME: EventSource<'static> =
        EventSource { id: None, client_id: CLIENT_ID, ingress_key: None };
}

/// Invariant: `state` is folded from the log up to `head` and then from `staged`, unless it is broken.
pub struct Session {
    parts: SessionParts,
    header: SessionHeader,
    state: State,
    /// The newest event in the journal.
    head: Option<LogHead>,
    staged: Vec<Event>,
    blobs: Vec<NewBlob>,
    next_seq: u64,
    /// Whether the journal has it; a session is made with its first batch.
    is_created: bool,
    /// A write failed: only opening it again shows what the journal holds.
    is_broken: bool,
    keys: RowKeys,
    /// The plans of calls that may run, kept since they were judged.
    prepared: BTreeMap<CallId, CallPlan>,
    /// What a request used that was stopped with its turn; the end of the turn records it.
    stopped_usage: Option<Usage>,
    clock: SessionClock,
    /// When it was opened, by the wall clock.
    opened_at: u64,
    /// Ids of commands that were written since.
    ids: BTreeSet<EventId>,
    /// How much of the log the last checkpoint covers, and how large that was.
    checkpointed: (u64, u64),
}

impl Session {
    /// A session that the journal does not have yet. It is made with its first commit, whole or not
    /// at all.
    pub fn new(parts: SessionParts, header: SessionHeader) -> Session {
        parts.feed.begin_at(1);
        parts.feed.observe(Observation::Opened { n_events: 0, torn_bytes: None });
        Session::of(parts, header, State::default(), RowKeys::default(), None)
    }

    /// Opens a session as it was left. `head` is what the desk knows of its log: rows that stand
    /// behind it may be open on the desk although the log has dealt with them.
    ///
    /// The checkpoint is used if it covers no more than the desk knows.
    pub async fn open(
        parts: SessionParts,
        id: SessionId,
        head: Option<LogHead>,
        checkpoint: Option<(Cursor, State)>,
    ) -> Result<Session, StorageError> {
        let known_seq = head.map_or(0, |head| head.seq);
        if let Some((cursor, state)) = checkpoint.filter(|(it, _)| it.head.seq <= known_seq) {
            let opened = read(&parts, id, head, (Some(&cursor), state), Trim::Never).await?;
            if let Some(mut session) = opened.filter(|session| !session.state.needs_full_read) {
                session.checkpointed.0 = session.weight();
                return Ok(session);
            }
        }
        for trim in [Trim::AtCompactions, Trim::Never] {
            let opened = read(&parts, id, head, (None, State::default()), trim).await?;
            if let Some(session) = opened.filter(|session| !session.state.needs_full_read) {
                return Ok(session);
            }
        }
        let message = format!("the journal could not read session `{id}` from its beginning");
        Err(StorageError::new(StorageErrorKind::Unavailable, message))
    }

    fn of(
        parts: SessionParts,
        header: SessionHeader,
        state: State,
        keys: RowKeys,
        head: Option<LogHead>,
    ) -> Session {
        Session {
            opened_at: parts.clock.now(),
            ids: BTreeSet::new(),
            clock: SessionClock::new(Arc::clone(&parts.clock)),
            parts,
            header,
            state,
            head,
            staged: Vec::new(),
            blobs: Vec::new(),
            next_seq: head.map_or(1, |head| head.seq + 1),
            is_created: false,
            is_broken: false,
            keys,
            prepared: BTreeMap::new(),
            stopped_usage: None,
            checkpointed: (0, 0),
        }
    }

    pub fn id(&self) -> SessionId {
        self.header.session_id
    }

    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    pub fn thread(&self) -> ThreadKey {
        ThreadKey::of(&self.header)
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn feed(&self) -> &Arc<SessionFeed> {
        &self.parts.feed
    }

    /// Where the log ends.
    pub fn head(&self) -> Option<LogHead> {
        self.head
    }

    /// The time by which the session's turn is measured.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Whether the log holds the row already, or will with the next commit.
    pub fn has_row(&self, key: &str) -> bool {
        self.keys.contains(key) || self.state.holds_row(key)
    }

    /// Whether there are finished rows that were not reported to the desk.
    pub fn has_settled_rows(&self) -> bool {
        self.keys.has_settled()
    }

    /// Finished rows that the desk is not known to have closed.
    pub fn rows_to_close(&mut self) -> Vec<(String, RowOutcome)> {
        self.keys.rows_to_report()
    }

    /// Forgets reported rows that are not among the open rows of the desk.
    pub fn confirm_open_rows(&mut self, rows: &[InboxRow]) {
        self.keys.confirm(|key| rows.iter().any(|row| row.key == key));
    }

    /// Says in the log that a session which was left with a turn open is worked on again: what was
    /// running then was cut short. A turn that only waits for a person was not.
    pub fn resume(&mut self) {
        self.clock.start();
        if let Some(resumed) = self.interrupted_work() {
            self.stage(Body::Resumed(resumed));
        }
    }

    /// The same for a session without an open turn: a compaction may have been cut short.
    pub fn resume_between_turns(&mut self) {
        if self.state.turn.is_none()
            && let Some(resumed) = self.interrupted_work()
        {
            self.stage(Body::Resumed(resumed));
        }
    }

    /// Whether a turn is open of which something ran when it was left.
    pub fn is_cut_short(&self) -> bool {
        self.state.turn.is_some() && self.interrupted_work().is_some()
    }

    /// Whether the log may hold an event of this id. Ids carry their time, so one that is younger
    /// than the opening was written since, if at all; one from the future tells nothing.
    pub fn may_contain(&self, id: EventId) -> bool {
        let ms = id.as_uuid().as_u128() >> 80;
        let may_be_older = ms <= u128::from(self.opened_at) || ms > u128::from(self.clock.now());
        self.is_created && (self.ids.contains(&id) || may_be_older)
    }

    /// Starts measuring a turn.
    pub fn start_clock(&mut self) {
        self.clock.start();
    }

    fn interrupted_work(&self) -> Option<Resumed> {
        let asked = self.state.compaction.request();
        let Some(turn) = &self.state.turn else {
            return asked.map(|it| Resumed { open_request: Some(it), open_calls: Vec::new() });
        };
        let started = turn.calls.iter().filter(|it| it.stage == CallStage::Started);
        let open_calls: Vec<_> = started.map(|it| it.call.call_id).collect();
        let open_request = turn.open_request.or(asked);
        let only_waits = turn.calls.any_asked() && open_request.is_none() && open_calls.is_empty();
        (!only_waits).then_some(Resumed { open_request, open_calls })
    }

    pub fn new_event_id(&self) -> EventId {
        EventId::from_uuid(self.parts.clock.new_id())
    }

    /// Stages what the runtime does by itself.
    pub fn stage(&mut self, body: Body) -> EventId {
        self.stage_from(EventSource::RUNTIME, body)
    }

    /// Stages a line from the runtime to the person.
    pub fn stage_notice(&mut self, text: impl Into<Text>, level: Level, about: Option<String>) {
        self.stage(Body::Notice(Notice { text: text.into(), level, about }));
    }

    /// Stages a reminder or a change of the skill index. A reminder joins the last result where it
    /// can.
    pub fn stage_news(&mut self, mut body: Body) -> EventId {
        if let Body::HarnessItem(it) = &mut body {
            it.merged_into = self.state.merge_target();
        }
        self.stage(body)
    }

    pub fn stage_from(&mut self, source: EventSource<'_>, body: Body) -> EventId {
        let id = source.id.unwrap_or_else(|| self.new_event_id());
        self.ids.insert(id);
        let event = Event {
            seq: self.next_seq,
            id,
            ts: self.clock.now(),
            client_id: source.client_id.to_owned(),
            ingress_key: source.ingress_key.map(str::to_owned),
            parent_id: if body.is_tree() { self.state.leaf() } else { None },
            source_tag: None,
            body,
        };
        self.next_seq += 1;
        self.keys.read(&self.state, &event);
        self.state.fold(&event);
        if self.state.turn.is_none() {
            self.clock.stop();
        }
        self.staged.push(event);
        id
    }

    /// Keeps a whole output of which the log holds a part, with the next commit.
    pub fn stage_blob(&mut self, blob: NewBlob) {
        self.blobs.push(blob);
    }

    /// The bytes of these blobs, each once. What is lost is left out: the session goes on
    /// without it.
    pub async fn read_blobs(&mut self, names: Vec<String>) -> Result<MediaBytes, StorageError> {
        let mut blobs = MediaBytes::new();
        for name in names {
            if blobs.contains_key(&name) {
                continue;
            }
            match self.parts.journal.read_blob(&name).await {
                Ok(bytes) => {
                    blobs.insert(name, bytes);
                }
                Err(error) if error.is_not_found() => (),
                Err(error) => return Err(error),
            }
        }
        Ok(blobs)
    }

    pub fn has_staged(&self) -> bool {
        !self.staged.is_empty()
    }

    /// Writes the staged events as one batch. When this returns `Ok`, they are durable and published.
    pub async fn commit(&mut self) -> Result<(), StorageError> {
        let events = self.write().await?;
        self.publish(events);
        Ok(())
    }

    /// Writes the staged events as one batch. When this returns `Ok`, they are durable; followers get
    /// them when they are published.
    pub(crate) async fn write(&mut self) -> Result<Vec<Event>, StorageError> {
        if self.is_broken {
            let message = format!("session `{}` must be reopened after a failed write", self.id());
            return Err(StorageError::new(StorageErrorKind::MustReopen, message));
        }
        let events = std::mem::take(&mut self.staged);
        if events.is_empty() {
            return Ok(events);
        }
        let batch = Batch { events: events.clone(), blobs: std::mem::take(&mut self.blobs) };
        // The session is unusable until the write is known to have succeeded, also if this future is
        // dropped while it waits.
        self.is_broken = true;
        let journal = &self.parts.journal;
        let head = if self.is_created {
            journal.append(self.header.session_id, self.head, batch).await?
        } else {
            journal.create(&self.header, vec![batch]).await?
        };
        (self.head, self.is_created, self.is_broken) = (head, true, false);
        Ok(events)
    }

    pub(crate) fn publish(&self, written: Vec<Event>) {
        if !written.is_empty() {
            self.parts.feed.publish(ThreadKey::of(&self.header), written);
        }
    }

    /// Remembers what a call was found to do, so that a reader need not look twice.
    pub(crate) fn set_prepared(&mut self, call_id: CallId, prepared: CallPlan) {
        self.prepared.insert(call_id, prepared);
    }

    pub(crate) fn set_stopped_usage(&mut self, usage: Option<Usage>) {
        self.stopped_usage = usage;
    }

    pub(crate) fn take_stopped_usage(&mut self) -> Option<Usage> {
        self.stopped_usage.take()
    }

    pub(crate) fn take_prepared(&mut self, call_id: CallId) -> Option<CallPlan> {
        self.prepared.remove(&call_id)
    }

    /// Drops events that neither the next decision nor the next request needs.
    pub fn trim(&mut self) {
        self.state.trim();
        self.prepared.clear();
    }

    /// An upper bound of the memory that the session takes: the size of its log.
    pub fn weight(&self) -> u64 {
        self.parts.journal.open_bytes(self.id()).unwrap_or_default()
    }

    /// A place to open the session from, if its log has grown enough since the last one: by the
    /// given number of bytes, and by as much as the last checkpoint weighed.
    pub fn due_checkpoint(&self, grown_bytes_min: u64) -> Option<Cursor> {
        let (covered, weight) = self.checkpointed;
        let due = covered.saturating_add(grown_bytes_min.max(weight));
        let is_due = self.staged.is_empty() && !self.is_broken && self.weight() >= due;
        if is_due { self.parts.journal.cursor(self.id()) } else { None }
    }

    pub fn note_checkpoint(&mut self, weight: u64) {
        self.checkpointed = (self.weight(), weight);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trim {
    /// Events before a compaction are dropped while the log is read, so that a long session
    /// fits into the memory that its context needs.
    AtCompactions,
    Never,
}

async fn read(
    parts: &SessionParts,
    id: SessionId,
    head: Option<LogHead>,
    (cursor, mut state): (Option<&Cursor>, State),
    trim: Trim,
) -> Result<Option<Session>, StorageError> {
    let known_seq = head.map_or(0, |head| head.seq);
    let mut keys = RowKeys::default();
    let (began, mut torn_bytes) = (parts.clock.now(), None);
    let mut each = |event: Event| {
        // The journal writes one when it has just set bytes aside.
        if let Body::LogRepaired(it) = &event.body
            && event.ts >= began
        {
            torn_bytes = Some(it.torn_bytes);
        }
        if event.seq > known_seq {
            keys.read(&state, &event);
        }
        match trim {
            Trim::AtCompactions => state.fold_trimming(&event),
            Trim::Never => state.fold(&event),
        }
    };
    let opened = parts.journal.open(id, head, cursor, &*parts.clock, &mut each).await?;
    let Some(opened) = opened else { return Ok(None) };
    let mut session = Session::of(parts.clone(), opened.header, state, keys, opened.head);
    session.is_created = true;
    session.parts.feed.begin_at(session.next_seq);
    let n_events = session.next_seq - 1;
    session.parts.feed.observe(Observation::Opened { n_events, torn_bytes });
    Ok(Some(session))
}
