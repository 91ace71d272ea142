//! The engine: accepts messages, starts drivers, and lets everyone follow.

mod accept;
mod history;
mod recover;
mod removal;
mod row_follower;
mod thread_subscription;
mod turn_places;

use std::sync::{Arc, OnceLock};

use kith_sessions::approval_folder::ApprovalFolder;
use kith_sessions::catalog::Catalog;
use kith_sessions::desk::{Desk, WakeupReason};
use kith_sessions::journal::Journal;
use kith_sessions::line::LogHead;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::clock::Clock;
use kith_vocab::event::Body;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{LeafId, SessionId};
use kith_vocab::provider::Models;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::checkpoints::{CHECKPOINT_BYTES_MIN, Checkpoints};
use crate::command::{CommandAnswer, DriverCommand};
use crate::driver;
use crate::failure::SessionFailure;
use crate::feed::{
    Feed, FeedLimits, HouseSubscription, ResumeMode, ResumePoint, Subscription, ThreadKey,
};
use crate::mailbox::Mail;
use crate::observer::Observation;
use crate::permits::ThreadPermits;
use crate::registry::{Registry, SubmitError};
use crate::session::{Session, SessionParts};
use crate::state::knowledge::ModelKnowledge;
use crate::survey::PlaceError;
use crate::turn::TurnSetup;
use crate::wakeups::WakeupTimer;

pub use history::{BranchCommand, ClonedSession, SurveyedSession};
pub use recover::RecoveredDesk;
pub use row_follower::{RowFollower, RowProgress};
pub use thread_subscription::{ThreadItem, ThreadSubscription};
pub use turn_places::TurnPlace;

/// The port that sets up an agent's sessions and their turns.
pub trait AgentSetup: Send + Sync {
    /// The snapshot and the tool list of a session that begins now.
    fn first_events(&self, header: &SessionHeader) -> Result<Vec<Body>, SetupError>;

    /// The setup of a turn that begins or is resumed now.
    fn turn(&self, header: &SessionHeader) -> Result<TurnSetup, SetupError>;

    /// What has changed since the model was told, to stand right after a new message: reminders,
    /// and changes of the skill index. There is no error here: a turn that can go on goes on, and
    /// what could not be looked at is itself news.
    fn news(
        &self,
        _header: &SessionHeader,
        _knowledge: &ModelKnowledge<'_>,
        _now: u64,
    ) -> Vec<Body> {
        Vec::new()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot set up a session")]
pub struct SetupError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

impl SetupError {
    /// The whole reason in one line.
    pub fn reason(&self) -> String {
        let mut reason = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            reason.push_str(": ");
            reason.push_str(&error.to_string());
            cause = error.source();
        }
        reason
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The driver of the session failed; accepted messages are kept.
    #[error(transparent)]
    Failed(SessionFailure),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("too many commands are waiting for session `{}`", session_id.short())]
    Busy { session_id: SessionId },
    #[error("session `{}` is in use", session_id.short())]
    InUse { session_id: SessionId },
    #[error("a turn is running in session `{}`", session_id.short())]
    TurnRunning { session_id: SessionId },
    #[error("the last turn of session `{}` succeeded: there is nothing to retry", session_id.short())]
    NothingToRetry { session_id: SessionId },
    #[error("{reason}")]
    ModelUnavailable { session_id: SessionId, reason: String },
    #[error(
        "the conversation of session `{session_id}` now ends at `{present}`, not at `{expected}`"
    )]
    Conflict { session_id: SessionId, expected: LeafId, present: LeafId },
    #[error("there is no item `{item_id}` in the queue")]
    NoQueueItem { item_id: String },
    #[error("queue item `{item_id}` has changed in the meantime")]
    QueueItemChanged { item_id: String },
    #[error("{what}")]
    InvalidCommand { what: String },
    /// Only those who were named as approvers may answer.
    #[error("{what}")]
    NotApprover { what: String },
    #[error("session `{session_id}` already exists and is not a clone of that one")]
    Taken { session_id: SessionId },
    #[error("{step} is not supported yet (session `{session_id}`)")]
    NotBuilt { session_id: SessionId, step: &'static str },
    #[error("the host is shutting down")]
    Stopping,
}

/// Thresholds of an engine. Tests set them low, so that a short run reaches every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// Logs from this length on get a checkpoint.
    pub checkpoint_bytes_min: u64,
    /// Limits of the feed, per session.
    pub feed: FeedLimits,
}

