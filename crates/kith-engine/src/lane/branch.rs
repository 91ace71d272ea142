//! Going on from an earlier place of the same session: only the leaf moves.
//!
//! Nothing is taken back and nothing is lost: what was said since stays in the log, on a way that
//! the conversation no longer takes. The snapshot stays, and no new one is written.

use kith_sessions::damage::Damage;
use kith_sessions::log::LogError;
use kith_sessions::read::Tail;
use kith_vocab::event::Body;
use kith_vocab::event::control::{LeafMoved, LeafReason};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};

use super::halts::{Victim, Wish};
use super::{Engine, EngineError};
use crate::session::{CLIENT_ID, Session, SessionError, Watcher};
use crate::survey::Survey;
use crate::turn::stop;

/// How often a branch is tried anew because the turn it stopped broke off.
const BRANCH_TRIES_MAX: u32 = 16;

/// A wish to go on from elsewhere.
#[derive(Clone, Debug)]
pub struct Branch {
    pub agent_id: String,
    pub thread_id: ThreadId,
    pub session_id: SessionId,
    /// The id that its `leaf_moved` will have. Asked again under the same id, it gets the same
    /// answer and moves nothing.
    pub id: EventId,
    /// The leaf moves to the turn boundary at or before this.
    pub to: LeafId,
    /// Where the conversation must end now. While a turn runs, its own progress is no conflict.
    pub expected_leaf: Option<LeafId>,
    pub by: String,
    pub client_id: String,
}

/// A session as far as it can be read, with its whole tree.
pub struct Surveyed {
    pub header: SessionHeader,
    pub survey: Survey,
    pub damage: Option<Damage>,
}

impl Engine {
    /// Moves the leaf to a turn boundary and says where it is now. A turn that runs is stopped
    /// first, and ends in the same batch. What is refused leaves everything as it was.
    pub async fn branch(
        &self,
        branch: &Branch,
        watcher: &dyn Watcher,
    ) -> Result<LeafId, EngineError> {
        for _ in 0..BRANCH_TRIES_MAX {
            let Surveyed { survey, damage, .. } = self.survey(branch.session_id).await?;
            if let Some(damage) = damage {
                let path = self.store.path(branch.session_id);
                return Err(SessionError::Log(LogError::Damaged { path, damage }).into());
            }
            if let Some(leaf) = survey.moved_by(branch.id)? {
                return Ok(leaf);
            }
            survey.check(branch.to)?;
            branch.compare(survey.leaf())?;
            // Someone who has seen the conversation up to some place stops no turn they know
            // nothing of.
            let victim = match (branch.expected_leaf, survey.open_turn()) {
                (None, _) => Some(Victim::Any),
                (Some(_), open) => open.map(Victim::Turn),
            };
            match victim.and_then(|victim| self.halts.wish(victim, branch)) {
                None => return self.branch_at_rest(branch, watcher).await,
                Some(answer) => {
                    if let Ok(answer) = answer.await {
                        return answer;
                    }
                }
            }
        }
        let step = "branching from a turn that breaks off again and again";
        Err(EngineError::NotBuilt { session_id: branch.session_id, step })
    }

    /// The whole tree of a session, as far as it can be read. Writes nothing.
    pub async fn survey(&self, id: SessionId) -> Result<Surveyed, EngineError> {
        let head = self.desk.head(id).await?;
        let mut survey = Survey::default();
        let reading = self.store.read(id, head.as_ref(), &mut |event| survey.read(&event));
        let reading = reading.map_err(SessionError::from)?;
        let damage = match reading.tail {
            Tail::Damaged(damage) => Some(damage),
            Tail::Clean | Tail::Torn { .. } => None,
        };
        Ok(Surveyed { header: reading.header, survey, damage })
    }

    /// What was wished of whoever ran a turn that has stopped.
    pub(super) async fn grant(
        &self,
        wish: Wish,
        session: &mut Session,
        watcher: &dyn Watcher,
    ) -> Result<(), EngineError> {
        let Wish { branch, reply } = wish;
        // If this fails, the reply is dropped: who waits for it looks for themselves what became
        // of the session.
        let leaf = self.move_leaf(&branch, session, watcher).await?;
        // The one who asked may be gone; the leaf has moved all the same.
        reply.send(Ok(leaf)).ok();
        Ok(())
    }

    async fn branch_at_rest(
        &self,
        branch: &Branch,
        watcher: &dyn Watcher,
    ) -> Result<LeafId, EngineError> {
        let lane = self.lane(&branch.agent_id, &branch.thread_id);
        let mut place = lane.lock().await;
        let mut session = match place.take() {
            Some(session) if session.id() == branch.session_id => session,
            other => {
                *place = other;
                let head = self.desk.head(branch.session_id).await?;
                self.load(branch.session_id, head.as_ref()).await?
            }
        };
        let compared = branch.compare(session.state().leaf().into());
        if let Err(conflict) = compared {
            // Someone was quicker. Only one whose turn has ended may be worked on without opening.
            if session.state().turn.is_none() && place.is_none() {
                *place = Some(session);
            }
            return Err(conflict);
        }
        // A turn that was cut short is not taken up any more.
        session.resume();
        let leaf = self.move_leaf(branch, &mut session, watcher).await?;
        let said = self.in_the_log(&session).await?;
        self.close(session.id(), session.head(), said).await?;
        self.put_away(&mut session).await;
        if place.is_none() {
            *place = Some(session);
        }
        Ok(leaf)
    }

    /// One batch: the end of the turn that is open, and the move.
    async fn move_leaf(
        &self,
        branch: &Branch,
        session: &mut Session,
        watcher: &dyn Watcher,
    ) -> Result<LeafId, EngineError> {
        session.act_for(&branch.client_id);
        stop(session, &branch.by);
        let mut survey = self.survey(branch.session_id).await?.survey;
        session.staged().iter().for_each(|event| survey.read(event));
        let leaf = survey.boundary(branch.to);
        if leaf != survey.leaf() {
            let moved = LeafMoved { to: leaf.event(), reason: LeafReason::Branch };
            session.stage_as(branch.id, None, Body::LeafMoved(moved));
        }
        session.act_for(CLIENT_ID);
        session.commit(watcher)?;
        if session.state().lost_track {
            *session = self.load(branch.session_id, None).await?;
        }
        Ok(leaf)
    }
}

impl Branch {
    fn compare(&self, present: LeafId) -> Result<(), EngineError> {
        match self.expected_leaf {
            Some(expected) if expected != present => {
                Err(EngineError::Conflict { session_id: self.session_id, expected, present })
            }
            _ => Ok(()),
        }
    }
}
