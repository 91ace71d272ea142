//! Answers to questions by a button or a command, and standing approvals that are revoked.

use std::sync::Arc;

use kith_engine::command::{CommandAction, DecideAction};
use kith_engine::reply::GRANT_MINUTES_MAX;
use kith_vocab::event::calls::{Decision, Via};

use super::Host;
use crate::call::{Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::approval::{
    ApprovalAnswer, DecideApproval, DecidedApproval, RevokeGrant, RevokedGrant,
};
use crate::calls::feed::TurnItem;
use crate::error::{CallError, ErrorCode};
use crate::read_side::approvals::grant_view;

pub async fn decide_approval(
    host: Arc<Host>,
    caller: Caller,
    call: DecideApproval,
    follower: Follower<TurnItem>,
) -> Reply<DecidedApproval> {
    if call.for_minutes.is_some_and(|minutes| !(1..=GRANT_MINUTES_MAX).contains(&minutes)) {
        let message = "an approval can stand for 1 minute to 24 hours";
        return Err(CallError::invalid(message).hint("for example `--for 10m`"));
    }
    let session = match &call.session {
        Some(session) => Some(host.reads.resolve(session).await?),
        None => None,
    };
    let asked = host.reads.find_approval(call.approval.as_deref(), session).await?;
    let (session_id, approval_id) = (asked.session_id, asked.approval_id);
    let decision = match call.decision {
        ApprovalAnswer::Allow => Decision::Allow,
        ApprovalAnswer::Deny => Decision::Deny,
    };
    let action = CommandAction::Decide(DecideAction {
        approval_id: approval_id.clone(),
        decision,
        via: Via::Command,
        grant_minutes: call.for_minutes.filter(|_| decision == Decision::Allow),
        reason: call.reason,
    });
    let now = host.clock.now();
    let n_before: Vec<String> =
        host.desk.grants(now).await?.into_iter().map(|row| row.grant.grant_id).collect();
    let answer = host.command(&caller, session_id, call.decide_id, action).await?;
    if answer.event_id.is_none() {
        let message = format!("approval {} has been answered already", asked.code);
        return Err(CallError::request(ErrorCode::Conflict, message));
    }
    let row = match answer.message_key {
        Some(key) => Some(host.engine.follow_key(session_id, &key).await?),
        None => host.engine.follow_last_row(session_id).await?,
    };
    let Some(row) = row else {
        let message = format!("session `{session_id}` holds no message");
        return Err(CallError::request(ErrorCode::InvalidRequest, message));
    };
    host.engine.wake(session_id);
    let notes = host.take_start_notes();
    let told = host.answer_for(&caller, row, notes, follower).await?;
    let grants = host.desk.grants(now).await?;
    let is_new = call.for_minutes.is_some();
    let new = grants.iter().rev().find(|row| is_new && !n_before.contains(&row.grant.grant_id));
    let decided = DecidedApproval {
        approval_id,
        decision: call.decision,
        grant: new.map(grant_view),
        reply: told.data,
    };
    Ok(Response { data: decided, notes: told.notes })
}

pub async fn revoke_grant(
    host: Arc<Host>,
    caller: Caller,
    call: RevokeGrant,
) -> Reply<RevokedGrant> {
    caller.require_owner()?;
    let rows = host.desk.grants(host.clock.now()).await?;
    let named: Vec<&str> = rows
        .iter()
        .map(|row| row.grant.grant_id.as_str())
        .filter(|id| !call.grant.is_empty() && id.ends_with(&call.grant))
        .collect();
    let [grant_id] = named.as_slice() else {
        let message = match named.len() {
            0 => format!("there is no grant `{}`", call.grant),
            n => format!("{n} grants end with `{}`", call.grant),
        };
        return Err(CallError::request(ErrorCode::InvalidRequest, message)
            .hint("`kith grants ls` lists them"));
    };
    host.desk.remove_grant(grant_id).await?;
    Ok(Response::new(RevokedGrant { grant_id: (*grant_id).to_owned() }))
}

#[cfg(test)]
mod tests;
