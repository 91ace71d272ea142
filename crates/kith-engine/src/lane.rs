//! One turn at a time per thread, each message once.
//!
//! A message is a row on the desk before anyone is told that it was received, and stays one until
//! its turn has ended. Whoever holds the lane of a thread works off its rows in order. After a
//! crash the log tells which of them it already holds, so none is lost and none is said twice.

mod adopt;
mod branch;
mod cloning;
mod decline;
mod halts;
mod remove;
mod report;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kith_sessions::desk::{Accepted, Desk, DeskError, InboxRow, Target};
use kith_sessions::line::Head;
use kith_sessions::log::LogError;
use kith_sessions::store::SessionStore;
use kith_vocab::block::Block;
use kith_vocab::clock::Clock;
use kith_vocab::event::Body;
use kith_vocab::event::control::{Level, Limits, Notice, TurnStarted};
use kith_vocab::event::messages::{MessageContent, UserMessage};
use kith_vocab::header::{HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};
use kith_vocab::ingress::{IngressContent, IngressEvent};
use kith_vocab::policy::Policy;
use kith_vocab::provider::Provider;
use kith_vocab::tool::Tool;
use tokio_util::sync::CancellationToken;

use crate::session::{Session, SessionError, Watcher};
use crate::shelf::{CHECKPOINT_BYTES_MIN, Shelf, row_of};
use crate::state::told::Told;
use crate::survey::PlaceError;
use crate::turn::{Hands, Pause, TurnError, drive};

use decline::decline;
use halts::Halts;

pub use branch::{Branch, Surveyed};
pub use cloning::Cloned;
pub use report::{Inquiry, Report};

/// What a new session starts from, and what its turns work with.
pub trait Opening: Send + Sync {
    /// The snapshot and the tool list of a session that begins now.
    fn first_events(&self, header: &SessionHeader) -> Result<Vec<Body>, OpeningError>;

    fn tools(&self, header: &SessionHeader) -> Result<Vec<Arc<dyn Tool>>, OpeningError>;

    /// On what terms a turn of the session begins now.
    fn terms(&self, _: &SessionHeader) -> Terms {
        Terms::default()
    }

    /// What has changed since the model was told, to stand right after a new message: reminders,
    /// and changes of the skill index. There is no error here: a turn that can go on goes on, and
    /// what could not be looked at is itself news.
    fn news(&self, _header: &SessionHeader, _told: &Told<'_>, _now: u64) -> Vec<Body> {
        Vec::new()
    }
}

/// What a turn may use, and the language in which people are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    pub limits: Limits,
    pub language: String,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { limits: Limits::default(), language: "en".to_owned() }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot begin a session")]
pub struct OpeningError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Desk(#[from] DeskError),
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error(transparent)]
    Turn(#[from] TurnError),
    #[error("a message still waits for its answer in session `{session_id}`")]
    InUse { session_id: SessionId },
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(
        "the conversation of session `{session_id}` now ends at `{present}`, not at `{expected}`"
    )]
    Conflict { session_id: SessionId, expected: LeafId, present: LeafId },
    #[error("there is a session `{session_id}` already, and it is no clone of that one")]
    Taken { session_id: SessionId },
    #[error("the next step of session `{session_id}` is {step}, which is not built yet")]
    NotBuilt { session_id: SessionId, step: &'static str },
}

impl From<SessionError> for EngineError {
    fn from(error: SessionError) -> EngineError {
        EngineError::Turn(TurnError::Session(error))
    }
}

pub struct Engine {
    store: SessionStore,
    desk: Desk,
    clock: Arc<dyn Clock>,
    policy: Arc<dyn Policy>,
    opening: Arc<dyn Opening>,
    shelf: Shelf,
    lanes: Mutex<HashMap<(String, ThreadId), Lane>>,
    halts: Halts,
}

/// The session of a thread that is open, if one is. Holding the lock is holding the lane.
type Lane = Arc<tokio::sync::Mutex<Option<Session>>>;

/// So many sessions stay open between turns; beyond that, those at rest are closed. A closed one
/// costs neither memory nor a descriptor, and the next message opens it again.
pub const OPEN_SESSIONS_MAX: usize = 256;

/// Who runs a turn: the model it asks, the screen that watches, the hand on the brake.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub provider: &'a dyn Provider,
    pub watcher: &'a dyn Watcher,
    pub cancel: &'a CancellationToken,
}

