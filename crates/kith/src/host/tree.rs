//! Going on from an earlier place of a session, in it or in a new one.

use kith_engine::lane::{Branch, Cloned, EngineError, Surveyed};
use kith_engine::session::Watcher;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::{EventId, LeafId, SessionId};

use super::{Host, OWNER_ID};
use crate::client::{Told, TreePlace};
use crate::reading::{short, short_event};
use crate::report::{Report, damage_in_words};

/// A `branch_session` as it was asked for.
pub(super) struct BranchWish<'a> {
    pub(super) session: &'a str,
    pub(super) to: &'a str,
    pub(super) expected_leaf: Option<LeafId>,
    pub(super) id: EventId,
}

impl Host {
    pub(super) async fn branch(
        &self,
        wish: BranchWish<'_>,
        watcher: &dyn Watcher,
    ) -> Result<Told<TreePlace>, Report> {
        let session_id = self.reader.resolve(wish.session).await?;
        let Surveyed { header, survey, .. } = self.engine.survey(session_id).await?;
        let to = survey.find(wish.to).map_err(|error| place_report(error.into(), session_id))?;
        let SessionHeader { agent_id, thread_id, .. } = header;
        let branch = Branch {
            agent_id,
            thread_id,
            session_id,
            id: wish.id,
            to,
            expected_leaf: wish.expected_leaf,
            by: OWNER_ID.to_owned(),
            client_id: "cli".to_owned(),
        };
        let moved = self.engine.branch(&branch, watcher).await;
        let leaf = moved.map_err(|error| place_report(error, session_id))?;
        self.threads.note(session_id, None).await;
        let mut notes = Vec::new();
        if leaf != to {
            notes.push(format!(
                "{} is not the end of a turn; the turn begins {}",
                short_place(to),
                place_in_words(leaf)
            ));
        }
        Ok(Told { form: TreePlace { session_id, leaf: leaf.event() }, notes })
    }

    pub(super) async fn clone_session(
        &self,
        session: &str,
        at: Option<&str>,
        id: SessionId,
    ) -> Result<Told<TreePlace>, Report> {
        let source = self.reader.resolve(session).await?;
        let at = match at {
            None => None,
            Some(at) => {
                let found = self.engine.survey(source).await?.survey.find(at);
                Some(found.map_err(|error| place_report(error.into(), source))?)
            }
        };
        let made = self.engine.clone_session(source, at, id).await;
        let made = made.map_err(|error| place_report(error, source))?;
        let Cloned { session_id, leaf, damage, leaves_a_turn_out, .. } = made;
        self.threads.note(session_id, None).await;
        let mut notes = Vec::new();
        if let Some(damage) = &damage {
            let what = damage_in_words(damage);
            notes.push(format!("session {} {what}; the clone has what precedes it", short(source)));
        }
        if leaves_a_turn_out {
            notes.push("a turn is open there, and is not part of the clone".to_owned());
        }
        notes.push(format!("`kith ask --session {} …` goes on in it", short(session_id)));
        Ok(Told { form: TreePlace { session_id, leaf: leaf.event() }, notes })
    }
}

/// Where a conversation goes on, in words that follow "goes on".
pub(crate) fn place_in_words(leaf: LeafId) -> String {
    match leaf.event() {
        None => "at the start".to_owned(),
        Some(id) => format!("after {}", short_event(id)),
    }
}

fn short_place(place: LeafId) -> String {
    place.event().map_or_else(|| place.to_string(), short_event)
}

/// Who named a place that cannot be gone to is told where the places are.
fn place_report(error: EngineError, session: SessionId) -> Report {
    let looks = format!("`kith session tree {}` shows where one can go on from", short(session));
    match error {
        EngineError::Place(_) | EngineError::Conflict { .. } => Report::from(error).hint(looks),
        other => other.into(),
    }
}
