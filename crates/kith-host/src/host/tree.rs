//! Branches a session at an earlier turn, or clones it up to there.

use std::sync::Arc;

use kith_engine::engine::{BranchCommand, ClonedSession, EngineError};
use kith_vocab::ids::{LeafId, SessionId};

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::tree::{BranchSession, CloneSession, SessionPlace};
use crate::error::{CallError, damage_in_words};
use crate::words::{place_in_words, short, short_event};

pub async fn branch_session(
    host: Arc<Host>,
    caller: Caller,
    call: BranchSession,
) -> Reply<SessionPlace> {
    let session_id = host.reads.resolve(&call.session).await?;
    let survey = host.engine.survey(session_id).await?.survey;
    let to = survey.find(&call.to).map_err(|error| place_error(error.into(), session_id))?;
    let command = BranchCommand {
        id: call.branch_id,
        client_id: caller.client_id,
        user_id: caller.user.user_id,
        expected_leaf: call.expected_leaf,
    };
    let moved = host.engine.branch(session_id, to, command).await;
    let leaf = moved.map_err(|error| place_error(error, session_id))?;
    let note = format!(
        "{} is in the middle of a turn that begins {}",
        short_place(to),
        place_in_words(leaf)
    );
    let place = SessionPlace { session_id, leaf: leaf.event() };
    Ok(Response::new(place).with_notes((leaf != to).then_some(note)))
}

pub async fn clone_session(host: Arc<Host>, call: CloneSession) -> Reply<SessionPlace> {
    let source = host.reads.resolve(&call.session).await?;
    let at = match &call.at {
        None => None,
        Some(at) => {
            let found = host.engine.survey(source).await?.survey.find(at);
            Some(found.map_err(|error| place_error(error.into(), source))?)
        }
    };
    let made = host.engine.clone_session(source, at, call.clone_id).await;
    let made = made.map_err(|error| place_error(error, source))?;
    let ClonedSession { session_id, leaf, damage, leaves_a_turn_out, .. } = made;
    let mut notes = Vec::new();
    if let Some(damage) = &damage {
        let what = damage_in_words(damage);
        notes.push(format!(
            "session {} {what}; the clone has everything before that",
            short(source)
        ));
    }
    if leaves_a_turn_out {
        notes.push("an unfinished turn was left out of the clone".to_owned());
    }
    notes.push(format!("continue it with `kith resume {}`", short(session_id)));
    Ok(Response { data: SessionPlace { session_id, leaf: leaf.event() }, notes })
}

fn short_place(place: LeafId) -> String {
    place.event().map_or_else(|| place.to_string(), short_event)
}

/// Who named a place that cannot be gone to is told where the places are.
fn place_error(error: EngineError, session: SessionId) -> CallError {
    let looks = format!("`kith session tree {}` shows where you can continue from", short(session));
    match error {
        EngineError::Place(_) | EngineError::Conflict { .. } => CallError::from(error).hint(looks),
        other => other.into(),
    }
}