impl Engine {
    pub fn new(
        store: SessionStore,
        desk: Desk,
        clock: Arc<dyn Clock>,
        policy: Arc<dyn Policy>,
        opening: Arc<dyn Opening>,
        shelf: Shelf,
    ) -> Engine {
        let (lanes, halts) = (Mutex::default(), Halts::default());
        Engine { store, desk, clock, policy, opening, shelf, lanes, halts }
    }

    /// Accepts an event once, durably. A repeated key gets the first answer again.
    pub async fn accept(
        &self,
        event: &IngressEvent,
        target: Target,
    ) -> Result<Accepted, EngineError> {
        let fresh = SessionId::from_uuid(self.clock.new_id());
        Ok(self.desk.accept(event, target, fresh, self.clock.now()).await?)
    }

    /// Works off the rows of the accepted event's session and reports on its turn.
    pub async fn run(&self, accepted: &Accepted, run: Run<'_>) -> Result<Report, EngineError> {
        let event = &accepted.event;
        if accepted.closed {
            return self.report_again(accepted.session_id, event);
        }
        let lane = self.lane(&event.agent_id, &event.thread_id);
        let mut place = lane.lock().await;
        // A session that was open all along holds all that was said before; one that is opened now
        // may find rows that an earlier process left.
        let (mut session, is_next) = match place.take() {
            Some(session) if session.id() == accepted.session_id => (session, accepted.is_next),
            _ => (self.open(event, accepted.session_id, run).await?, false),
        };
        // The session goes back into its place only if nothing failed: an error may have left a
        // state that is ahead of the disk, and only opening the file again tells.
        self.work_off(&mut session, accepted, is_next, run).await?;
        // Off the path it stands only if it was left behind, or never said.
        let report = match Report::of(&session, &event.key) {
            Some(report) => report,
            None => self.report_again(session.id(), event)?,
        };
        self.put_away(&mut session).await;
        *place = Some(session);
        drop(place);
        drop(lane);
        self.close_idle();
        Ok(report)
    }

    /// Goes on with every message that was accepted and whose turn has not ended.
    ///
    /// Returns the sessions that were taken up, each with what kept it from coming to rest.
    pub async fn take_up(
        &self,
        run: Run<'_>,
    ) -> Result<Vec<(SessionId, Option<EngineError>)>, EngineError> {
        let mut taken = Vec::new();
        for session_id in self.desk.unclosed_sessions().await? {
            let rows = self.desk.unclosed(session_id).await?;
            // The last one brings those before it along.
            let Some(InboxRow { event, .. }) = rows.into_iter().next_back() else { continue };
            let accepted =
                Accepted { first: false, session_id, closed: false, is_next: false, event };
            taken.push((session_id, self.run(&accepted, run).await.err()));
        }
        Ok(taken)
    }

    /// Writes one event into a session between its turns.
    pub async fn note(
        &self,
        agent_id: &str,
        thread_id: &ThreadId,
        session_id: SessionId,
        body: Body,
        watcher: &dyn Watcher,
    ) -> Result<EventId, EngineError> {
        let lane = self.lane(agent_id, thread_id);
        let mut place = lane.lock().await;
        let mut session = match place.take() {
            Some(session) if session.id() == session_id => session,
            _ => {
                let head = self.desk.head(session_id).await?;
                self.load(session_id, head.as_ref()).await?
            }
        };
        let id = session.stage(body);
        session.commit(watcher)?;
        self.close(session_id, session.head(), Vec::new()).await?;
        // A turn that was left open is taken up by whoever runs the session, not by a note.
        if session.state().turn.is_none() {
            *place = Some(session);
        }
        Ok(id)
    }

    /// Writes what is only remembered so far. Whoever ends the engine calls this last.
    pub async fn flush(&self) {
        self.shelf.flush().await;
        if let Ok(heads) = self.desk.heads().await {
            self.shelf.catch_up(&self.store, &heads.into_iter().collect()).await;
        }
    }

    /// After a turn: lets go of what is not needed, and notes what would take long to find again.
    async fn put_away(&self, session: &mut Session) {
        session.trim();
        if let Some(place) = session.due_checkpoint(CHECKPOINT_BYTES_MIN) {
            self.shelf.put(session.id(), place, session.state()).await;
        }
        if let Ok(stamp) = self.store.stat(session.id()) {
            self.shelf.list(row_of(session.header(), session.state(), stamp)).await;
        }
    }