impl Default for EngineLimits {
    fn default() -> EngineLimits {
        let checkpoint_bytes_min = CHECKPOINT_BYTES_MIN;
        EngineLimits { checkpoint_bytes_min, feed: FeedLimits::default() }
    }
}

/// The parts from which an engine is made.
pub struct EngineParts {
    pub journal: Arc<dyn Journal>,
    pub desk: Arc<dyn Desk>,
    pub catalog: Arc<dyn Catalog>,
    pub clock: Arc<dyn Clock>,
    pub models: Arc<dyn Models>,
    pub setup: Arc<dyn AgentSetup>,
    pub limits: EngineLimits,
}

/// A handle on the engine. When it is stopped, so are its drivers.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<EngineShared>,
}

pub(crate) struct EngineShared {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) setup: Arc<dyn AgentSetup>,
    pub(crate) feed: Feed,
    pub(crate) registry: Registry,
    pub(crate) permits: ThreadPermits,
    pub(crate) wakeups: WakeupTimer,
    /// Where people can read what waits for an approval, if they can.
    pub(crate) approval_files: OnceLock<ApprovalFolder>,
    checkpoints: Checkpoints,
    /// Held while blobs of a message are put and it is accepted, and while a session is removed.
    attachments: tokio::sync::Mutex<()>,
    /// Set when nothing may run any more, as if the process had ended.
    killed: CancellationToken,
    tasks: TaskTracker,
}

impl Engine {
    pub fn new(parts: EngineParts) -> Engine {
        let EngineParts { journal, desk, catalog, clock, models, setup, limits } = parts;
        let epoch = clock.new_id().simple().to_string();
        let shared = EngineShared {
            checkpoints: Checkpoints::new(catalog, limits.checkpoint_bytes_min),
            journal,
            desk,
            clock,
            models,
            setup,
            feed: Feed::with_limits(epoch, limits.feed),
            registry: Registry::new(),
            permits: ThreadPermits::new(),
            wakeups: WakeupTimer::default(),
            approval_files: OnceLock::new(),
            attachments: tokio::sync::Mutex::default(),
            killed: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        Engine { shared: Arc::new(shared) }
    }

    pub fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    /// Has the driver of the session look at its rows.
    pub fn wake(&self, id: SessionId) {
        self.shared.wake(id);
    }

    /// Gives the session a command, and waits until its events are durable.
    pub async fn command(
        &self,
        id: SessionId,
        command: DriverCommand,
    ) -> Result<CommandAnswer, EngineError> {
        let (reply, answer) = oneshot::channel();
        let feed = self.shared.feed.session(id);
        let n_before = feed.n_endings();
        self.shared.submit(id, Some(Mail { command, reply }))?;
        if let Ok(answer) = answer.await {
            return answer;
        }
        // The driver was dropped with it; its followers get the reason.
        tokio::select! {
            biased;
            () = self.shared.killed.cancelled() => Err(EngineError::Stopping),
            failure = feed.ending_after(n_before) => Err(EngineError::Failed(failure)),
        }
    }

    /// Follows a session from where a client left it.
    pub async fn subscribe(
        &self,
        id: SessionId,
        point: &ResumePoint,
    ) -> Result<(ResumeMode, Subscription), EngineError> {
        Ok(self.shared.feed.resume(&self.shared.journal, id, point).await?)
    }

    /// Follows a session from an event on.
    pub fn follow(&self, id: SessionId, after: u64) -> Subscription {
        self.shared.feed.follow(&self.shared.journal, id, after)
    }

    /// Keeps files in which people can read what waits for an approval.
    pub fn keep_approval_files(&self, folder: ApprovalFolder) {
        // Once it is set it stays.
        self.shared.approval_files.set(folder).ok();
    }

    /// Runs a task that ends when the engine is killed.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.shared.spawn(work);
    }

    pub fn follow_house(&self) -> HouseSubscription {
        self.shared.feed.follow_house()
    }

    /// The sessions that an earlier host left with something to do: messages whose turn has not
    /// ended, and turns that were retried.
    pub async fn unfinished(&self) -> Result<Vec<SessionId>, EngineError> {
        let desk = &self.shared.desk;
        let mut sessions = desk.sessions_with_open_rows().await?;
        let wakeups = desk.wakeups().await?.into_iter();
        let retried = wakeups.filter(|it| it.reason == WakeupReason::SessionRetry);
        sessions.extend(retried.filter_map(|it| it.session_id));
        sessions.sort_unstable();
        sessions.dedup();
        Ok(sessions)
    }

