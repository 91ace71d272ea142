//! How a driver comes by its session: from the open ones, from the journal, or from the first
//! message of a session that does not exist yet.

use std::collections::VecDeque;
use std::sync::Arc;

use kith_sessions::desk::InboxRow;
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::event::Body;
use kith_vocab::event::models::{FailureKind, ModelFailed};
use kith_vocab::header::{HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::IngressEvent;

use super::SessionDriver;
use crate::engine::EngineShared;
use crate::failure::SessionFailure;
use crate::mailbox::Mailbox;
use crate::registry::IdleSession;
use crate::session::Session;
use crate::turn::find_model;

/// Starts a driver. `None` if there is nothing to drive, and the driver has ended.
pub(super) async fn start(
    engine: Arc<EngineShared>,
    id: SessionId,
    mailbox: Mailbox,
    idle: Option<Box<IdleSession>>,
) -> Result<Option<SessionDriver>, SessionFailure> {
    if let Some(idle) = idle {
        return Ok(Some(reuse(engine, mailbox, *idle, VecDeque::new()).await));
    }
    // What is announced from here on may be missing from these rows.
    let is_announced = mailbox.take_rows_flag();
    let rows = engine.desk.open_rows(id).await?;
    let session = match open(&engine, id, &rows).await? {
        Opening::Session(session) => *session,
        Opening::MovedTo(copy) => {
            move_rows(&engine, &mailbox, id, copy).await;
            return Ok(None);
        }
    };
    if is_announced {
        mailbox.announce_rows();
    }
    let idle = IdleSession { session, permit: None };
    let mut driver = reuse(engine, mailbox, idle, VecDeque::new()).await;
    driver.keep_new_rows(rows);
    driver.find_turn();
    // A command that waits already may end the turn; then it is not gone on with first.
    driver.take_mail().await?;
    Ok(Some(driver))
}

/// A driver of a session that is open already. A turn that waited for a person runs again.
pub(super) async fn reuse(
    engine: Arc<EngineShared>,
    mailbox: Mailbox,
    idle: IdleSession,
    rows: VecDeque<InboxRow>,
) -> SessionDriver {
    let IdleSession { session, mut permit } = idle;
    if let Some(permit) = &mut permit {
        permit.run_again().await;
    }
    SessionDriver {
        engine,
        mailbox,
        session,
        rows,
        permit,
        waiting: None,
        ctx: None,
        branch: None,
        beginning: None,
        is_waiting_for_model: false,
        is_cut_short: false,
        answers: Vec::new(),
        n_steps: 0,
    }
}

enum Opening {
    Session(Box<Session>),
    /// It is damaged, and its messages wait for this one now.
    MovedTo(SessionId),
}

async fn open(
    engine: &Arc<EngineShared>,
    id: SessionId,
    rows: &[InboxRow],
) -> Result<Opening, SessionFailure> {
    let head = engine.desk.head(id).await?;
    match engine.load(id, head).await {
        Ok(session) => Ok(Opening::Session(Box::new(session))),
        // Accepted, and then the program ended before the session was made.
        Err(error) if error.kind == StorageErrorKind::NotFound && head.is_none() => {
            let Some(row) = rows.first() else {
                // There is neither a message nor such a session.
                let message = format!("there is no session `{id}`");
                return Err(StorageError::new(StorageErrorKind::NotFound, message).into());
            };
            let header = engine.header_for(id, &row.event);
            Ok(Opening::Session(Box::new(Session::new(engine.parts_of(id), header))))
        }
        Err(error) => match (&error.kind, rows.first()) {
            // Only a message makes a copy: a command that finds the session damaged changes nothing.
            (StorageErrorKind::Damaged(_), Some(row)) => {
                let copy = engine.repair_for_driver(id, head, &row.event, &error).await?;
                Ok(Opening::MovedTo(copy))
            }
            _ => Err(error.into()),
        },
    }
}

/// The damaged session's rows wait for the copy now; its followers are told, and its commands are
/// answered with the failure of a session that is gone.
async fn move_rows(engine: &Arc<EngineShared>, mailbox: &Mailbox, from: SessionId, to: SessionId) {
    // A message that was accepted after the rows had moved waits for the damaged session. If the desk
    // cannot be asked, another driver finds out.
    let has_new_rows = mailbox.take_rows_flag()
        && engine.desk.open_rows(from).await.map_or(true, |rows| !rows.is_empty());
    let is_announced = engine.registry.abandon(from);
    engine.feed.moved(from, to);
    engine.wake(to);
    if has_new_rows || is_announced {
        engine.wake(from);
    }
}

impl SessionDriver {
    /// Looks at the turn that an earlier host left: it goes on if its model can be asked from here.
    fn find_turn(&mut self) {
        let state = self.session.state();
        let Some(turn) = &state.turn else {
            // Only a compaction can be open between turns.
            self.session.resume_between_turns();
            return;
        };
        match find_model(&*self.engine.models, &turn.models) {
            Ok(_) if self.session.is_cut_short() => self.is_cut_short = true,
            // It waits for a person.
            Ok(_) => {
                self.session.start_clock();
                self.write_approval_files();
            }
            Err(unavailable) if self.can_say_rows() => self.give_up_turn(unavailable.reason),
            Err(_) => self.is_waiting_for_model = true,
        }
    }

    /// Says in the log that the turn is worked on again, if it is one that was left.
    pub(super) fn resume_turn(&mut self) {
        if self.is_waiting_for_model || self.is_cut_short {
            (self.is_waiting_for_model, self.is_cut_short) = (false, false);
            self.session.resume();
        }
    }

    /// Ends a turn whose model cannot be asked from here: its session is spoken to again.
    pub(super) fn give_up_turn(&mut self, reason: String) {
        (self.is_waiting_for_model, self.is_cut_short) = (false, false);
        self.session.resume();
        self.session.stage(Body::ModelFailed(ModelFailed {
            request_id: None,
            kind: FailureKind::Network,
            message: reason.into(),
            attempt: 1,
            retry_at: None,
            fallback: None,
            usage: None,
        }));
    }
}

impl EngineShared {
    /// The header of a session that a message begins.
    pub(crate) fn header_for(&self, id: SessionId, event: &IngressEvent) -> SessionHeader {
        SessionHeader {
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
        }
    }
}