    fn close_idle(&self) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() > OPEN_SESSIONS_MAX {
            // Only the map knows an idle lane; whoever waits for one or works in it holds it too.
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
        }
    }

    fn lane(&self, agent_id: &str, thread_id: &ThreadId) -> Lane {
        let key = (agent_id.to_owned(), thread_id.clone());
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lanes.entry(key).or_default())
    }

    /// Opens the session, or begins it, and brings a turn that was cut short to its end.
    async fn open(
        &self,
        event: &IngressEvent,
        id: SessionId,
        run: Run<'_>,
    ) -> Result<Session, EngineError> {
        let head = self.desk.head(id).await?;
        let mut session = match self.load(id, head.as_ref()).await {
            Ok(session) => session,
            // Accepted, and then the program ended before the session was begun.
            Err(SessionError::Log(LogError::NotFound { .. })) if head.is_none() => {
                return self.begin(event, id, Vec::new());
            }
            Err(SessionError::Log(error @ LogError::Damaged { .. })) => {
                return self.begin_instead(event, id, &error).await;
            }
            Err(error) => return Err(error.into()),
        };
        session.resume();
        self.rest(&mut session, run).await?;
        let said = self.in_the_log(&session).await?;
        if !said.is_empty() {
            self.close(session.id(), session.head(), said).await?;
        }
        Ok(session)
    }

    /// The rows that are not closed and that the log holds.
    async fn in_the_log(&self, session: &Session) -> Result<Vec<String>, EngineError> {
        let rows = self.desk.unclosed(session.id()).await?;
        let keys = rows.into_iter().map(|row| row.key);
        Ok(keys.filter(|key| session.state().recent_keys.contains(key)).collect())
    }

    async fn load(&self, id: SessionId, head: Option<&Head>) -> Result<Session, SessionError> {
        let (store, clock) = (&self.store, || Arc::clone(&self.clock));
        let is_long = store.stat(id).is_ok_and(|stamp| stamp.bytes >= CHECKPOINT_BYTES_MIN);
        if is_long
            && let Some(put_away) = self.shelf.take(id).await
            && let Some(session) = Session::open_from(store, clock(), id, head, put_away)?
        {
            return Ok(session);
        }
        Session::open(store, clock(), id, head)
    }

    fn begin(
        &self,
        event: &IngressEvent,
        id: SessionId,
        more: Vec<Body>,
    ) -> Result<Session, EngineError> {
        let header = SessionHeader {
            v: LOG_FORMAT_VERSION,
            line_type: HeaderType::SessionHeader,
            session_id: id,
            agent_id: event.agent_id.clone(),
            device_id: self.desk.device_id().to_owned(),
            created_at: self.clock.now(),
            thread_id: event.thread_id.clone(),
            audience: event.audience,
            cwd: event.cwd.clone(),
            cloned_from: None,
            parent: None,
            meta: HeaderMeta::default(),
        };
        let mut bodies = self.opening.first_events(&header)?;
        bodies.extend(more);
        Ok(Session::begin(&self.store, Arc::clone(&self.clock), header, bodies)?)
    }

    /// The thread goes on in a new session; the damaged one stays as it is, to be read.
    async fn begin_instead(
        &self,
        event: &IngressEvent,
        damaged: SessionId,
        error: &LogError,
    ) -> Result<Session, EngineError> {
        let id = SessionId::from_uuid(self.clock.new_id());
        let text = format!(
            "The earlier session of this thread can only be read: {error}. The thread goes on here."
        );
        let notice = Notice { text, level: Level::Warn, about: Some(damaged.to_string()) };
        let session = self.begin(event, id, vec![Body::Notice(notice)])?;
        let held = self.held_by(damaged);
        let now = self.clock.now();
        let (agent_id, thread_id) = (&event.agent_id, &event.thread_id);
        self.desk.replace_session(agent_id, thread_id, (damaged, id), held, now).await?;
        Ok(session)
    }

    /// The inbox rows that a damaged session holds, as far as it can be read.
    fn held_by(&self, damaged: SessionId) -> Vec<String> {
        let mut held = Vec::new();
        // Without a good header there is nothing to read, and nothing that it holds.
        self.store.read(damaged, None, &mut |event| held.extend(event.ingress_key)).ok();
        held
    }

    /// Answers the rows before this one, and it. Later ones are for those who wait for them.
    async fn work_off(
        &self,
        session: &mut Session,
        accepted: &Accepted,
        is_next: bool,
        run: Run<'_>,
    ) -> Result<(), EngineError> {
        // Whoever waited for a later row may have answered this one on the way.
        if session.has_said(&accepted.event.key) {
            return Ok(());
        }
        let mut due = vec![accepted.event.clone()];
        if !is_next {
            let rows = self.desk.unclosed(session.id()).await?;
            let own = rows.iter().position(|row| row.key == accepted.event.key);
            let n_due = own.map_or(0, |place| place + 1);
            due = rows.into_iter().take(n_due).map(|row| row.event).collect();
        }
        for event in due {
            let present = session.state().leaf().into();
            if event.expected_leaf.is_none_or(|expected| expected == present) {
                self.say(session, &event, run)?;
                self.rest(session, run).await?;
            } else {
                decline(session, &event, present, run.watcher)?;
            }
            self.close(session.id(), session.head(), vec![event.key]).await?;
        }
        Ok(())
    }

    /// Puts the row's message into the log, in one batch with the start of its turn.
    fn say(
        &self,
        session: &mut Session,
        event: &IngressEvent,
        run: Run<'_>,
    ) -> Result<(), EngineError> {
        // A session that was repaired or imported has no snapshot; no request goes without one.
        if session.state().snapshot.is_none() {
            for body in self.opening.first_events(session.header())? {
                // What it was given of it stays as it is.
                let is_there =
                    matches!(body, Body::ToolsetSnapshot(_)) && session.state().toolset.is_some();
                if !is_there {
                    session.stage(body);
                }
            }
        }
        let IngressContent::Text { text } = &event.content;
        session.act_for(&event.client_id);
        let message = UserMessage {
            message: MessageContent { content: vec![Block::text(text)], meta: None },
            author: event.author.clone(),
            trust: event.trust,
            ingress: Some(event.ingress.clone()),
            queue_item_id: None,
            primed: None,
        };
        let id = EventId::from_uuid(self.clock.new_id());
        session.stage_as(id, Some(event.key.clone()), Body::UserMessage(message));
        session.act_for(crate::session::CLIENT_ID);
        let news = self.opening.news(session.header(), &session.state().told(), self.clock.now());
        for body in news {
            session.stage_news(body);
        }
        let choice = run.provider.choice();
        let Terms { limits, language } = self.opening.terms(session.header());
        session.stage(Body::TurnStarted(TurnStarted {
            limits,
            context_window: choice.context_window,
            model: choice.model.clone(),
            language,
            attended: true,
        }));
        Ok(())
    }

    async fn rest(&self, session: &mut Session, run: Run<'_>) -> Result<(), EngineError> {
        let tools = self.opening.tools(session.header())?;
        let turn = session.state().turn.as_ref().map(|turn| turn.began_with);
        let entry = self.halts.enter(session.id(), turn, run.cancel);
        let hands = Hands {
            provider: run.provider,
            tools: &tools,
            policy: &*self.policy,
            clock: &*self.clock,
            watcher: run.watcher,
            cancel: &entry.cancel,
            halt: &entry.halt,
        };
        let pause = drive(session, &hands).await?;
        if let Some(wish) = entry.leave() {
            return self.grant(wish, session, run.watcher).await;
        }
        match pause {
            Pause::Rest => Ok(()),
            Pause::NotBuilt(step) => Err(EngineError::NotBuilt { session_id: session.id(), step }),
            Pause::Approval(_) => Err(EngineError::NotBuilt {
                session_id: session.id(),
                step: "waiting for a person's approval",
            }),
            Pause::Running | Pause::Halted => Err(EngineError::NotBuilt {
                session_id: session.id(),
                step: "waiting for another driver",
            }),
        }
    }

    async fn close(
        &self,
        session_id: SessionId,
        head: Option<Head>,
        keys: Vec<String>,
    ) -> Result<(), EngineError> {
        if let Some(head) = head {
            self.desk.close(keys, session_id, head, self.clock.now()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