    /// Wakes sessions at the times that are noted on the desk, until the engine is stopped.
    pub fn run_wakeups(&self) {
        crate::wakeups::run(&self.shared);
    }

    /// Waits until no turn runs.
    pub async fn until_rest(&self) {
        self.shared.registry.until_rest().await;
    }

    /// Ends every task of the engine where it is, as the end of the process would.
    pub fn kill(&self) {
        self.shared.killed.cancel();
    }

    /// Like [`Engine::kill`], and waits until all tasks have ended.
    pub async fn stop(&self) {
        self.kill();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// Writes the rows that are only in memory. To be called last when the engine is stopped.
    pub async fn flush(&self) {
        self.shared.checkpoints.flush(&*self.shared.journal, &*self.shared.desk).await;
    }

    /// How many sessions have a driver, and how many are open, with or without one.
    pub fn n_sessions(&self) -> (usize, usize) {
        (self.shared.registry.n_running(), self.shared.registry.n_open())
    }
}

impl EngineShared {
    pub(crate) fn wake(self: &Arc<Self>, id: SessionId) {
        // A session that is being removed has no rows.
        self.submit(id, None).ok();
    }

    fn submit(self: &Arc<Self>, id: SessionId, mail: Option<Mail>) -> Result<(), EngineError> {
        if self.killed.is_cancelled() {
            return Err(EngineError::Stopping);
        }
        match self.registry.submit(id, mail) {
            Ok(None) => Ok(()),
            Ok(Some(new)) => {
                self.spawn(driver::run(Arc::clone(self), id, new));
                Ok(())
            }
            Err(SubmitError::Full) => Err(EngineError::Busy { session_id: id }),
            Err(SubmitError::Reserved) => Err(EngineError::InUse { session_id: id }),
        }
    }

    /// Runs a task that ends when the engine is killed.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let killed = self.killed.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = killed.cancelled() => (),
                () = work => (),
            }
        });
    }

    /// Opens a session again whose driver failed. Also if no row waits for it: a turn that was
    /// taken up again has none.
    pub(crate) fn reopen_later(
        self: &Arc<Self>,
        id: SessionId,
        wait_ms: u64,
        failure: &SessionFailure,
    ) {
        let needs_rows = match failure {
            // Only a message makes such a session, or a copy of it.
            SessionFailure::Storage(error) => {
                error.is_not_found() || matches!(error.kind, StorageErrorKind::Damaged(_))
            }
            // What is not built does not come by waiting.
            SessionFailure::NotBuilt { .. } => return,
            _ => false,
        };
        let engine = Arc::clone(self);
        self.spawn(async move {
            // A desk that cannot be asked may have a row.
            let rows = engine.desk.open_rows(id).await;
            if needs_rows && rows.is_ok_and(|rows| rows.is_empty()) {
                engine.registry.end_wait(id);
                engine.forget_due_retry(id).await.ok();
                return;
            }
            engine.clock.sleep(wait_ms).await;
            engine.registry.end_wait(id);
            engine.wake(id);
        });
    }

    /// Closes the log of a session that is no longer open.
    pub(crate) fn close_log(&self, id: SessionId) {
        self.journal.close(id);
        self.feed.observe(id, Observation::Closed);
    }

    pub(crate) fn parts_of(&self, id: SessionId) -> SessionParts {
        SessionParts {
            journal: Arc::clone(&self.journal),
            feed: self.feed.session(id),
            clock: Arc::clone(&self.clock),
        }
    }

    /// Opens the session, from a checkpoint if there is a fitting one.
    pub(crate) async fn load(
        &self,
        id: SessionId,
        head: Option<LogHead>,
    ) -> Result<Session, StorageError> {
        let checkpoint = self.checkpoints.take(id, head).await;
        Session::open(self.parts_of(id), id, head, checkpoint).await
    }

    /// After a turn: drops events that are not needed, and saves a checkpoint.
    pub(crate) async fn after_turn(&self, session: &mut Session) {
        session.trim();
        self.checkpoints.save(session).await;
    }

    /// A turn of the thread that waits for a person is stopped: the person has moved on.
    pub(crate) fn cancel_waiting_turn(self: &Arc<Self>, thread: &ThreadKey, but: SessionId) {
        if let Some(holder) = self.permits.waiting_holder(thread).filter(|it| *it != but) {
            // Its driver finds that it is waited for, and stops its turn.
            self.wake(holder);
        }
    }
}

#[cfg(test)]
mod tests;
